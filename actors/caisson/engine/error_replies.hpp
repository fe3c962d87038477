// The errors that calls are answered with.
#pragma once

#include <caisson/engine/engine_core.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace caisson::detail {

/// The error that the gate or a layer has decided on.
[[nodiscard]] caf::message error_reply(const engine_core& core,
                                       const call_record& r, const outcome& o);

/// Makes an error say that the call may have been executed.
void mark_executed(caf::message& reply);

/// What a gate's answer says of its load: see `outcome::threshold`.
[[nodiscard]] std::uint16_t threshold_in(const caf::message& reply);

/// What came from below, with what is known here of `may_have_executed`. Moves
/// it out of `r`.
[[nodiscard]] caf::message reply_from_below(call_record& r, const outcome& o);

/// Makes the call's reply of what a function of the user's threw in layer k.
outcome callback_reply(const engine_core& core, call_record& r, std::size_t k,
                       std::string_view what);

} // namespace caisson::detail
