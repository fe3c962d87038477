// Running gates paired with their file entries.
#pragma once

#include <caisson/caf/caf.hpp>
#include <caisson/caf/call_handle.hpp>
#include <caisson/config/gate_file.hpp>
#include <caisson/gate/worker.hpp>
#include <caisson/gate/worker_names.hpp>
#include <caisson/settings/problem.hpp>

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace caisson::detail {

struct managed_gate {
  gate_entry entry;
  control_handle handle;
  /// Whether its worker has the settings of supervision of the file, rather
  /// than its own.
  bool supervised_by_file = false;
  /// What it may have instead of `entry`: it did not say whether it took that.
  std::vector<gate_entry> unconfirmed = {};
};

using managed_gates = std::map<std::string, managed_gate, std::less<>>;
using made_workers = std::map<std::string, worker, std::less<>>;

/// Calls `make`, whose exceptions become problems of that gate.
void try_for(const std::string& gate, const gate_entry& x, problems& out,
             const std::function<void()>& make);

/// The workers of the gates `names`; starts none. Appends the problems of all
/// of them, also what makers throw.
[[nodiscard]] made_workers
make_workers(caf::actor_system& sys, const gate_file& file,
             const std::vector<std::string>& names, const worker_names& known,
             const group_handles& groups, problems& out);

/// Spawns these gates in that order. If one cannot be made, appends why, stops
/// those that were spawned and returns none.
[[nodiscard]] managed_gates spawn_managed(caf::actor_system& sys,
                                          const gate_file& file,
                                          const std::vector<std::string>& names,
                                          made_workers workers, problems& out);

} // namespace caisson::detail
