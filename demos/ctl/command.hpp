// `caisson ctl`: what an operator does with the gates of a running program.
#pragma once

#include <caisson/base/time.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

namespace caisson::ctl {

/// What the command works with, so that tests can give it something else.
struct ctl_parts {
  /// Whether the screen can be cleared before it is drawn anew.
  bool terminal = false;
  /// How wide it is.
  std::function<std::size_t()> columns = [] { return std::size_t{80}; };
  std::function<void(duration)> sleep;
  /// Never goes back.
  std::function<time_point()> now = [] {
    return std::chrono::steady_clock::now();
  };
  /// Descriptors of the terminal that `caisson top` reads keys from and draws
  /// on; -1: there is none.
  int keyboard = -1;
  int screen = -1;
};

/// Returns the exit status: 0 it is done, 2 it is not. `argv[0]` is `ctl`.
int command_main(int argc, const char* const* argv, std::ostream& out,
                 std::ostream& err, const ctl_parts& parts);

} // namespace caisson::ctl
