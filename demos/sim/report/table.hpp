// Text in columns.
#pragma once

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

  /// The heads and the rows, without blanks at the ends of lines.
  void write(std::ostream& out) const;

private:
  std::vector<column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

} // namespace caisson::sim
