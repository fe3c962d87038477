#include <caisson/detail/kept_groups.hpp>

#include <caisson/settings.hpp>

#include <algorithm>

namespace caisson::detail {

kept_groups spawn_missing_groups(caf::actor_system& sys, const gate_file& file,
                                 const kept_groups& running) {
  kept_groups out;
  for (const auto& [name, config] : file.groups)
    if (!running.contains(name))
      out.emplace(name,
                  kept_group{config, spawn_supervision_group(sys, config)});
  return out;
}

group_handles handles_of(const kept_groups& groups) {
  group_handles out;
  for (const auto& [name, x] : groups)
    out.emplace(name, x.handle);
  return out;
}

reconfigure message_of(const supervision_group_config& c) {
  reconfigure out;
  for (auto& row : rows_of(c))
    out.set.emplace(std::move(row.key), std::move(row.value));
  return out;
}

std::vector<std::string> by_rank(const gate_file& file) {
  std::vector<std::string> out;
  out.reserve(file.gates.size());
  for (const auto& [name, x] : file.gates)
    out.push_back(name);
  std::stable_sort(out.begin(), out.end(), [&](auto& a, auto& b) {
    return file.gates.at(a).rank < file.gates.at(b).rank;
  });
  return out;
}

gate_change group_change(const std::string& group, const std::string& what) {
  return {{}, {}, "group " + group + ": " + what};
}

} // namespace caisson::detail
