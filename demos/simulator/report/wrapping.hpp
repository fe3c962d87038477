// Lines that fit into a width.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace caisson::sim {

/// The width of texts that are not for a terminal.
inline constexpr std::size_t any_width = 0;

/// The text in lines of at most so many characters, broken at blanks; words
/// that are longer stay whole. At least one line.
[[nodiscard]] std::vector<std::string> wrapped(std::string_view text,
                                               std::size_t width);

/// Writes the text with a line break; further lines begin with two blanks more
/// than the first one.
void write_wrapped(std::ostream& out, std::string_view text, std::size_t width);

} // namespace caisson::sim
