// Default deadline of a gate, for calls without their own.
#pragma once

#include <caisson/base/time.hpp>
#include <caisson/engine/call_record.hpp>
#include <caisson/engine/engine_core.hpp>

#include <cstdint>

namespace caisson::detail {

/// In place of the layer whose deadline is in force: there is none, as that of
/// a layer took the place of the default and is over.
inline constexpr std::int8_t default_replaced = -3;

/// The default is in force from now on, until a layer's takes its place.
inline void use_default_deadline(call_record& r, const engine_core& core) {
  r.owner = -1;
  r.deadline = time_after(core.now(), core.config.default_deadline);
  r.default_deadline = r.deadline != never;
}

} // namespace caisson::detail
