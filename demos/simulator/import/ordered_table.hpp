// Tables of settings that are written in the order in which they are made.
#pragma once

#include <caisson/settings/setting.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace caisson::sim {

/// Each value gets a place after those before it in the same table.
class ordered_table {
public:
  ordered_table& add(std::string_view key, setting value);
  ordered_table& add(std::string_view key, std::string_view text);

  [[nodiscard]] bool empty() const { return table_.empty(); }
  [[nodiscard]] settings take();

private:
  settings table_;
  std::size_t lines_ = 0;
};

/// Gives all that is in a table, and in the tables and lists in it, places in
/// the order of the tables that they were made of, as if it stood in a file.
void number_places(settings& root);

} // namespace caisson::sim
