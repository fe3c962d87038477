#include <caisson/config/detail/managed_groups.hpp>

#include <caisson/settings/row_changes.hpp>
#include <caisson/settings/settings.hpp>

#include <algorithm>
#include <utility>

namespace caisson::detail {

group_handles spawn_missing_groups(caf::actor_system& sys,
                                   const gate_file& file,
                                   const group_handles& running) {
  group_handles out;
  for (const auto& [name, config] : file.groups)
    if (!running.contains(name))
      out.emplace(name, spawn_supervision_group(sys, config));
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

std::string changes_of(const status& now,
                       const supervision_group_config& next) {
  auto after = rows_of(next);
  auto before = after;
  const auto& config = now.layers.at(0).config;
  for (auto& row : before)
    if (auto i = config.find(row.key); i != config.end())
      row.value = i->second;
  return row_changes(before, after);
}

gate_change group_change(const std::string& group, const std::string& what) {
  return {{}, {}, "group " + group + ": " + what};
}

} // namespace caisson::detail
