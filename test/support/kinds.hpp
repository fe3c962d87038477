// Every kind of policy that there is, for tests of what all have in common.
#pragma once

#include <caisson/base/time.hpp>
#include <caisson/policy/schedule_settings.hpp>
#include <caisson/stack/policy_kinds.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ostream>
#include <stdexcept>
#include <string>
#include <vector>

namespace caisson {

// Prints which one failed.
inline void PrintTo(const policy_kind& x, std::ostream* out) {
  *out << x.name;
}

} // namespace caisson

namespace caisson::test {

/// `deadline, semaphore, …`, as messages list them.
inline std::string listed_kinds() {
  std::vector<std::string> names;
  for (const auto& x : policy_kinds())
    names.push_back(x.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

/// A stack `s` of one layer of that kind, in TOML, to which lines with settings
/// of the layer can be added.
inline std::string stack_with(const policy_kind& x) {
  return "[[stack.s.layer]]\nkind = '" + x.name + "'\n" + x.example;
}

/// The field with its value, in TOML. A schedule has no form in which it can be
/// printed and read again, and is replaced by seven seconds.
inline std::string toml_line(const field_row& row) {
  if (row.type == "schedule")
    return row.key + " = '7s'\n";
  // Durations within tables are printed without quotes.
  if (row.type == "table" || row.value.starts_with("[{"))
    return {};
  auto quoted = row.type == "duration" || row.type == "choice"
                || (row.type == "choice or list" && row.value[0] != '[');
  auto value = quoted ? "'" + row.value + "'" : row.value;
  return fmt::format("{} = {}\n", row.key, value);
}

/// A setting of the kind, another value for it, and one that is out of range.
struct setting_sample {
  std::string key;
  std::string good;
  std::string bad;
};

/// That of the first number among the settings.
inline setting_sample some_setting(const policy_kind& x) {
  for (const auto& row : x.rows())
    if (row.type.starts_with("integer"))
      return {row.key, std::to_string(std::stoll(row.value) + 1), "-1"};
    else if (row.type == "duration")
      return {
        row.key,
        to_text(parse_duration(row.value).value() + std::chrono::seconds(1)),
        "-1s"};
  throw std::logic_error{x.name + " has no number among its settings"};
}

} // namespace caisson::test
