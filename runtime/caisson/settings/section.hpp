// A part of a configuration, and its place.
#pragma once

#include <caisson/settings/setting.hpp>
#include <caisson/settings/setting_path.hpp>

#include <string_view>

namespace caisson {

/// A table, with the key and place for its problems. Refers to the table and to
/// the text of the place; both must outlive it.
struct section {
  /// The values of the section itself.
  const settings& table;
  /// Keys in problems begin with it.
  setting_path path = {};
  /// The place of the table, for problems that no single value causes.
  std::string_view place = {};
};

/// The path to a value as it is written: a list of one item may be written as
/// the item alone, and a table as one of its values. So an index into something
/// other than a list, and a key into something other than a table, are left
/// out.
[[nodiscard]] setting_path as_written(const settings& table,
                                      const setting_path& path);

/// The place of the value at `path` from `table`, or of the innermost value
/// around it; empty if there is none.
[[nodiscard]] std::string_view place_of(const settings& table,
                                        const setting_path& path);

/// The place of `key` in the table, or else that of the table.
[[nodiscard]] std::string_view place_in(const section& at,
                                        std::string_view key);

} // namespace caisson
