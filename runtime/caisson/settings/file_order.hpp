// The order in which settings stand in their file.
#pragma once

#include <caisson/settings/setting.hpp>

#include <string_view>
#include <utility>
#include <vector>

namespace caisson::detail {

/// The position at the end of a place `file:line:column`; nowhere if there is
/// none.
[[nodiscard]] file_position position_of(std::string_view place);

/// Where the first value begins that belongs to `s`, or where `s` counts as
/// standing; nowhere if it comes from no file.
[[nodiscard]] file_position position_of(const setting& s);

/// The entries of a table in the order in which they begin in the file, and
/// after those the ones that come from none, by name.
[[nodiscard]] std::vector<std::pair<std::string_view, const setting*>>
in_file_order(const settings& table);

} // namespace caisson::detail
