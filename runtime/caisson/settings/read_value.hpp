// Reads single values: what readers of tables and of lists have in common.
#pragma once

#include <caisson/settings/field.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace caisson::detail {

/// The text of a string or of a raw value, without blanks around the latter.
[[nodiscard]] std::optional<std::string_view> text_in(const setting& s);

/// Reads `from`, which is at `path`, into `x`. If it has the wrong type or is
/// out of range, appends that, leaves `x` as it was and returns false. `wanted`
/// says what is allowed.
bool read_value(const setting& from, const setting_path& path, bool& x,
                problems& out);
bool read_value(const setting& from, const setting_path& path, std::int64_t& x,
                range<std::int64_t> r, problems& out);
bool read_value(const setting& from, const setting_path& path, double& x,
                range<double> r, problems& out);
bool read_value(const setting& from, const setting_path& path, duration& x,
                range<duration> r, problems& out);
bool read_value(const setting& from, const setting_path& path, std::string& x,
                std::string_view expectation, problems& out);
bool read_value(const setting& from, const setting_path& path,
                std::vector<std::string>& x, std::string_view expectation,
                problems& out);

} // namespace caisson::detail
