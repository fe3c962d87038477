// Options and errors that `caisson ctl` and `caisson top` have in common.
#pragma once

#include <caisson/base/time.hpp>

#include <chrono>
#include <functional>
#include <iosfwd>
#include <string>

namespace CLI {
class App;
} // namespace CLI

namespace caisson::ctl {

/// `--file`.
void add_control_file(CLI::App& to, std::string& file);

/// The file that was given, or that in the environment. Throws `ctl_error` if
/// there is none.
[[nodiscard]] std::string control_file_of(const std::string& option);

/// The time in an option. Throws `CLI::ValidationError` if it is none, or not
/// from `least` to `most`.
[[nodiscard]] duration time_in(const std::string& option,
                               const std::string& text, duration least,
                               duration most = std::chrono::hours(1));

/// Runs it and returns its exit status, or 2 after an exception, with a line on
/// `err` for each line of its text.
[[nodiscard]] int guarded_command(const char* name, std::ostream& out,
                                  std::ostream& err,
                                  const std::function<int()>& run);

} // namespace caisson::ctl
