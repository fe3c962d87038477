#include <caisson/engine/upstream.hpp>

#include <caisson/base/ensure.hpp>
#include <caisson/engine/router.hpp>

#include <utility>

namespace caisson::detail {

upstream::upstream(engine_core& core, supervision_config s)
  : core_(core), supervisor_(std::move(s)) {
  add_target({});
}

target_id upstream::next_target() const {
  return free_targets_.empty() ? static_cast<target_id>(targets_.size())
                               : free_targets_.back();
}

target_id upstream::add_target(const target_info& x) {
  auto number = next_target();
  if (free_targets_.empty()) {
    targets_.push_back({x, {}});
  } else {
    free_targets_.pop_back();
    targets_[number].info = x;
  }
  return number;
}

void upstream::drop_target(target_id x) {
  CAISSON_ENSURE(x != worker_target && x < targets_.size()
                   && targets_[x].calls.empty(),
                 "target {} of {} has calls", x, targets_.size());
  free_targets_.push_back(x);
}

// -- the worker ---------------------------------------------------------------

void upstream::use(const target_info& x) {
  targets_[worker_target].info = x;
  state_ = worker_state::up;
}

void upstream::supervise() {
  supervised_ = true;
  grouped_ = core_.grouped;
  make();
}

void upstream::restart() {
  restart_at_ = never;
  awaits_turn_ = grouped_;
  if (grouped_)
    core_.host.send_to_group(member_state::due, {});
  else
    make();
}

void upstream::make() {
  awaits_turn_ = false;
  state_ = worker_state::restarting;
  making_ = true;
  if (auto made = core_.host.make_worker(++incarnation_))
    on_made(*made);
}

void upstream::on_made(const made_worker& x) {
  CAISSON_ENSURE(making_ && supervised_, "nobody makes worker {}",
                 incarnation_);
  making_ = false;
  if (x.info)
    up(*x.info);
  else
    follow_end(actor_end::abnormal, x.failure);
}

void upstream::up(const target_info& x) {
  targets_[worker_target].info = x;
  state_ = worker_state::up;
  supervisor_.on_up(core_.now());
  core_.layers.publish({.kind = event_kind::worker_changed, .to = "up"});
  if (grouped_)
    core_.host.send_to_group(member_state::up, {});
  // In order of arrival. One that the new worker kills leaves the rest waiting.
  while (state_ == worker_state::up && !waiting_.empty())
    if (auto* r = core_.calls.find(waiting_.erase(waiting_.front()))) {
      core_.calls.move_to(*r, phase::moving);
      core_.route->dispatch(*r);
    }
}

void upstream::on_down(target_id x, actor_end how, const std::string& why) {
  if (x != worker_target)
    return fail(targets_[x].calls);
  if (state_ == worker_state::up)
    return lost(how, why);
  if (!ending_ || how == actor_end::unknown)
    return;
  ending_ = false;
  core_.host.forget_worker();
  follow_end(how, why);
}

void upstream::suspect(target_id x) {
  if (x == worker_target && state_ == worker_state::up && core_.host.is_down(x))
    lost(core_.host.end_of(x), "it is down");
}

void upstream::lost(actor_end how, const std::string& why) {
  ++core_.totals.worker_losses;
  ending_ = supervised_ && how == actor_end::unknown
            && supervisor_.depends_on_end();
  if (!ending_)
    core_.host.forget_worker();
  if (ending_) {
    // What comes meanwhile waits.
    state_ = worker_state::restarting;
  } else if (supervised_) {
    follow_end(how, why);
  } else {
    state_ = worker_state::down;
    core_.layers.publish({.kind = event_kind::worker_changed,
                          .from = "up",
                          .to = "down",
                          .detail = why});
  }
  fail(targets_[worker_target].calls);
}

void upstream::follow_end(actor_end how, const std::string& why) {
  if (supervisor_.restarts_after(how))
    plan_restart(why);
  else
    end_for_good(why);
}

void upstream::end_for_good(const std::string& why) {
  state_ = worker_state::ended;
  restart_at_ = never;
  supervisor_.on_ended();
  report_end();
  core_.layers.publish(
    {.kind = event_kind::worker_changed, .to = "ended", .detail = why});
  fail_waiting();
}

// A restart of the group is one of a worker that has ended normally, too.
void upstream::report_end() {
  if (grouped_)
    core_.host.send_to_group(supervisor_.config().lifetime
                                 == worker_lifetime::temporary
                               ? member_state::finished
                               : member_state::ended,
                             {});
}

void upstream::reconfigure(supervision_config c) {
  supervisor_.reconfigure(std::move(c));
  if (state_ == worker_state::ended)
    report_end();
}

void upstream::plan_restart(const std::string& why) {
  if (grouped_)
    core_.host.send_to_group(member_state::down, why);
  std::string failure;
  auto at = supervisor_.on_down(core_.now(), core_.random, &failure);
  if (!failure.empty())
    core_.layers.note_failure(core_.layers.size(), "schedule", failure);
  if (!at)
    return give_up(why);
  state_ = worker_state::restarting;
  restart_at_ = *at;
  core_.layers.publish({.kind = event_kind::worker_changed,
                        .to = "restarting",
                        .detail = why,
                        .delay = time_until(*at, core_.now())});
}

void upstream::give_up(const std::string& why) {
  state_ = worker_state::given_up;
  restart_at_ = never;
  awaits_turn_ = making_ = ending_ = false;
  ++incarnation_;
  if (grouped_)
    core_.host.send_to_group(member_state::gave_up, why);
  core_.layers.publish(
    {.kind = event_kind::worker_changed, .to = "given_up", .detail = why});
  fail_waiting();
  if (supervisor_.config().on_give_up == give_up_action::quit)
    core_.host.worker_given_up(why);
}

// -- the group ----------------------------------------------------------------

void upstream::follow_group(member_order what, const std::string& why) {
  if (state_ == worker_state::given_up)
    return;
  switch (what) {
    case member_order::stop:
      return stop(why);
    case member_order::start:
      if (awaits_turn_)
        make();
      else if (state_ == worker_state::up)
        core_.host.send_to_group(member_state::up, {});
      else if (state_ == worker_state::ended)
        report_end();
      return;
    case member_order::give_up: {
      auto was_up = state_ == worker_state::up;
      if (was_up || ending_)
        core_.host.stop_worker();
      give_up(why);
      if (was_up)
        fail(targets_[worker_target].calls);
      return;
    }
  }
}

// Its own delay is over with the group's: it starts when its turn comes.
void upstream::stop(const std::string& why) {
  auto before = state_;
  auto starts_again = supervisor_.config().lifetime
                      != worker_lifetime::temporary;
  restart_at_ = never;
  awaits_turn_ = starts_again;
  making_ = false;
  ++incarnation_;
  if (before == worker_state::up)
    ++stopped_;
  if (before == worker_state::up || std::exchange(ending_, false))
    core_.host.stop_worker();
  auto detail = "with its group: " + why;
  if (!starts_again) {
    if (before == worker_state::ended)
      report_end();
    else
      end_for_good(detail);
  } else if (before != worker_state::restarting) {
    state_ = worker_state::restarting;
    core_.layers.publish({.kind = event_kind::worker_changed,
                          .to = "restarting",
                          .detail = detail});
  }
  if (before == worker_state::up)
    fail(targets_[worker_target].calls);
}

void upstream::leave_group() {
  grouped_ = false;
  if (awaits_turn_)
    make();
}

// -- operation ----------------------------------------------------------------

bool upstream::is_gone() const noexcept {
  switch (state_) {
    case worker_state::down:
      return !supervised_ && !grouped_;
    case worker_state::ended:
      // A group starts others again that have ended.
      return !grouped_
             || supervisor_.config().lifetime == worker_lifetime::temporary;
    case worker_state::given_up:
      return true;
    case worker_state::none:
    case worker_state::up:
    case worker_state::restarting:
      break;
  }
  return false;
}

// -- calls --------------------------------------------------------------------

void upstream::take(call_record& r) {
  switch (state_) {
    case worker_state::up:
      return core_.route->send_to(r, worker_target);
    case worker_state::restarting:
      if (waiting_.size() >= supervisor_.config().max_waiting) {
        // Unknown while a factory is at work on its own thread.
        auto wait = restart_at_ == never ? duration::zero()
                                         : time_until(restart_at_, core_.now());
        return core_.route->ascend(
          r, r.depth - 1, outcome::failure(errc::queue_full, false, wait));
      }
      core_.calls.move_to(r, phase::waiting);
      r.wait = waiting_.push_back(r.id);
      CAISSON_ENSURE(waiting_.size() == core_.calls.in(phase::waiting),
                     "{} calls wait, and {} are counted", waiting_.size(),
                     core_.calls.in(phase::waiting));
      if (core_.config.emit_waits)
        core_.layers.publish_wait(core_.layers.size(), r.id,
                                  core_.calls.in(phase::in_flight),
                                  waiting_.size());
      core_.callers.watch(r);
      return core_.schedule(r);
    case worker_state::none:
    case worker_state::down:
    case worker_state::given_up:
    case worker_state::ended:
      return core_.route->ascend(r, r.depth - 1,
                                 outcome::failure(errc::worker_down, false));
  }
}

void upstream::recall(const call_record& r, const outcome& why) {
  const auto& info = targets_[r.target].info;
  // One that was given the same deadline has noticed. Nothing is sent to a
  // worker unasked: most do not know the message.
  if (info.takes_cancelled
      && !(info.keeps_deadlines && why.is(errc::deadline_exceeded)))
    core_.host.send_cancelled(r.target, r.attempt_number);
}

void upstream::fail(target_calls& calls) {
  // Calls that are sent meanwhile go to another worker.
  auto lost = std::move(calls);
  while (!lost.empty()) {
    auto& r = lost.front();
    CAISSON_ENSURE(r.where == phase::in_flight,
                   "call {} is lost with its target while it is {}",
                   call_table::number_of(r.id), name_of(r.where));
    auto o = outcome::failure(errc::worker_down, true);
    core_.route->measure_attempt(r, o);
    core_.route->end_attempt(r);
    mark_executed(r);
    core_.route->ascend(r, r.depth - 1, o);
  }
}

void upstream::fail_waiting() {
  while (!waiting_.empty()) {
    auto* r = core_.calls.find(waiting_.erase(waiting_.front()));
    if (!r)
      continue;
    core_.calls.move_to(*r, phase::moving);
    core_.route->ascend(*r, r->depth - 1,
                        outcome::failure(errc::worker_down, false));
  }
}

} // namespace caisson::detail
