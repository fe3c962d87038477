#include <simulator/world/message_faults.hpp>

#include <algorithm>
#include <set>
#include <utility>

namespace caisson::sim {

namespace {

// That of a replica of the service, counted from 0 on; empty: none.
std::string_view zone_of(const route_ends& ends, std::uint32_t replica) {
  return ends.zones ? ends.zones->name(
           ends.zones->of_replica(ends.service_index, replica))
                    : std::string_view{};
}

std::vector<const message_fault_index::entry*>
faults_between(const message_fault_index& all, const route_ends& ends) {
  // As in most arms, which may have many callers of many replicas.
  if (all.empty())
    return {};
  std::set<std::string_view> service{ends.service};
  for (std::uint32_t i = 0; i < ends.replicas; ++i)
    service.insert(zone_of(ends, i));
  return all.between({ends.caller, ends.caller_zone},
                     {service.begin(), service.end()});
}

} // namespace

message_faults::message_faults(const message_fault_index& all,
                               const route_ends& ends) {
  for (const auto* fault : faults_between(all, ends)) {
    const auto& from = fault->from;
    const auto& to = fault->to;
    auto both = fault->config->direction == fault_direction::both;
    auto caller_sends = from.contains(ends.caller, ends.caller_number,
                                      ends.caller_zone);
    auto caller_gets = to.contains(ends.caller, ends.caller_number,
                                   ends.caller_zone);
    known x{.config = fault->config, .requests = {}, .answers = {}};
    for (std::uint32_t i = 0; i < ends.replicas; ++i) {
      auto gets = to.contains(ends.service, i + 1, zone_of(ends, i));
      auto sends = from.contains(ends.service, i + 1, zone_of(ends, i));
      auto requests = (caller_sends && gets) || (both && caller_gets && sends);
      auto answers = (caller_gets && sends) || (both && caller_sends && gets);
      x.requests.push_back(requests);
      x.answers.push_back(answers);
    }
    if (std::ranges::count(x.requests, true)
        + std::ranges::count(x.answers, true))
      known_.push_back(std::move(x));
  }
  requests_.resize(known_.empty() ? 1 : ends.replicas);
  answers_.resize(requests_.size());
}

void message_faults::change(std::size_t i, bool active) {
  known_[i].active = active;
  combine(requests_, &known::requests);
  combine(answers_, &known::answers);
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
