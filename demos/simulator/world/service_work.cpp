// How long the work of a service takes.
#include <simulator/world/service.hpp>

#include <algorithm>

namespace caisson::sim {

// Work whose speed cannot change gets a timer of its own, which is quicker.
void service::plan_work() {
  if (config_.cores != no_limit || config_.slowdown_in_progress
      || std::ranges::any_of(faults_, &fault_config::in_progress))
    clock_.emplace(begin_, config_.cores);
}

// -- how slow it is -----------------------------------------------------------

// By what is inside now.
double service::slowdown() const {
  auto inside = static_cast<double>(jobs_.size());
  auto above = std::max(0.0, inside - config_.slowdown_from);
  return std::min(config_.slowdown_max, 1 + config_.slowdown * above);
}

// Of work that begins, for as long as it takes.
double service::slowness() const {
  return fault_.factor() * (config_.slowdown_in_progress ? 1 : slowdown());
}

// Of all work, for as long as nothing changes.
double service::stretch() const {
  return fault_.stretch() * (config_.slowdown_in_progress ? slowdown() : 1);
}

// -- work ---------------------------------------------------------------------

void service::work_for(job_key key, job& j, duration d) {
  if (d == duration::zero())
    return work_done(key, j);
  if (!clock_) {
    auto due = time_after(now(), d);
    recorder().work_ends(world_.recorder->since_start(due));
    j.due_timer = timer().push(due, key);
    return;
  }
  j.in_progress = clock_->begin(now(), key, d);
  follow_work();
}

void service::work_done(job_key key, job& j) {
  if (!j.warmed_up) {
    j.warmed_up = true;
    if (fails(j, 1 - (1 - config_.errors) * (1 - fault_.error_rate())))
      return fail(key, j,
                  caf::make_message(caf::make_error(caf::sec::runtime_error)));
    return do_step(key, j);
  }
  next_step(key, j);
}

void service::shared_work_done() {
  auto key = clock_->pop_due(now());
  follow_work();
  if (key)
    work_done(*key, *jobs_.find(*key));
}

void service::stop_work(job& j) {
  timer().cancel(j.due_timer);
  if (clock_)
    clock_->cancel(now(), j.in_progress);
}

// Called when what is at work, what is inside or a fault has changed.
void service::follow_work() {
  if (!clock_)
    return;
  clock_->set_stretch(now(), stretch());
  if (config_.cores != no_limit)
    recorder().cores_used_are(at(), clock_->used_cores());
  auto due = clock_->next();
  if (due != never)
    recorder().work_ends(world_.recorder->since_start(due));
  if (!timer().update(clock_timer_, due))
    clock_timer_ = timer().push(due, work_end);
}

} // namespace caisson::sim
