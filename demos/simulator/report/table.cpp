#include <simulator/report/table.hpp>

#include <caisson/settings/settings_text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <utility>

namespace caisson::sim {

namespace {

std::size_t line_width(const std::vector<std::size_t>& widths) {
  std::size_t out = 0;
  for (auto w : widths)
    out += w + (out > 0 ? 2 : 0);
  return out;
}

} // namespace

text_table::text_table(std::vector<column> columns)
  : columns_(std::move(columns)) {
  std::vector<std::string> heads;
  for (const auto& c : columns_)
    heads.push_back(c.head);
  row(std::move(heads));
}

void text_table::row(std::vector<std::string> cells) {
  cells.resize(columns_.size());
  for (auto& cell : cells)
    cell = detail::printable(cell);
  rows_.push_back(std::move(cells));
}

text_table::sizes text_table::widths() const {
  sizes out(columns_.size());
  for (const auto& cells : rows_)
    for (std::size_t i = 0; i < cells.size(); ++i)
      out[i] = std::max(out[i], cells[i].size());
  return out;
}

std::size_t text_table::width() const {
  return line_width(widths());
}

// Of a column whose cells can be broken: no word is.
std::size_t text_table::least_width(std::size_t column) const {
  std::size_t out = 14;
  for (const auto& cells : rows_)
    for (const auto& word : wrapped(cells[column], 1))
      out = std::max(out, word.size());
  return out;
}

// Takes from the widest column whose cells can be broken.
void text_table::narrow(sizes& widths, std::size_t most) const {
  if (line_width(widths) <= most)
    return;
  sizes least(widths.size());
  for (std::size_t i = 0; i < least.size(); ++i)
    least[i] = least_width(i);
  while (line_width(widths) > most) {
    auto widest = widths.size();
    for (std::size_t i = 0; i < widths.size(); ++i)
      if (columns_[i].side == align::left && widths[i] > least[i]
          && (widest == widths.size() || widths[i] > widths[widest]))
        widest = i;
    if (widest == widths.size())
      return;
    --widths[widest];
  }
}

void text_table::write_row(std::ostream& out,
                           const std::vector<std::string>& cells,
                           const sizes& widths) const {
  std::vector<std::vector<std::string>> parts;
  std::size_t lines = 1;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    parts.push_back(wrapped(cells[i], widths[i]));
    lines = std::max(lines, parts.back().size());
  }
  for (std::size_t k = 0; k < lines; ++k) {
    std::string line;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (i > 0)
        line += "  ";
      auto part = k < parts[i].size() ? parts[i][k] : std::string{};
      line += columns_[i].side == align::left
                ? fmt::format("{:<{}}", part, widths[i])
                : fmt::format("{:>{}}", part, widths[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out << line << '\n';
  }
}

void text_table::write(std::ostream& out, std::size_t width) const {
  auto all = widths();
  if (width != any_width)
    narrow(all, width);
  for (const auto& cells : rows_)
    write_row(out, cells, all);
}

} // namespace caisson::sim
