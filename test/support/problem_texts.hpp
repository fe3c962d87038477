// Problems in the form in which tests compare them: what programs see of them.
#pragma once

#include <caisson/settings.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace caisson::test {

inline std::string_view name_of(problem_kind kind) {
  constexpr std::string_view names[] = {"missing",  "unknown", "range",
                                        "relation", "type",    "syntax"};
  return names[static_cast<std::size_t>(kind)];
}

/// `relation stack.db.min_left`
inline std::string kind_and_key(const problem& p) {
  return std::string{name_of(p.kind)} + " " + to_text(p.key);
}

/// One text per problem, in the order found.
inline std::vector<std::string> kinds_and_keys(const problems& all) {
  std::vector<std::string> out;
  for (const auto& p : all)
    out.push_back(kind_and_key(p));
  return out;
}

/// `key | type | value`, and in the next line what is allowed, for each field
/// of a config. Begins with a line break.
template <class Config>
std::string fields_of(const Config& config) {
  std::string out = "\n";
  for (const auto& row : rows_of(config))
    out += row.key + " | " + row.type + " | "
           + (row.required        ? "required"
              : row.value.empty() ? "-"
                                  : row.value)
           + "\n  " + row.allowed + "\n";
  return out;
}

} // namespace caisson::test
