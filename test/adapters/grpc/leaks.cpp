// Leaks of libraries that are none of the tests'.

// LeakSanitizer asks for it. c-ares leaks the name of a host now and then.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() {
  return "leak:libcares.so\n";
}
