// Queries about the work for a call.
#pragma once

#include <caisson/engine/engine_core.hpp>

namespace caisson::detail {

/// Whether the present attempt may have executed.
[[nodiscard]] bool may_be_executing(engine_core& core, const call_record& r);

/// Whether a child with its content goes on if it leaves: that may reach a
/// worker later.
[[nodiscard]] bool is_pursued_without(engine_core& core, const call_record& r);

} // namespace caisson::detail
