#include <caisson/observe/control/detail/gate_table.hpp>

#include <functional>

namespace caisson::detail {

bool gate_table::add(std::string name, control_handle gate) {
  std::lock_guard guard{mutex_};
  return single_.emplace(std::move(name), std::move(gate)).second;
}

void gate_table::add(controlled_gates gates) {
  std::lock_guard guard{mutex_};
  sets_.push_back(std::move(gates));
}

std::vector<gate_table::named_gate> gate_table::all() const {
  std::map<std::string, control_handle, std::less<>> out;
  {
    std::lock_guard guard{mutex_};
    out = single_;
  }
  for (const auto& set : sets())
    for (auto& name : set.names())
      // One that has gone meanwhile has no handle.
      if (auto gate = set.find(name))
        out.emplace(std::move(name), std::move(gate));
  return {out.begin(), out.end()};
}

control_handle gate_table::find(std::string_view name) const {
  {
    std::lock_guard guard{mutex_};
    if (auto i = single_.find(name); i != single_.end())
      return i->second;
  }
  for (const auto& set : sets())
    if (auto gate = set.find(name))
      return gate;
  return {};
}

std::vector<caf::actor> gate_table::controllers() const {
  std::vector<caf::actor> out;
  for (const auto& set : sets())
    if (set.controller)
      out.push_back(set.controller);
  return out;
}

// Copies, so that no user's function is called under the lock.
std::vector<controlled_gates> gate_table::sets() const {
  std::lock_guard guard{mutex_};
  return sets_;
}

} // namespace caisson::detail
