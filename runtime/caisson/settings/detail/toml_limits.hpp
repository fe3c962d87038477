// Limits on TOML texts, checked before they are parsed.
#pragma once

#include <caisson/settings/problem.hpp>

#include <optional>
#include <string_view>

namespace caisson::detail {

/// The first thing in `text` that lies deeper than `most_levels` or has a key
/// that is longer than `longest_key`, placed as `parse_toml` does; nothing if
/// there is none before the first syntax error.
///
/// Parsers, readers and destructors of trees call themselves for each level, so
/// this is looked at before any of them.
[[nodiscard]] std::optional<problem> toml_excess(std::string_view text,
                                                 std::string_view source_name);

} // namespace caisson::detail
