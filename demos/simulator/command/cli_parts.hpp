// Options that all subcommands share.
#pragma once

#include <caisson/settings/settings_text.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace caisson::sim {

/// Such a value is what a script gives whose variable is not set.
inline CLI::Validator not_empty() {
  return {[](std::string& text) {
            return text.empty() ? std::string{"the value is empty"}
                                : std::string{};
          },
          {}};
}

/// The option, as it was given, as a number from `lo` to `hi`. CLI11 would take
/// -1 for a large number and 010 for 8. Throws `CLI::ValidationError`.
template <class T>
T number_in(const std::string& option, const std::string& text, T lo, T hi) {
  T x{};
  // Not a number is not within, either.
  if (detail::read_number(text, x) != detail::read_result::good
      || !(x >= lo && x <= hi))
    throw CLI::ValidationError{
      option,
      fmt::format("{} is not {} from {} to {}", detail::quoted(text),
                  std::is_integral_v<T> ? "an integer" : "a number", lo, hi)};
  return x;
}

/// `--arm`, which may be given several times.
template <class Arguments>
void add_arm_option(CLI::App& to, Arguments& args) {
  to.add_option("--arm", args.arms, "Run only this arm; may be repeated")
    ->type_name("NAME")
    ->take_all()
    ->allow_extra_args(false)
    ->check(not_empty());
}

/// What an output is called, and its path.
using named_path = std::pair<std::string, std::string>;

/// No output may overwrite another one or the scenario `file`. Throws
/// `CLI::ValidationError`.
void check_outputs(const std::string& file,
                   const std::vector<named_path>& outputs);

} // namespace caisson::sim
