// Settings as a table for people, used for the pages in docs/.
#pragma once

#include <caisson/settings/field_lister.hpp>

#include <string>
#include <vector>

namespace caisson {

/// A Markdown table with one row per field, in the order given, under the
/// header `| setting | type | allowed | default | meaning |`. Ends with a line
/// break. Setting and default are shown as code. `required` replaces a missing
/// default. Pipes and HTML are escaped, and line breaks become spaces.
[[nodiscard]] std::string markdown_table(const std::vector<field_row>& rows);

} // namespace caisson
