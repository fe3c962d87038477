// Settings from TOML 1.0, with the place of every value.
#pragma once

#include <caisson/problem.hpp>
#include <caisson/setting.hpp>

#include <filesystem>
#include <string_view>

namespace caisson {

/// Reads a TOML document. Every value gets the place
/// `<source_name>:<line>:<column>`, both counted from 1, columns in characters.
///
/// A syntax error (a key given twice is one) is reported as one problem, and
/// the result is empty; so is what goes beyond `most_levels` or `longest_key`.
/// Dates, times, infinities and NaN are no settings: each one is reported and
/// left out, and the rest is returned.
[[nodiscard]] settings parse_toml(std::string_view text,
                                  std::string_view source_name, problems& out);

/// Reads a TOML file. The places begin with `path` as given. A file that cannot
/// be read is reported as one problem, and the result is empty.
[[nodiscard]] settings read_toml_file(const std::filesystem::path& path,
                                      problems& out);

} // namespace caisson
