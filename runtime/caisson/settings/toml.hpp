// Settings from TOML 1.0, with the place of every value.
#pragma once

#include <caisson/settings/problem.hpp>
#include <caisson/settings/setting.hpp>

#include <filesystem>
#include <string_view>

namespace caisson {

/// Reads a TOML document. Every value gets the place
/// `<source_name>:<line>:<column>`, both counted from 1, columns in characters.
///
/// A syntax error (such as a duplicate key) is reported as one problem, and the
/// result is empty. The same applies beyond `most_levels` or `longest_key`.
/// Dates, times, infinities and NaN are not valid settings: each is reported
/// and left out, and the rest is returned.
[[nodiscard]] settings parse_toml(std::string_view text,
                                  std::string_view source_name, problems& out);

/// Reads a TOML file. Places begin with `path` as given. A file that cannot be
/// read is reported as one problem, and the result is empty.
[[nodiscard]] settings read_toml_file(const std::filesystem::path& path,
                                      problems& out);

} // namespace caisson
