#include <caisson/settings/settings_table.hpp>

#include <fmt/format.h>

#include <string_view>

namespace caisson {

namespace {

std::string on_one_line(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '|')
      out += "\\|";
    else
      out += c == '\n' || c == '\r' ? ' ' : c;
  }
  return out;
}

// What is in angle brackets would be taken for HTML; what is between backticks
// is shown as it stands anyway.
std::string prose(std::string_view text) {
  std::string out;
  auto in_code = false;
  for (char c : on_one_line(text)) {
    if (c == '`')
      in_code = !in_code;
    if (c == '<' && !in_code)
      out += '\\';
    out += c;
  }
  return out;
}

std::string code(std::string_view text) {
  return text.empty() ? std::string{} : fmt::format("`{}`", on_one_line(text));
}

} // namespace

std::string markdown_table(const std::vector<field_row>& rows) {
  std::string out = "| setting | type | allowed | default | meaning |\n"
                    "| --- | --- | --- | --- | --- |\n";
  for (const auto& row : rows)
    out += fmt::format("| {} | {} | {} | {} | {} |\n", code(row.key),
                       prose(row.type), prose(row.allowed),
                       row.required ? "required" : code(row.value),
                       prose(row.help));
  return out;
}

} // namespace caisson
