// Ends workers that gates supervise, and reports how they have ended.
#pragma once

#include <caisson/base/time.hpp>
#include <caisson/caf/caf.hpp>
#include <caisson/engine/supervision.hpp>

namespace caisson::detail {

/// How an actor has ended that is down; unknown while it is still ending. Null:
/// abnormal.
[[nodiscard]] actor_end end_of_actor(const caf::actor& x);

/// Ends a worker that a gate supervises: asks it to quit and, if it has not
/// ended `shutdown` later, kills it. Zero: kills it at once; unlimited: never.
/// Returns at once; nobody has to live until the worker has ended. One on
/// another node was only connected to: others may use it, too. Null: nothing.
void end_worker(caf::actor_system& sys, const caf::actor& x, duration shutdown);

} // namespace caisson::detail
