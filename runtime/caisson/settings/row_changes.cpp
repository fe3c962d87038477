#include <caisson/settings/row_changes.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace caisson::detail {

std::string row_changes(const std::vector<field_row>& before,
                        const std::vector<field_row>& after) {
  std::string out;
  for (const auto& now : after) {
    auto was = std::find_if(before.begin(), before.end(),
                            [&](auto& row) { return row.key == now.key; });
    if (was != before.end() && was->value != now.value)
      out += fmt::format("{}{} = {} (was {})", out.empty() ? "" : ", ", now.key,
                         now.value, was->value);
  }
  return out;
}

} // namespace caisson::detail
