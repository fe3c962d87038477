// Reads a list of small tables that a setting has as text.
#pragma once

#include <caisson/settings/setting.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace caisson::detail {

/// The items of `[0.1, { share = 1, dwell = "1h" }]`: what is in braces as a
/// table of raw values, anything else as a raw value, each with `place`. Keys
/// are bare, strings have no escapes, and tables hold no tables and lists.
/// Nothing if it is no such list.
[[nodiscard]] std::optional<std::vector<setting>>
table_list_in(std::string_view text, const std::string& place);

} // namespace caisson::detail
