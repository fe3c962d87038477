// What faults do to a service.
#include <sim/scenario/fault_times.hpp>
#include <sim/scenario/faults.hpp>
#include <sim/scenario/zones.hpp>
#include <sim/world/service.hpp>
#include <sim/world/service_errors.hpp>

#include <algorithm>
#include <utility>

namespace caisson::sim {

// -- faults -------------------------------------------------------------------

bool service::is_hit_by(const fault_config& f) const {
  const auto& plan = *world_.plan;
  return !hits_messages(f.kind)
         && target_hits(plan.arm, plan.zones, f.target, index_, replica_);
}

// Set before any other timer, so that a fault is the first thing to happen at
// its instant.
void service::plan_faults() {
  const auto& arm = world_.plan->arm;
  for (std::size_t k = 0; k < arm.faults.size(); ++k) {
    const auto& f = arm.faults[k];
    if (!is_hit_by(f))
      continue;
    auto i = faults_.size();
    faults_.push_back(&f);
    for (const auto& x : fault_times(arm, k, replica_, world_.key)) {
      timer().push(time_after(begin_, x.at), fault_begin | i);
      if (f.kind != fault_kind::flush)
        timer().push(time_after(begin_, duration_sum(x.at, x.lasts)),
                     fault_end | i);
    }
  }
}

void service::fault_is_due(std::uint64_t payload) {
  const auto& f = *faults_[payload & ~(fault_begin | fault_end)];
  if ((payload & fault_begin) != 0)
    fault_begins(f);
  else
    fault_ends(f);
}

void service::fault_begins(const fault_config& f) {
  world_.recorder->log().line(at(), FMT_COMPILE("fault {} {} begins"), name_,
                              fault_name(f.kind));
  fault_.begin(f);
  if (f.kind == fault_kind::crash)
    lose_all();
  else if (f.kind == fault_kind::flush)
    calls_.caches().flush();
}

void service::fault_ends(const fault_config& f) {
  world_.recorder->log().line(at(), FMT_COMPILE("fault {} {} ends"), name_,
                              fault_name(f.kind));
  fault_.end(f);
  if (f.kind == fault_kind::stall && !fault_.stalled())
    take_deferred();
}

void service::take_deferred() {
  for (auto& [key, content] : std::exchange(deferred_, {}))
    handle_answer(key, std::move(content));
}

// In the order in which they came in.
void service::lose_all() {
  auto keys = jobs_.keys();
  std::ranges::sort(keys, {},
                    [this](auto key) { return jobs_.find(key)->order; });
  for (auto key : keys) {
    auto& j = *jobs_.find(key);
    recorder().lost(at());
    note("lose", j);
    leave(key, j, service_error(errc::worker_down, config_.name, true));
  }
  deferred_.clear();
  calls_.caches().flush();
}

} // namespace caisson::sim
