#include <simulator/world/message_faults.hpp>

#include <simulator/scenario/groups.hpp>

#include <algorithm>
#include <utility>

namespace caisson::sim {

message_faults::message_faults(const arm_config& arm, const route_ends& ends) {
  for (const auto& f : arm.faults) {
    if (!hits_messages(f.kind))
      continue;
    group_members from{f.from, arm};
    group_members to{f.to, arm};
    auto both = f.direction == fault_direction::both;
    auto caller_sends = from.contains(ends.caller, ends.caller_number,
                                      ends.caller_zone);
    auto caller_gets = to.contains(ends.caller, ends.caller_number,
                                   ends.caller_zone);
    known x{.config = &f, .there = {}, .back = {}};
    for (std::uint32_t i = 0; i < ends.replicas; ++i) {
      auto zone = ends.zones ? ends.zones->name(
                    ends.zones->of_replica(ends.service_index, i))
                             : std::string_view{};
      auto gets = to.contains(ends.service, i + 1, zone);
      auto sends = from.contains(ends.service, i + 1, zone);
      auto forth = (caller_sends && gets) || (both && caller_gets && sends);
      auto back = (caller_gets && sends) || (both && caller_sends && gets);
      x.there.push_back(forth);
      x.back.push_back(back);
    }
    if (std::ranges::count(x.there, true) + std::ranges::count(x.back, true))
      known_.push_back(std::move(x));
  }
  there_.resize(known_.empty() ? 1 : ends.replicas);
  back_.resize(there_.size());
}

void message_faults::change(std::size_t i, bool active) {
  known_[i].active = active;
  combine(there_, &known::there);
  combine(back_, &known::back);
}

// Rates of loss add up as independent chances do, and delays as they are.
void message_faults::combine(std::vector<way>& ways,
                             std::vector<bool> known::*hit) {
  std::ranges::fill(ways, way{});
  for (const auto& x : known_) {
    if (!x.active)
      continue;
    for (std::size_t i = 0; i < ways.size(); ++i) {
      if (!(x.*hit)[i])
        continue;
      auto& w = ways[i];
      if (x.config->kind == fault_kind::partition)
        ++w.cuts;
      else if (x.config->kind == fault_kind::loss)
        w.passes *= 1 - x.config->rate;
      else
        w.delay = duration_sum(w.delay, x.config->delay);
    }
  }
}

} // namespace caisson::sim
