// Pages that are made of parts.
#pragma once

#include <iosfwd>
#include <map>
#include <string>
#include <string_view>

namespace caisson::sim {

/// Writes `page` with the named parts in place of their names in double braces.
/// What is put in is not looked at again: it may hold anything.
void fill_page(std::ostream& out, std::string_view page,
               const std::map<std::string_view, std::string_view>& parts);

/// Fit for text in HTML, outside of tags. Bytes that are not UTF-8 are
/// replaced.
[[nodiscard]] std::string html_escaped(std::string_view text);

/// JSON that may stand in a script element.
[[nodiscard]] std::string script_safe(std::string_view json);

} // namespace caisson::sim
