// The order in which settings stand in their file.
#pragma once

#include <caisson/setting.hpp>

#include <compare>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace caisson::detail {

/// Where in a file something stands. The default is before everything.
struct file_position {
  std::uint64_t line = 0;
  std::uint64_t column = 0;

  friend auto operator<=>(const file_position&, const file_position&) = default;
};

/// The position at the end of a place `file:line:column`.
[[nodiscard]] file_position position_of(std::string_view place);

/// The entries of a table in the order in which they begin in the file, and
/// those that come from none by name.
[[nodiscard]] std::vector<std::pair<std::string_view, const setting*>>
in_file_order(const settings& table);

} // namespace caisson::detail
