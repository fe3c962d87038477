#include <simulator/world/service_work.hpp>

#include <algorithm>

namespace caisson::sim {

// A timer for each piece of work is quicker than the clock.
void service_work::start(time_point now, bool changes_speed) {
  if (config_.cores != no_limit || config_.slowdown_in_progress
      || changes_speed)
    clock_.emplace(now, config_.cores);
}

// -- how slow it is -----------------------------------------------------------

// By what is inside now.
double service_work::slowdown() const {
  auto inside = static_cast<double>(jobs_.size());
  auto above = std::max(0.0, inside - config_.slowdown_from);
  return std::min(config_.slowdown_max, 1 + config_.slowdown * above);
}

double service_work::slowness() const {
  return faults_.factor() * (config_.slowdown_in_progress ? 1 : slowdown());
}

// Of all work, for as long as nothing changes.
double service_work::stretch() const {
  return faults_.stretch() * (config_.slowdown_in_progress ? slowdown() : 1);
}

// -- work ---------------------------------------------------------------------

void service_work::begin(time_point now, job_key key, job& j, duration d) {
  if (!clock_) {
    auto due = time_after(now, d);
    journal_.records().work_ends(journal_.at(due));
    j.due_timer = timers_.push(due, key);
    return;
  }
  j.in_progress = clock_->begin(now, key, d);
  follow(now);
}

std::optional<job_key> service_work::pop_due(time_point now) {
  auto key = clock_->pop_due(now);
  follow(now);
  return key;
}

void service_work::stop(time_point now, job& j) {
  timers_.cancel(j.due_timer);
  if (clock_)
    clock_->cancel(now, j.in_progress);
}

void service_work::follow(time_point now) {
  if (!clock_)
    return;
  clock_->set_stretch(now, stretch());
  if (config_.cores != no_limit)
    journal_.records().cores_used_are(journal_.at(now), clock_->used_cores());
  auto due = clock_->next();
  if (due != never)
    journal_.records().work_ends(journal_.at(due));
  if (!timers_.update(timer_, due))
    timer_ = timers_.push(due, clock_timer);
}

} // namespace caisson::sim
