// Workers that are made by a function of the user's.
#pragma once

#include <caisson/caf/caf.hpp>
#include <caisson/engine/engine_host.hpp>
#include <caisson/gate/detail/worker_end.hpp>
#include <caisson/gate/worker.hpp>

#include <cstdint>
#include <string>

namespace caisson::detail {

/// What a factory gave: a worker, or why there is none.
struct factory_result {
  caf::actor handle;
  std::string failure;
};

/// Calls a factory, which may throw.
factory_result run_factory(const worker_factory& make, caf::actor_system& sys);

/// Calls a factory that may block, on its own thread, and offers what it gives
/// to `gate` by `worker_made`. It does not keep the gate alive meanwhile, and
/// ends a worker that is no longer wanted, which has `shutdown` for that.
/// Returns the helper's address.
caf::actor_addr run_factory_apart(worker_factory make, duration shutdown,
                                  caf::actor_system& sys,
                                  caf::weak_actor_ptr gate,
                                  std::uint32_t incarnation);

/// An actor on its own thread that calls a factory once it is asked to (by any
/// number) and answers with `worker_made`. The actor that asked confirms that
/// it has taken the worker by ending the helper. If that actor ends instead, so
/// does the worker, within `shutdown`.
caf::actor spawn_factory_helper(worker_factory make, duration shutdown,
                                caf::actor_system& sys);

/// What an engine must know of its worker `x`.
target_info info_of_worker(const worker& behind, const caf::actor& x,
                           const caf::actor_system& sys);

/// What an engine must know of a layer's own target.
target_info info_of_target(const caf::actor& x, const caf::actor_system& sys);

/// Whether the actor is a gate of this system.
bool is_local_gate(const caf::actor& x);

} // namespace caisson::detail
