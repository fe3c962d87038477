#include <caisson/gate/gate.hpp>

#include <caisson/caf/error.hpp>
#include <caisson/gate/detail/gate_actor.hpp>

namespace caisson {

void require_valid(const worker& behind, const stack& policies) {
  auto found = policies.check();
  if (behind.is_supervised() && !behind.factory())
    found.push_back({problem_kind::missing, "worker.factory",
                     "is empty: the worker cannot be made"});
  if (behind.is_grouped() && !behind.is_supervised())
    found.push_back(
      {problem_kind::relation, "worker.group", "needs a supervised worker"});
  if (behind.is_grouped() && !behind.group().handle())
    found.push_back({problem_kind::missing, "worker.group", "is empty"});
  if (behind.factory())
    for (auto& p : problems_of(behind.supervision(), "worker"))
      found.push_back(std::move(p));
  if (!found.empty())
    throw config_error{std::move(found)};
}

control_handle spawn_gate(caf::actor_system& sys, worker behind,
                          stack policies) {
  require_valid(behind, policies);
  detail::warn_if_not_registered(sys);
  return control_handle{caf::actor_cast<caf::actor>(
    sys.spawn<detail::gate_actor>(std::move(behind), std::move(policies)))};
}

void publish_name(caf::actor_system& sys, std::string_view name,
                  const caf::actor& gate) {
  portable::put_name(sys, name, gate);
}

caf::actor find_name(caf::actor_system& sys, std::string_view name) {
  return portable::find_name(sys, name);
}

void forget_name(caf::actor_system& sys, std::string_view name) {
  portable::erase_name(sys, name);
}

} // namespace caisson
