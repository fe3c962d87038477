#include <simulator/scenario/fault_times.hpp>

#include <simulator/scenario/faults.hpp>
#include <simulator/scenario/replicas.hpp>
#include <simulator/scenario/zones.hpp>

#include <algorithm>

namespace caisson::sim {

namespace {

// How many replicas the fault hits, each by itself.
std::uint32_t replicas_hit(const arm_config& arm, const fault_config& f) {
  auto target = replica_target_in(f.target);
  if (!f.mtbf || hits_messages(f.kind) || target.number)
    return 1;
  auto found = std::ranges::find(arm.services, target.service,
                                 &service_config::name);
  return found == arm.services.end() ? 1 : found->replicas;
}

} // namespace

keyed_random fault_draws(std::size_t index, std::uint32_t replica,
                         draw_key key) {
  return keyed_random{key.with("fault").with(index).with(replica)};
}

duration draw_time(keyed_random& random, duration mean) {
  // What takes no time at all would come again at the same instant.
  return std::max(distribution::exponential(mean).draw(random), duration{1});
}

double expected_failures(const arm_config& arm, const fault_config& f) {
  if (!f.mtbf)
    return 0;
  return static_cast<double>(arm.length.count())
         / static_cast<double>(f.mtbf->count()) * replicas_hit(arm, f);
}

std::vector<fault_time> fault_times(const arm_config& arm, std::size_t index,
                                    std::uint32_t replica, draw_key key) {
  const auto& f = arm.faults[index];
  if (counts_requests(f))
    return {};
  if (!f.mtbf)
    return {{f.at, f.lasts}};
  // Replicas in a zone are hit together.
  if (is_zone(arm, f.target))
    replica = 0;
  std::vector<fault_time> out;
  auto random = fault_draws(index, replica, key);
  auto at = duration_sum(f.at, draw_time(random, *f.mtbf));
  while (at < arm.length) {
    auto lasts = f.mttr ? draw_time(random, *f.mttr) : f.lasts;
    out.push_back({at, lasts});
    at = duration_sum(duration_sum(at, lasts), draw_time(random, *f.mtbf));
  }
  return out;
}

std::vector<fault_time> all_fault_times(const arm_config& arm,
                                        std::size_t index, std::uint64_t seed) {
  const auto& f = arm.faults[index];
  auto replicas = replicas_hit(arm, f);
  std::vector<fault_time> out;
  for (std::uint32_t i = 0; i < replicas; ++i) {
    // One replica that is named has the instants of its place.
    auto number = replica_target_in(f.target).number;
    auto times = fault_times(arm, index, number ? *number - 1 : i,
                             draw_key{seed});
    for (auto& x : times)
      x.replica = number ? *number : replicas > 1 ? i + 1 : 0;
    out.insert(out.end(), times.begin(), times.end());
  }
  std::ranges::stable_sort(out, {}, &fault_time::at);
  out.resize(std::min(out.size(), most_fault_times));
  return out;
}

} // namespace caisson::sim
