#include <caisson/base/ensure.hpp>

#include <fmt/args.h>
#include <fmt/format.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <utility>

namespace caisson {

namespace {

// GCC says in a macro that it builds with AddressSanitizer, Clang by a feature.
#if defined(CAISSON_ABORT_ON_VIOLATION)
// Asked for.
#elif defined(__SANITIZE_ADDRESS__)
#define CAISSON_ABORT_ON_VIOLATION
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CAISSON_ABORT_ON_VIOLATION
#endif
#endif

#ifdef CAISSON_ABORT_ON_VIOLATION
std::atomic<bool> abort_flag{true};
#else
std::atomic<bool> abort_flag{false};
#endif

// Where sources lie on the machine that has compiled them concerns nobody.
std::string_view path_in_project(std::string_view file) {
  auto root = file.rfind("/caisson/");
  return root == std::string_view::npos ? file : file.substr(root + 1);
}

// A format that does not fit must not hide what was wrong.
std::string message_of(std::string_view format,
                       std::initializer_list<detail::ensured_value> values) {
  try {
    fmt::dynamic_format_arg_store<fmt::format_context> store;
    for (const auto& x : values)
      x.visit([&](auto value) { store.push_back(value); });
    return fmt::vformat(fmt::string_view{format.data(), format.size()}, store);
  } catch (const std::exception&) {
    return std::string{format};
  }
}

// Nothing, if what it is about is so wrong that it cannot be described.
std::string state_of_current_work() {
  // An invariant that is violated here has no such end.
  auto* work = std::exchange(detail::present_work, nullptr);
  if (!work)
    return {};
  std::string text;
  try {
    text = work->describe();
  } catch (const std::exception&) {
    text.clear();
  }
  detail::present_work = work;
  return text.empty() ? text : "; " + text;
}

} // namespace

void abort_on_violation(bool x) noexcept {
  abort_flag = x;
}

bool aborts_on_violation() noexcept {
  return abort_flag;
}

void detail::violated(const char* condition, const char* file, int line,
                      std::string_view format,
                      std::initializer_list<ensured_value> values) {
  auto text = fmt::format("invariant violated: {} at {}:{}", condition,
                          path_in_project(file), line);
  if (!format.empty())
    text += ": " + message_of(format, values);
  if (aborts_on_violation()) {
    // First what is certain.
    std::fputs(text.c_str(), stderr);
    std::fprintf(stderr, "%s\n", state_of_current_work().c_str());
    std::abort();
  }
  throw invariant_violation{text + state_of_current_work()};
}

} // namespace caisson
