// Text in columns.
#pragma once

#include <simulator/report/wrapping.hpp>

#include <cstddef>
#include <iosfwd>
#include <string>
#include <vector>

namespace caisson::sim {

/// Rows of cells, each column as wide as its widest cell. Cells are ASCII;
/// control characters in them are escaped.
class text_table {
public:
  enum class align { left, right };

  struct column {
    std::string head;
    align side = align::right;
  };

  explicit text_table(std::vector<column> columns);

  /// As many cells as there are columns.
  void row(std::vector<std::string> cells);

  /// How wide its longest line can be.
  [[nodiscard]] std::size_t width() const;

  /// The heads and the rows, without blanks at the ends of lines. Cells of
  /// columns to the left are broken where lines would be longer than `width`,
  /// as far as that goes.
  void write(std::ostream& out, std::size_t width = any_width) const;

private:
  using sizes = std::vector<std::size_t>;

  [[nodiscard]] sizes widths() const;
  [[nodiscard]] std::size_t least_width(std::size_t column) const;
  void narrow(sizes& widths, std::size_t most) const;
  void write_row(std::ostream& out, const std::vector<std::string>& cells,
                 const sizes& widths) const;

  std::vector<column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

} // namespace caisson::sim
