// Settings as a table for people: the pages in docs/ are filled with it.
#pragma once

#include <caisson/field_lister.hpp>

#include <string>
#include <vector>

namespace caisson {

/// A Markdown table with one row per field, in the order given, under the
/// header `| setting | type | allowed | default | meaning |`. Ends with a line
/// break. Setting and default are shown as code; in place of a default,
/// `required` says that there is none. Pipes and what would be taken
/// for HTML are escaped, and line breaks become blanks.
[[nodiscard]] std::string markdown_table(const std::vector<field_row>& rows);

} // namespace caisson
