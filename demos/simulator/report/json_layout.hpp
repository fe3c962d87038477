// JSON that people can read, written piece by piece.
#pragma once

#include <nlohmann/json.hpp>

#include <iosfwd>
#include <string_view>
#include <vector>

namespace caisson::sim {

/// Writes a document. What holds other lists and tables gets a line for each of
/// its parts, but only as far down as an arm's lists, so that a row is one
/// line. Lists and tables that need not be in memory as a whole are opened and
/// closed; they must not be empty.
class json_layout {
public:
  using json = nlohmann::ordered_json;

  explicit json_layout(std::ostream& out) : out_(out) {}

  /// Begins a table or a list; within a table after its `key`.
  void open_table() { open('{'); }
  void open_list() { open('['); }
  /// Ends the one that was opened last.
  void close();

  /// Begins a member of the table.
  void key(std::string_view name);
  /// The value of the member, or a part of the list.
  void value(const json& x);
  /// All members of `table`.
  void members(const json& table);

private:
  void open(char bracket);
  void begin_part();
  void line(const json& x);

  std::ostream& out_;
  /// What closes those that are open, from the outermost one on.
  std::vector<char> open_;
  /// Whether the last one has no part yet.
  bool first_ = true;
  bool after_key_ = false;
};

} // namespace caisson::sim
