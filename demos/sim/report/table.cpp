#include <sim/report/table.hpp>

#include <caisson/detail/settings_text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <utility>

namespace caisson::sim {

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

void text_table::write(std::ostream& out) const {
  std::vector<std::size_t> widths(columns_.size());
  for (const auto& cells : rows_)
    for (std::size_t i = 0; i < cells.size(); ++i)
      widths[i] = std::max(widths[i], cells[i].size());
  for (const auto& cells : rows_) {
    std::string line;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (i > 0)
        line += "  ";
      line += columns_[i].side == align::left
                ? fmt::format("{:<{}}", cells[i], widths[i])
                : fmt::format("{:>{}}", cells[i], widths[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out << line << '\n';
  }
}

} // namespace caisson::sim
