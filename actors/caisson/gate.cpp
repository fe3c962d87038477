#include <caisson/gate.hpp>

#include <caisson/detail/gate_actor.hpp>

namespace caisson {

void require_valid(const worker& behind, const stack& policies) {
  auto found = policies.check();
  if (behind.is_supervised() && !behind.factory())
    found.push_back({{},
                     "worker.factory",
                     "is empty: there is nothing to make "
                     "the worker with"});
  if (behind.factory())
    for (auto& p : problems_of(behind.supervision(), "worker"))
      found.push_back(std::move(p));
  if (!found.empty())
    throw config_error{std::move(found)};
}

caf::actor spawn_gate(caf::actor_system& sys, worker behind, stack policies) {
  require_valid(behind, policies);
  return sys.spawn<detail::gate_actor>(std::move(behind), std::move(policies));
}

caf::actor spawn_deadline(caf::actor_system& sys, worker behind,
                          deadline_config c) {
  return spawn_gate(sys, std::move(behind), stack{}.deadline(std::move(c)));
}

caf::actor spawn_semaphore(caf::actor_system& sys, worker behind,
                           semaphore_config c) {
  return spawn_gate(sys, std::move(behind), stack{}.semaphore(std::move(c)));
}

caf::actor spawn_limiter(caf::actor_system& sys, worker behind,
                         limiter_config c) {
  return spawn_gate(sys, std::move(behind), stack{}.limiter(std::move(c)));
}

caf::actor spawn_breaker(caf::actor_system& sys, worker behind,
                         breaker_config c) {
  return spawn_gate(sys, std::move(behind), stack{}.breaker(std::move(c)));
}

caf::actor spawn_retrier(caf::actor_system& sys, worker behind,
                         retrier_config c) {
  return spawn_gate(sys, std::move(behind), stack{}.retry(std::move(c)));
}

caf::actor spawn_batcher(caf::actor_system& sys, worker behind,
                         batcher_config c, batching forms) {
  return spawn_gate(sys, std::move(behind),
                    stack{}.batch(std::move(c), std::move(forms)));
}

caf::actor spawn_fallback(caf::actor_system& sys, worker behind,
                          std::vector<alternative> chain, fallback_config c) {
  return spawn_gate(sys, std::move(behind),
                    stack{}.fallback(std::move(chain), std::move(c)));
}

void publish_name(caf::actor_system& sys, std::string_view name,
                  const caf::actor& gate) {
  rt::put_name(sys, name, gate);
}

caf::actor find(caf::actor_system& sys, std::string_view name) {
  return rt::find_name(sys, name);
}

void forget(caf::actor_system& sys, std::string_view name) {
  rt::erase_name(sys, name);
}

} // namespace caisson
