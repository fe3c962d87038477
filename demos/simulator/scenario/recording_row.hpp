// Parses rows of a recorded load.
#pragma once

#include <caisson/base/time.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace caisson::sim {

/// Nanoseconds since 1970, or since the zero of a clock; nothing if `text` is
/// no timestamp.
[[nodiscard]] std::optional<duration> parse_timestamp(std::string_view text);

/// The fields of a line of CSV. Quotes around a field are taken off.
[[nodiscard]] std::vector<std::string> split_csv(std::string_view line);

} // namespace caisson::sim
