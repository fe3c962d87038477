#include <caisson/engine/upstream.hpp>

#include <caisson/base/ensure.hpp>
#include <caisson/caf/status.hpp>
#include <caisson/policy/call_number.hpp>

#include <utility>

namespace caisson::detail {

upstream::upstream(engine_core& core, target_table& targets,
                   supervision_config s)
  : core_(core), targets_(targets), supervisor_(std::move(s)) {}

// -- the worker ---------------------------------------------------------------

void upstream::use(const target_info& x) {
  CAISSON_ENSURE(!supervised_ && state_ == worker_state::none,
                 "a worker is given, and one is {} already", name_of(state_));
  targets_[worker_target].info = x;
  state_ = worker_state::up;
}

worker_change upstream::supervise() {
  CAISSON_ENSURE(!supervised_ && state_ == worker_state::none,
                 "a worker is supervised that is {} already", name_of(state_));
  supervised_ = true;
  grouped_ = core_.grouped;
  return make();
}

worker_change upstream::restart() {
  if (replacing_)
    return make_other();
  CAISSON_ENSURE(state_ == worker_state::restarting && !making_ && !ending_,
                 "worker {} is {} when it is to restart", incarnation_,
                 name_of(state_));
  restart_at_ = never;
  awaits_turn_ = grouped_;
  if (!grouped_)
    return make();
  core_.host.send_to_group(member_state::due, {});
  return {};
}

worker_change upstream::make() {
  CAISSON_ENSURE(state_ != worker_state::up && supervised_,
                 "worker {} is made while it is {}", incarnation_,
                 name_of(state_));
  awaits_turn_ = false;
  state_ = worker_state::restarting;
  making_ = true;
  if (auto worker = core_.host.make_worker(++incarnation_))
    return on_worker(*worker);
  return {};
}

worker_change upstream::on_worker(const made_worker& x) {
  CAISSON_ENSURE(making_ && supervised_,
                 "worker {} was made, but not asked for", incarnation_);
  if (replacing_)
    return take_other(x);
  CAISSON_ENSURE(state_ == worker_state::restarting,
                 "worker {} is there while it is {}", incarnation_,
                 name_of(state_));
  making_ = false;
  return x.info ? up(*x.info) : follow_end(actor_end::abnormal, x.failure);
}

// -- another worker -----------------------------------------------------------

worker_change upstream::replace() {
  CAISSON_ENSURE(supervised_, "a worker that others look after is replaced");
  switch (state_) {
    case worker_state::up:
      replacing_ = true;
      return make_other();
    case worker_state::restarting:
      // It is known soon how it has ended, or the group says when.
      if (ending_ || (grouped_ && !making_))
        return {};
      break;
    case worker_state::given_up:
      // A group is given up as a whole.
      if (grouped_)
        return {};
      supervisor_.start_over();
      break;
    case worker_state::none:
    case worker_state::down:
    case worker_state::ended:
      return {};
  }
  restart_at_ = never;
  return make();
}

worker_change upstream::make_other() {
  CAISSON_ENSURE(replacing_ && state_ == worker_state::up,
                 "worker {} is replaced while it is {}", incarnation_,
                 name_of(state_));
  restart_at_ = never;
  making_ = true;
  if (auto worker = core_.host.make_worker(++incarnation_))
    return on_worker(*worker);
  return {};
}

// Until there is one, the worker goes on.
worker_change upstream::take_other(const made_worker& x) {
  CAISSON_ENSURE(state_ == worker_state::up, "worker {} is replaced, and is {}",
                 incarnation_, name_of(state_));
  making_ = false;
  if (x.info) {
    replacing_ = false;
    retire();
    return up(*x.info);
  }
  std::string failure;
  auto delay = std::max(supervisor_.retry_delay(core_.random, &failure),
                        least_replacement_delay);
  if (!failure.empty())
    core_.layers.note_failure(core_.layers.size(), "schedule", failure);
  restart_at_ = time_after(core_.now(), delay);
  core_.layers.publish({.kind = event_kind::worker_changed,
                        .to = "up",
                        .detail = "not replaced: " + x.failure,
                        .delay = delay});
  return {};
}

// The worker is on its way out anyway, and the next one is another one.
void upstream::stop_replacing() {
  if (!std::exchange(replacing_, false))
    return;
  restart_at_ = never;
  making_ = false;
  ++incarnation_;
}

// Its calls stay with it, under another number.
void upstream::retire() {
  auto other = targets_.next();
  core_.host.retire_worker(other);
  auto number = targets_.add(targets_[worker_target].info);
  CAISSON_ENSURE(number == other, "target {} is number {}", number, other);
  auto calls = targets_.take_calls(worker_target);
  while (!calls.empty()) {
    auto& r = calls.pop_front();
    r.target = number;
    targets_[number].calls.push_back(r);
  }
  leaving_.push_back(number);
}

void upstream::end_replaced() {
  CAISSON_ENSURE(leaving_.empty() || core_.calls.none_moving(),
                 "of {} calls {} are on the move, which may come back",
                 core_.calls.live(), core_.calls.in(phase::moving));
  std::erase_if(leaving_, [this](target_id x) {
    if (!targets_[x].calls.empty())
      return false;
    core_.host.end_target(x);
    targets_.drop(x);
    return true;
  });
}

worker_change upstream::up(const target_info& x) {
  CAISSON_ENSURE(!making_ && !replacing_, "worker {} is up, and is made",
                 incarnation_);
  CAISSON_ENSURE(!ending_ && restart_at_ == never,
                 "worker {} is up, and is to restart", incarnation_);
  targets_[worker_target].info = x;
  state_ = worker_state::up;
  supervisor_.on_up(core_.now());
  core_.layers.publish({.kind = event_kind::worker_changed, .to = "up"});
  if (grouped_)
    core_.host.send_to_group(member_state::up, {});
  return {.sends_waiting = true};
}

worker_change upstream::on_down(target_id x, actor_end how,
                                const std::string& why) {
  if (x != worker_target)
    return {.lost = x};
  if (state_ == worker_state::up)
    return lost(how, why);
  if (!ending_ || how == actor_end::unknown)
    return {};
  CAISSON_ENSURE(state_ == worker_state::restarting && supervised_,
                 "the cause of worker {}'s end is reported while it is {}",
                 incarnation_, name_of(state_));
  ending_ = false;
  core_.host.forget_worker();
  return follow_end(how, why);
}

worker_change upstream::suspect(target_id x) {
  if (x == worker_target && state_ == worker_state::up && core_.host.is_down(x))
    return lost(core_.host.end_of(x), "it is down");
  return {};
}

worker_change upstream::lost(actor_end how, const std::string& why) {
  stop_replacing();
  CAISSON_ENSURE(state_ == worker_state::up && !making_ && !ending_,
                 "worker {} is lost while it is {}", incarnation_,
                 name_of(state_));
  ++core_.totals.worker_losses;
  worker_change x;
  ending_ = supervised_ && how == actor_end::unknown
            && supervisor_.depends_on_end();
  if (!ending_)
    core_.host.forget_worker();
  if (ending_) {
    // What comes meanwhile waits.
    state_ = worker_state::restarting;
  } else if (supervised_) {
    x = follow_end(how, why);
  } else {
    state_ = worker_state::down;
    core_.layers.publish({.kind = event_kind::worker_changed,
                          .from = "up",
                          .to = "down",
                          .detail = why});
  }
  x.lost = worker_target;
  return x;
}

worker_change upstream::follow_end(actor_end how, const std::string& why) {
  return supervisor_.restarts_after(how) ? plan_restart(why)
                                         : end_for_good(why);
}

worker_change upstream::end_for_good(const std::string& why) {
  CAISSON_ENSURE(!making_ && state_ != worker_state::ended,
                 "worker {} ends, and is {}", incarnation_, name_of(state_));
  state_ = worker_state::ended;
  restart_at_ = never;
  supervisor_.on_ended();
  report_end();
  core_.layers.publish(
    {.kind = event_kind::worker_changed, .to = "ended", .detail = why});
  return {.fails_waiting = true};
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

worker_change upstream::plan_restart(const std::string& why) {
  CAISSON_ENSURE(supervised_ && !making_ && !ending_ && !replacing_,
                 "worker {} is to restart while it is {}", incarnation_,
                 name_of(state_));
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
  return {};
}

worker_change upstream::give_up(const std::string& why) {
  CAISSON_ENSURE(state_ != worker_state::given_up,
                 "worker {} is given up a second time", incarnation_);
  state_ = worker_state::given_up;
  restart_at_ = never;
  awaits_turn_ = making_ = ending_ = false;
  stop_replacing();
  ++incarnation_;
  if (grouped_)
    core_.host.send_to_group(member_state::gave_up, why);
  core_.layers.publish(
    {.kind = event_kind::worker_changed, .to = "given_up", .detail = why});
  worker_change x{.fails_waiting = true};
  if (supervisor_.config().on_give_up == give_up_action::quit)
    x.quits = why;
  return x;
}

// -- the group ----------------------------------------------------------------

worker_change upstream::follow_group(member_order what,
                                     const std::string& why) {
  // Nobody would start again what a group stops that has ended.
  if (!grouped_ || state_ == worker_state::given_up)
    return {};
  switch (what) {
    case member_order::stop:
      return stop(why);
    case member_order::start:
      if (awaits_turn_) {
        CAISSON_ENSURE(state_ == worker_state::restarting && !making_,
                       "worker {} waits for its turn, and is {}", incarnation_,
                       name_of(state_));
        return make();
      }
      if (state_ == worker_state::up)
        core_.host.send_to_group(member_state::up, {});
      else if (state_ == worker_state::ended)
        report_end();
      return {};
    case member_order::give_up: {
      auto was_up = state_ == worker_state::up;
      if (was_up || ending_)
        core_.host.stop_worker();
      auto x = give_up(why);
      if (was_up)
        x.lost = worker_target;
      return x;
    }
  }
  return {};
}

// Its own delay is over with the group's: it starts when its turn comes.
worker_change upstream::stop(const std::string& why) {
  stop_replacing();
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
  CAISSON_ENSURE(!ending_ && !replacing_, "worker {} is stopped, and ends",
                 incarnation_);
  worker_change x;
  auto detail = "with its group: " + why;
  if (!starts_again) {
    if (before == worker_state::ended)
      report_end();
    else
      x = end_for_good(detail);
  } else if (before != worker_state::restarting) {
    state_ = worker_state::restarting;
    core_.layers.publish({.kind = event_kind::worker_changed,
                          .to = "restarting",
                          .detail = detail});
  }
  if (before == worker_state::up)
    x.lost = worker_target;
  return x;
}

worker_change upstream::leave_group() {
  CAISSON_ENSURE(!awaits_turn_ || (grouped_ && !making_),
                 "worker {} waits for its turn, and is {}", incarnation_,
                 name_of(state_));
  grouped_ = false;
  return awaits_turn_ ? make() : worker_change{};
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

void upstream::check() const {
  auto comes = making_ + ending_ + awaits_turn_ + (restart_at_ != never);
  CAISSON_ENSURE(replacing_ ? comes <= 1
                            : comes == (state_ == worker_state::restarting),
                 "worker {} is {}, and is to come in {} ways", incarnation_,
                 name_of(state_), comes);
  CAISSON_ENSURE(!replacing_ || state_ == worker_state::up,
                 "worker {} is replaced, and is {}", incarnation_,
                 name_of(state_));
  CAISSON_ENSURE(
    !(ending_ || awaits_turn_) || state_ == worker_state::restarting,
    "worker {} waits to start, and is {}", incarnation_, name_of(state_));
  CAISSON_ENSURE(supervised_ || (comes == 0 && !grouped_),
                 "worker {} is to come, although it is not supervised",
                 incarnation_);
  CAISSON_ENSURE(grouped_ || !awaits_turn_,
                 "worker {} waits for its turn without a group", incarnation_);
}

// -- calls --------------------------------------------------------------------

next_step upstream::wait_or_fail(call_record& r) {
  if (state_ == worker_state::restarting)
    return wait(r);
  return next_step::ascend(r.depth - 1,
                           outcome::failure(errc::worker_down, false));
}

next_step upstream::wait(call_record& r) {
  if (waiting_.size() >= supervisor_.config().max_waiting) {
    // Unknown while a factory is at work on its own thread.
    auto wait = restart_at_ == never ? duration::zero()
                                     : time_until(restart_at_, core_.now());
    return next_step::ascend(r.depth - 1,
                             outcome::failure(errc::queue_full, false, wait));
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
  core_.schedule(r);
  return {};
}

call_record* upstream::pop_waiting() {
  if (waiting_.empty())
    return nullptr;
  auto id = waiting_.erase(waiting_.front());
  auto* r = core_.calls.find(id);
  CAISSON_ENSURE(r && r->where == phase::waiting,
                 "call {} is over, and waits for the worker", call_number(id));
  core_.calls.move_to(*r, phase::moving);
  CAISSON_ENSURE(waiting_.size() == core_.calls.in(phase::waiting),
                 "{} calls wait, and {} are counted", waiting_.size(),
                 core_.calls.in(phase::waiting));
  return r;
}

void upstream::stop_waiting(call_record& r) {
  CAISSON_ENSURE(r.where == phase::waiting && !waiting_.empty(),
                 "call {} waits for the worker while it is {}",
                 call_number(r.id), name_of(r.where));
  auto id = waiting_.erase(r.wait);
  CAISSON_ENSURE(id == r.id, "call {} waits in the place of call {}",
                 call_number(id), call_number(r.id));
}

// Also on the way to an engine's end: checks nothing.
void upstream::recall(const call_record& r, const outcome& why) {
  const auto& info = targets_[r.target].info;
  // One that was given the same deadline has noticed. Nothing is sent to a
  // worker unasked: most do not know the message.
  if (info.takes_cancelled
      && !(info.keeps_deadlines && why.is(errc::deadline_exceeded)))
    core_.host.send_cancelled(r.target, r.attempt_number);
}

} // namespace caisson::detail
