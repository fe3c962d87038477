// The actor that hosts policies: a transparent proxy in front of a worker.
#pragma once

#include <caisson/caf/caf.hpp>
#include <caisson/caf/call_handle.hpp>
#include <caisson/caf/error.hpp>
#include <caisson/caf/messages.hpp>
#include <caisson/gate/worker.hpp>
#include <caisson/stack/stack.hpp>

#include <utility>
#include <vector>

namespace caisson {

/// Throws `config_error` with every problem of a worker and a stack for a gate.
void require_valid(const worker& behind, const stack& policies);

/// Spawns a gate: an actor that accepts any message, passes it down the layers
/// of `policies`, sends it to `behind`, and passes the outcome back up through
/// the same layers. Every request gets exactly one answer, by its deadline at
/// the latest. See docs/gate.md for the protocol.
///
/// Throws `config_error` with every problem, and spawns nothing, if the stack's
/// configuration is not valid.
///
/// Returns the handle with full control of the gate. Give callers its
/// `calls()`. Safe to call from any thread.
control_handle spawn_gate(caf::actor_system& sys, worker behind,
                          stack policies);

/// As `spawn_gate`, in front of a worker with a typed interface. The gate has
/// the same interface, so compile-time checks still apply.
template <class... Sigs>
caf::typed_actor<Sigs...> spawn_guard(caf::actor_system& sys,
                                      const caf::typed_actor<Sigs...>& behind,
                                      stack policies) {
  return caf::actor_cast<caf::typed_actor<Sigs...>>(
    spawn_gate(sys, worker{behind}, std::move(policies)));
}

/// As `spawn_gate`, in front of an actor.
inline control_handle spawn_guard(caf::actor_system& sys,
                                  const caf::actor& behind, stack policies) {
  return spawn_gate(sys, worker{behind}, std::move(policies));
}

// -- one policy alone ---------------------------------------------------------

/// Spawns a gate whose only layer has the given policy, which may be your own;
/// see `stack::add`. Like the functions below, it throws `config_error` as
/// `spawn_gate` does.
template <class Policy, class... Extras>
control_handle spawn_policy(caf::actor_system& sys, worker behind,
                            typename Policy::config_type c = {},
                            Extras... extras) {
  return spawn_gate(sys, std::move(behind),
                    stack{}.add<Policy>(std::move(c), std::move(extras)...));
}

/// Spawns a gate with a time limit for calls; see docs/deadline.md.
inline control_handle spawn_deadline(caf::actor_system& sys, worker behind,
                                     deadline_config c = {}) {
  return spawn_gate(sys, std::move(behind), stack{}.deadline(std::move(c)));
}

/// Spawns a gate that limits how many calls are in flight; see
/// docs/semaphore.md.
inline control_handle spawn_semaphore(caf::actor_system& sys, worker behind,
                                      semaphore_config c = {}) {
  return spawn_gate(sys, std::move(behind), stack{}.semaphore(std::move(c)));
}

/// Spawns a gate that limits how many calls pass per unit of time; see
/// docs/limiter.md.
inline control_handle spawn_limiter(caf::actor_system& sys, worker behind,
                                    limiter_config c = {}) {
  return spawn_gate(sys, std::move(behind), stack{}.limiter(std::move(c)));
}

/// Spawns a gate that stops calls to a failing worker; see docs/breaker.md.
inline control_handle spawn_breaker(caf::actor_system& sys, worker behind,
                                    breaker_config c = {}) {
  return spawn_gate(sys, std::move(behind), stack{}.breaker(std::move(c)));
}

/// Spawns a gate that repeats failed calls; see docs/retrier.md. `how` says
/// whom it asks before it repeats a call that must not be carried out twice; by
/// default nobody, and it does not repeat such a call.
inline control_handle spawn_retrier(caf::actor_system& sys, worker behind,
                                    retrier_config c = {}, verifier how = {}) {
  return spawn_gate(sys, std::move(behind),
                    stack{}.retrier(std::move(c), std::move(how)));
}

/// Spawns a gate that sends several calls as one message; see docs/batcher.md.
/// `forms` says how batches are made and split; by default as `batch` and
/// `batch_reply`.
inline control_handle spawn_batcher(caf::actor_system& sys, worker behind,
                                    batcher_config c = {},
                                    batching forms = {}) {
  return spawn_gate(sys, std::move(behind),
                    stack{}.batcher(std::move(c), std::move(forms)));
}

/// Spawns a gate that answers calls which the worker fails by the alternatives
/// in `chain`, tried in this order; see docs/fallback.md.
inline control_handle spawn_fallback(caf::actor_system& sys, worker behind,
                                     std::vector<alternative> chain,
                                     fallback_config c = {}) {
  return spawn_gate(sys, std::move(behind),
                    stack{}.fallback(std::move(chain), std::move(c)));
}

/// Spawns a gate that keeps answers; see docs/cache.md. `forms` says what it
/// does with the content of calls.
inline control_handle spawn_cache(caf::actor_system& sys, worker behind,
                                  cache_config c = {}, cache_forms forms = {}) {
  return spawn_gate(sys, std::move(behind),
                    stack{}.cache(std::move(c), std::move(forms)));
}

// -- names --------------------------------------------------------------------

/// Registers `gate` as `name` with the system, for `find_name`. The registry
/// keeps a reference, so the gate lives until it is stopped or `forget_name` is
/// called. CAF's own lookup finds it too, on CAF 0.17 only if the name fits an
/// atom.
void publish_name(caf::actor_system& sys, std::string_view name,
                  const caf::actor& gate);

/// The actor registered as `name`; a null handle if there is none.
caf::actor find_name(caf::actor_system& sys, std::string_view name);

/// Removes `name` from the registry.
void forget_name(caf::actor_system& sys, std::string_view name);

/// Stops a gate: it answers all calls that it holds with `cancelled` and stops
/// a worker that it supervises. To finish those calls first, send `drain`.
template <class Handle>
void stop_gate(const Handle& gate) {
  caf::anon_send_exit(gate, caf::exit_reason::user_shutdown);
}

} // namespace caisson
