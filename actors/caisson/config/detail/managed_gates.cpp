#include <caisson/config/detail/managed_gates.hpp>

#include <caisson/gate/gate.hpp>
#include <caisson/policy/callback.hpp>
#include <caisson/settings/settings.hpp>

#include <algorithm>
#include <string_view>
#include <utility>

namespace caisson::detail {

namespace {

bool same_settings(const supervision_config& a, const supervision_config& b) {
  auto x = rows_of(a);
  auto y = rows_of(b);
  return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                    [](auto& l, auto& r) { return l.value == r.value; });
}

managed_gate spawn_one(caf::actor_system& sys, gate_entry entry,
                       worker behind) {
  auto by_file = behind.is_supervised()
                 && same_settings(behind.supervision(),
                                  entry.policies.supervision);
  auto handle = spawn_gate(sys, std::move(behind), entry.policies.policies);
  return {std::move(entry), std::move(handle), by_file, {}};
}

} // namespace

void try_for(const std::string& gate, const gate_entry& x, problems& out,
             const std::function<void()>& make) {
  auto path = setting_path{"gates"} / gate;
  auto cannot = [](std::string_view why) {
    return "cannot be made: " + std::string{why};
  };
  auto guarded = [&] {
    try {
      make();
    } catch (const config_error& e) {
      for (const auto& p : e.all())
        out.push_back({p.kind, path.joined_with(p.key), cannot(p.message),
                       p.place.empty() ? x.worker_place : p.place});
    }
  };
  (void)try_user(guarded, [&](std::string_view why) {
    out.push_back({problem_kind::relation, path, cannot(why), x.worker_place});
  });
}

made_workers make_workers(caf::actor_system& sys, const gate_file& file,
                          const std::vector<std::string>& names,
                          const worker_names& known,
                          const group_handles& groups, problems& out) {
  made_workers all;
  for (const auto& name : names) {
    const auto& x = file.gates.at(name);
    try_for(name, x, out,
            [&] { all.emplace(name, worker_of(x, known, sys, groups)); });
  }
  return all;
}

managed_gates spawn_managed(caf::actor_system& sys, const gate_file& file,
                            const std::vector<std::string>& names,
                            made_workers workers, problems& out) {
  managed_gates all;
  auto before = out.size();
  for (const auto& name : names) {
    const auto& x = file.gates.at(name);
    try_for(name, x, out, [&] {
      all.emplace(name, spawn_one(sys, x, std::move(workers.at(name))));
    });
    if (out.size() == before)
      continue;
    for (const auto& [other, gate] : all)
      stop_gate(gate.handle);
    return {};
  }
  return all;
}

} // namespace caisson::detail
