// Lists the differences between two versions of the same settings.
#pragma once

#include <caisson/settings/field_lister.hpp>

#include <string>
#include <vector>

namespace caisson::detail {

/// `threshold = 5 (was 3), open = 2s (was 1s)`; empty if nothing differs.
/// Settings that only one of the versions has are left out.
[[nodiscard]] std::string row_changes(const std::vector<field_row>& before,
                                      const std::vector<field_row>& after);

} // namespace caisson::detail
