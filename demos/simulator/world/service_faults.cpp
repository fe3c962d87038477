#include <simulator/world/service_faults.hpp>

#include <simulator/scenario/fault_times.hpp>
#include <simulator/scenario/faults.hpp>
#include <simulator/scenario/replicas.hpp>
#include <simulator/scenario/zones.hpp>

#include <algorithm>

namespace caisson::sim {

service_faults::service_faults(const world_context& world, std::size_t instance,
                               timed_actor::timers& timers)
  : world_(world), service_(world.plan->instances[instance].service),
    replica_(world.plan->instances[instance].replica), timers_(timers) {}

// -- planning -----------------------------------------------------------------

bool service_faults::is_hit_by(const fault_config& f) const {
  const auto& plan = *world_.plan;
  return !hits_messages(f.kind)
         && target_hits(plan.arm, plan.zones, f.target, service_, replica_);
}

void service_faults::start(time_point now) {
  begin_ = now;
  const auto& arm = world_.plan->arm;
  for (std::size_t k = 0; k < arm.faults.size(); ++k) {
    const auto& f = arm.faults[k];
    if (!is_hit_by(f))
      continue;
    auto i = faults_.size();
    faults_.push_back(&f);
    if (counts_requests(f)) {
      counting_.push_back({{arm, k, replica_, world_.key}, k, i});
      plan_change(counting_.back());
      continue;
    }
    for (const auto& x : fault_times(arm, k, replica_, world_.key)) {
      timers_.push(time_after(begin_, x.at), begin | i);
      if (f.kind != fault_kind::flush)
        timers_.push(time_after(begin_, duration_sum(x.at, x.lasts)), end | i);
    }
  }
}

bool service_faults::change_speed() const {
  return std::ranges::any_of(faults_, &fault_config::in_progress);
}

// -- by time ------------------------------------------------------------------

void service_faults::is_due(std::uint64_t payload, duration at,
                            const effect& act) {
  auto place = payload & ~timer_bits;
  auto c = std::ranges::find(counting_, place, &counting::place);
  if (c != counting_.end())
    return change(*c, c->fault.time_is_up(may_begin(*c)), at, act);
  act(*faults_[place], (payload & begin) != 0);
}

// -- by count -----------------------------------------------------------------

bool service_faults::request(duration at, const effect& act) {
  auto changed = false;
  for (auto& c : counting_) {
    auto x = c.fault.request(at, may_begin(c));
    changed |= x.begins || x.ends;
    change(c, x, at, act);
  }
  return changed;
}

bool service_faults::may_begin(const counting& c) const {
  return world_.recorder->faults().may_begin(c.index);
}

void service_faults::change(counting& c, const counted_fault::change& x,
                            duration at, const effect& act) {
  const auto& f = c.fault.config();
  auto& records = world_.recorder->faults();
  auto ended = [&] { records.ended(c.index, c.number, at); };
  if (x.ends) {
    act(f, false);
    ended();
  }
  if (x.begins) {
    auto shown = replica_target_in(f.target).number
                 || world_.plan->arm.services[service_].replicas > 1;
    c.number = records.begun(c.index, shown ? replica_ + 1 : 0, at);
    act(f, true);
    if (f.kind == fault_kind::flush)
      ended();
  }
  if (x.cut_off)
    records.refused(c.index);
  if (x.ends || x.begins)
    plan_change(c);
}

void service_faults::plan_change(const counting& c) {
  // What is due at a time only has that one timer.
  if (auto due = c.fault.due())
    timers_.push(time_after(begin_, *due), begin | c.place);
}

} // namespace caisson::sim
