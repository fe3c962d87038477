// The entry of the `caisson` command.
#include <caisson/base/ensure.hpp>
#include <caisson/version.hpp>

#include <simulator/command/cli.hpp>
#include <simulator/play/interruption.hpp>
#include <simulator/play/progress.hpp>
#include <simulator/remote/remote_workers.hpp>

#ifdef CAISSON_WITH_CTL
#include <ctl/command.hpp>
#include <ctl/top/top_command.hpp>
#endif

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <iostream>
#include <string_view>
#include <thread>

namespace {

// If a standard stream is closed, the next file that is opened would take its
// place and get what is printed. What stands there instead cannot be used, so
// that it is noticed.
void keep_closed_streams_closed() {
  for (int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(fd, F_GETFD) == -1 && errno == EBADF) {
      // The lowest free number is this one.
      auto got = open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
      static_cast<void>(got);
    }
}

} // namespace

int main(int argc, char** argv) {
  keep_closed_streams_closed();
  // A run in which gates have failed says nothing about their settings.
  caisson::abort_on_violation(true);
  // Streams of their own keep what could not be written, and so the reason.
  std::ios::sync_with_stdio(false);
  caisson::sim::command_parts parts;
  // 0 if that is not known.
  parts.jobs = std::max(1u, std::thread::hardware_concurrency());
  parts.catch_signals = true;
  parts.stop = &caisson::sim::signal_watch::caught();
  parts.terminal = isatty(STDERR_FILENO) != 0;
  parts.columns = [] { return caisson::sim::columns_of(STDERR_FILENO); };
  // What goes into a file or a pipe is not broken, unless that is asked for.
  parts.out_columns = []() -> std::size_t {
    auto limited = isatty(STDOUT_FILENO) != 0 || std::getenv("COLUMNS");
    return limited ? caisson::sim::columns_of(STDOUT_FILENO) : 0;
  };
  parts.version = CAISSON_VERSION_TEXT;
#ifdef CAISSON_WITH_CTL
  parts.ctl = [](int count, const char* const* texts, std::ostream& out,
                 std::ostream& err) {
    auto whole = isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0;
    auto run = texts[0] == std::string_view{"top"} ? caisson::ctl::top_main
                                                   : caisson::ctl::command_main;
    return run(
      count, texts, out, err,
      {.terminal = isatty(STDOUT_FILENO) != 0,
       .columns = [] { return caisson::sim::columns_of(STDOUT_FILENO); },
       .sleep = [](caisson::duration d) { std::this_thread::sleep_for(d); },
       .keyboard = whole ? STDIN_FILENO : -1,
       .screen = whole ? STDOUT_FILENO : -1});
  };
#endif
  auto result = caisson::sim::command_main(argc, argv, std::cout, std::cerr,
                                           parts);
  std::cerr.flush();
  if (caisson::sim::remote_workers::leaves_threads())
    _exit(result);
  return result;
}
