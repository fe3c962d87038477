// Values of a setting from the edges of its range, as texts.
#pragma once

#include <caisson/settings/field_lister.hpp>

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace caisson::test::setting_ranges {

using texts = std::vector<std::string>;

inline texts split(std::string_view all, std::string_view at) {
  texts out;
  for (auto i = all.find(at); i != all.npos; i = all.find(at)) {
    out.emplace_back(all.substr(0, i));
    all.remove_prefix(i + at.size());
  }
  out.emplace_back(all);
  return out;
}

// Those that are out of range make the layer unsound.
inline std::vector<const char*> between(std::string_view type) {
  if (type.starts_with("duration"))
    return {"1ms", "50ms", "1s"};
  if (type.starts_with("integer"))
    return {"1", "5", "20"};
  return {"0.05", "0.5"};
}

/// Of a number, a duration or a boolean: the ends of its range, its default,
/// and something between, which may be out of range.
inline texts edges(const field_row& row) {
  if (row.type.starts_with("boolean"))
    return {"true", "false"};
  auto ends = split(row.allowed, " to ");
  if (ends.size() != 2)
    throw std::logic_error{row.key + ": " + row.allowed + " is no range"};
  texts out{ends[0], ends[1], row.value};
  for (const auto* x : between(row.type))
    out.emplace_back(x);
  return out;
}

/// Whether `edges` has values of it.
inline bool has_edges(const field_row& row) {
  return row.type.starts_with("boolean")
         || ((row.type.starts_with("integer") || row.type.starts_with("number")
              || row.type.starts_with("duration"))
             && split(row.allowed, " to ").size() == 2);
}

} // namespace caisson::test::setting_ranges
