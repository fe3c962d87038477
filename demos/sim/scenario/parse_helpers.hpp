// What the readers of a scenario's tables have in common.
#pragma once

#include <caisson/settings_text.hpp>

#include <compare>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace caisson::sim {

using detail::item;
using detail::section;
using detail::table_in;

/// The list that `s` is; otherwise null, and a problem which says that a list
/// of `what` is wanted.
[[nodiscard]] const std::vector<setting>*
list_in(const setting& s, const std::string& path, std::string_view what,
        problems& out);

/// The text that `s` is, if it is one.
[[nodiscard]] std::optional<std::string_view> text_in(const setting& s);

/// Reports that `key` is missing in the table, if it is, and if no problem says
/// so already: a misspelled key is not reported twice.
void require(const section& at, std::string_view key, std::string_view allowed,
             problems& out);

/// Reports names that are not made of letters, digits, `_` and `-`.
void check_name(std::string_view name, std::string_view place,
                const std::string& path, problems& out);

/// `"dv" is no service, did you mean "db"? known services: web, db`
[[nodiscard]] std::string no_such(std::string_view what, std::string_view name,
                                  const std::vector<std::string>& known);

/// Where in a file something stands. The default is before everything.
struct file_position {
  std::uint64_t line = 0;
  std::uint64_t column = 0;

  friend auto operator<=>(const file_position&, const file_position&) = default;
};

/// The position at the end of a place `file:line:column`.
[[nodiscard]] file_position position_of(std::string_view place);

/// The entries of a table in the order in which they begin in the file.
[[nodiscard]] std::vector<std::pair<std::string_view, const setting*>>
in_file_order(const settings& table);

} // namespace caisson::sim
