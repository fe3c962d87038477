// The entry of the `caisson` command.
#include <sim/cli.hpp>

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <iostream>

#ifndef CAISSON_VERSION
#define CAISSON_VERSION "unknown"
#endif

namespace {

std::atomic<bool> stop{false};
static_assert(std::atomic<bool>::is_always_lock_free);

void on_signal(int) {
  stop = true;
}

// The second signal finds the default again, and ends the process.
void catch_once(int signal) {
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(signal, &action, nullptr);
}

} // namespace

int main(int argc, char** argv) {
  catch_once(SIGINT);
  catch_once(SIGTERM);
  caisson::sim::command_parts parts;
  parts.stop = &stop;
  parts.terminal = isatty(STDERR_FILENO) != 0;
  parts.version = CAISSON_VERSION;
  return caisson::sim::command_main(argc, argv, std::cout, std::cerr, parts);
}
