#include <simulator/scenario/queue_checks.hpp>

#include <simulator/scenario/edges.hpp>

#include <caisson/config/stack_toml.hpp>
#include <caisson/engine/layer.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <string_view>
#include <vector>

namespace caisson::sim {

namespace {

using callers = std::set<std::string_view>;

// The loads with keys, and the services that their requests reach: services
// pass on the key with every call.
callers callers_with_keys(const arm_config& arm,
                          const std::vector<call_site>& calls) {
  std::multimap<std::string_view, std::string_view> called;
  for (const auto& c : calls)
    called.emplace(c.caller, service_of_operation(c.to));
  callers found;
  std::vector<std::string_view> next;
  for (const auto& load : arm.loads)
    if (load.keys > 0)
      next.push_back(load.name);
  while (!next.empty()) {
    auto caller = next.back();
    next.pop_back();
    if (!found.insert(caller).second)
      continue;
    auto [first, last] = called.equal_range(caller);
    for (; first != last; ++first)
      next.push_back(first->second);
  }
  return found;
}

// Who makes the calls that pass the gates of a stack: those of a service have
// all that reaches it, those of an edge what its caller has.
callers users_of(std::string_view stack, const arm_config& arm,
                 const std::vector<call_site>& calls) {
  callers found;
  for (const auto& s : arm.services)
    if (s.stack == stack)
      found.insert(s.name);
  for (const auto& rule : arm.edges)
    if (rule.stack == stack)
      for (const auto& c : calls)
        if (matches(rule, c.caller, c.to))
          found.insert(c.caller);
  return found;
}

// The numbers of the layers that share their permits among keys.
std::vector<std::size_t> fair_layers(const stack_entry& x) {
  std::vector<std::size_t> out;
  auto layers = x.policies.build();
  for (std::size_t i = 0; i < layers.size(); ++i)
    for (const auto& row : layers[i]->config_rows())
      if (row.key == "order" && row.value == "fair")
        out.push_back(i);
  return out;
}

void report_fair(const setting_path& path, problems& out) {
  out.push_back({problem_kind::relation, path / "order",
                 "fair has no effect: no load that reaches this queue sets "
                 "keys, allowed: another order, or keys of such a load"});
}

} // namespace

void check_queues(const arm_config& arm, const std::vector<call_site>& calls,
                  problems& out) {
  auto keyed = callers_with_keys(arm, calls);
  callers called;
  for (const auto& c : calls)
    called.insert(service_of_operation(c.to));
  // What nobody calls is not known to be in vain.
  for (const auto& s : arm.services)
    if (s.order == wait_order::fair && called.contains(s.name)
        && !keyed.contains(s.name))
      report_fair(setting_path{} / "service" / s.name, out);
  for (const auto& [name, entry] : arm.stacks) {
    auto users = users_of(name, arm, calls);
    if (users.empty() || std::ranges::any_of(users, [&](auto user) {
          return keyed.contains(user);
        }))
      continue;
    for (auto i : fair_layers(*entry))
      report_fair(setting_path{} / "stack" / name / "layer" / i, out);
  }
}

} // namespace caisson::sim
