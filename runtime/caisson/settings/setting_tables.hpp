// Parts of settings that are not read into a config yet.
#pragma once

#include <caisson/settings/setting.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace caisson::detail {

/// The value if it is there and has that type, otherwise null.
[[nodiscard]] const settings* table_in(const setting* x);
[[nodiscard]] const std::string* text_in(const setting* x);

/// The value of `key`; null if there is none.
[[nodiscard]] const setting* find_in(const settings& table,
                                     std::string_view key);

/// The list under `key`; null if there is none.
[[nodiscard]] std::vector<setting>* list_in(settings& table,
                                            std::string_view key);

/// The value of `key`, which `table` has no longer.
[[nodiscard]] std::optional<setting> take_from(settings& table,
                                               std::string_view key);

/// `more` over `base`: tables within them likewise, other values replaced.
void merge_tables(settings& base, const settings& more);

} // namespace caisson::detail
