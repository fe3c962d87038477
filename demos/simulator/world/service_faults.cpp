// What faults do to a service.
#include <simulator/scenario/fault_times.hpp>
#include <simulator/scenario/faults.hpp>
#include <simulator/scenario/replicas.hpp>
#include <simulator/scenario/zones.hpp>
#include <simulator/world/service.hpp>
#include <simulator/world/service_errors.hpp>

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
    if (counts_requests(f)) {
      counting_.push_back({{arm, k, replica_, world_.key}, k, i});
      plan_change(counting_.back());
      continue;
    }
    for (const auto& x : fault_times(arm, k, replica_, world_.key)) {
      timer().push(time_after(begin_, x.at), fault_begin | i);
      if (f.kind != fault_kind::flush)
        timer().push(time_after(begin_, duration_sum(x.at, x.lasts)),
                     fault_end | i);
    }
  }
}

void service::fault_is_due(std::uint64_t payload) {
  auto place = payload & ~(fault_begin | fault_end);
  auto c = std::ranges::find(counting_, place, &counting::place);
  if (c != counting_.end())
    return change(*c, c->fault.time_is_up(may_begin(*c)));
  const auto& f = *faults_[place];
  if ((payload & fault_begin) != 0)
    fault_begins(f);
  else
    fault_ends(f);
}

void service::fault_begins(const fault_config& f) {
  world_.recorder->log().line(at(), "fault ", name_, " ", fault_name(f.kind),
                              " begins");
  fault_.begin(f);
  emit_crash(f, true);
  follow_work();
  follow_servers();
  if (f.kind == fault_kind::crash)
    lose_all();
  else if (f.kind == fault_kind::flush)
    calls_.caches().flush();
}

void service::fault_ends(const fault_config& f) {
  world_.recorder->log().line(at(), "fault ", name_, " ", fault_name(f.kind),
                              " ends");
  fault_.end(f);
  emit_crash(f, false);
  follow_work();
  follow_servers();
  if (f.kind == fault_kind::stall && !fault_.stalled())
    take_deferred();
}

// -- by count -----------------------------------------------------------------

// Before the request that arrives is looked at.
void service::count_request() {
  auto changed = false;
  for (auto& c : counting_) {
    auto x = c.fault.request(at(), may_begin(c));
    changed |= x.begins || x.ends;
    change(c, x);
  }
  if (changed)
    serve_next();
}

bool service::may_begin(const counting& c) const {
  return world_.recorder->faults().may_begin(c.index);
}

void service::change(counting& c, const counted_fault::change& x) {
  const auto& f = c.fault.config();
  auto& faults = world_.recorder->faults();
  auto ended = [&] { faults.ended(c.index, c.number, at()); };
  if (x.ends) {
    fault_ends(f);
    ended();
  }
  if (x.begins) {
    auto shown = replica_target_in(f.target).number || config_.replicas > 1;
    c.number = faults.begun(c.index, shown ? replica_ + 1 : 0, at());
    fault_begins(f);
    if (f.kind == fault_kind::flush)
      ended();
  }
  if (x.cut_off)
    faults.refused(c.index);
  if (x.ends || x.begins)
    plan_change(c);
}

void service::plan_change(const counting& c) {
  // What is due at a time only has that one timer.
  if (auto due = c.fault.due())
    timer().push(time_after(begin_, *due), fault_begin | c.place);
}

// Those who cannot know when it comes.
void service::emit_crash(const fault_config& f, bool begins) {
  if (f.kind != fault_kind::crash || !counts_requests(f))
    return;
  for (const auto& link : (*world_.pooled_links)[index_])
    portable::send(this, link, replica_crash{replica_, begins});
}

// -- what they do -------------------------------------------------------------

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
