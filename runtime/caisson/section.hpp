// A part of a configuration, and where it stands.
#pragma once

#include <caisson/setting.hpp>
#include <caisson/setting_path.hpp>

#include <string_view>

namespace caisson {

/// A table, and what problems with it are called and placed by. Refers to the
/// table and to the text of the place; both must live on.
struct section {
  const settings& table;
  /// Keys in problems begin with it.
  setting_path path = {};
  /// Where the table stands, for problems that no value in it is to blame for.
  std::string_view place = {};
};

/// The way to a value as it is written: a list of one item may be written as
/// the item alone, and a table as one of its values. So an index in what is no
/// list, and a key in what is no table, is left out.
[[nodiscard]] setting_path as_written(const settings& table,
                                      const setting_path& path);

/// The place of the value that `path` leads to from `table`, or of the
/// innermost value around it; empty if there is none on the way.
[[nodiscard]] std::string_view place_of(const settings& table,
                                        const setting_path& path);

/// The place of `key` in the table, or else that of the table.
[[nodiscard]] std::string_view place_in(const section& at,
                                        std::string_view key);

} // namespace caisson
