// Lists of names.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace caisson::detail {

/// Whether `x` is among `names`.
[[nodiscard]] inline bool contains(const std::vector<std::string>& names,
                                   std::string_view x) {
  return std::find(names.begin(), names.end(), x) != names.end();
}

} // namespace caisson::detail
