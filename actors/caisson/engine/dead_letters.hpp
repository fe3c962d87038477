// Dead letters: calls that have failed for good.
#pragma once

#include <caisson/caf/messages.hpp>
#include <caisson/engine/engine_core.hpp>

namespace caisson::detail {

/// Passes a call that failed to the host as a dead letter. `answer` is what its
/// caller gets, or would get.
/// @pre core.may_be_dead_letter(r)
void send_dead_letter(engine_core& core, call_record& r,
                      const caf::message& answer);

/// The same of a call that was refused as it arrived; `options` may be null.
void send_dead_letter(engine_core& core, const reply_slot& from,
                      caf::message&& content, call_options* options,
                      const caf::message& answer);

} // namespace caisson::detail
