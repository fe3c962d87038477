// Hands calls to layers and takes them back.
#pragma once

#include <caisson/base/ensure.hpp>
#include <caisson/engine/engine_core.hpp>
#include <caisson/policy/call_number.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace caisson::detail {

/// A set with this layer only.
[[nodiscard]] constexpr std::uint64_t layer_bit(std::size_t k) noexcept {
  return std::uint64_t{1} << k;
}

/// The call is not with layer k any more, nor under its deadline. Inlined: it
/// runs for each layer and call.
[[gnu::always_inline]] inline void leave_layer(call_record& r, std::size_t k) {
  CAISSON_ENSURE(is_inside(r, k),
                 "call {} leaves layer {}, which has not got it",
                 call_number(r.id), k);
  r.inside &= ~layer_bit(k);
  if (r.lease) [[unlikely]]
    r.begins = r.layers[k].outer_begins;
  if (auto& outer = r.layers[k].outer_owner; outer != layer_notes::none) {
    r.owner = std::exchange(outer, layer_notes::none);
    r.deadline = r.layers[k].outer_deadline;
  }
}

/// Layer k loses the call for the reason `why`. `in_flight`: it was below.
void abandon_in_layer(engine_core& core, call_record& r, std::size_t k,
                      const outcome& why, bool in_flight);

/// Layer k keeps the call until `until`.
void hold_in_layer(engine_core& core, call_record& r, std::size_t k,
                   time_point until);

/// Whether `r` is a call that layer k holds, with or without children.
[[nodiscard]] inline bool is_held_by(std::size_t k, const call_record* r) {
  return r && (r->where == phase::held || r->where == phase::delegated)
         && static_cast<std::size_t>(r->at) == k;
}

} // namespace caisson::detail
