// What frames each handler of a gate, and the arrival of messages.
#include <caisson/detail/gate_actor.hpp>

#include <algorithm>

namespace caisson::detail {

namespace {

constexpr auto longest_sleep = std::chrono::milliseconds(100);

} // namespace

// -- one handler --------------------------------------------------------------

void gate_actor::begin() {
  env_.now = clock().now();
  // The clock's message may be behind others in the mailbox. What is overdue
  // comes first, so that an answer that comes at or after its deadline is late
  // whatever the order in which the two arrive.
  if (armed_ <= env_.now)
    run_due();
}

void gate_actor::end() {
  run_due();
  finish_drain();
  rearm();
  if (calls_.live() == 0)
    self_ = nullptr;
}

void gate_actor::run_due() {
  for (;;) {
    if (!requests_.empty()) {
      auto next = requests_.front();
      requests_.pop_front();
      carry_out(next);
      continue;
    }
    auto wake = never;
    std::size_t who = 0;
    for (std::size_t i = 0; i < layers_.size(); ++i)
      if (layers_[i].wake_at < wake)
        wake = layers_[i].wake_at, who = i;
    auto due = std::min({timers_.next(), wake, restart_at_});
    if (due > env_.now || due == never)
      return;
    // At the same instant: calls (deadlines among them), policies, the worker.
    if (timers_.next() == due) {
      if (auto* r = calls_.at(*timers_.pop_due(env_.now))) {
        r->timer_at = never;
        fire(*r);
      }
    } else if (wake == due) {
      turn_of(who).wake(env_);
      turn_over(who);
    } else {
      restart_at_ = never;
      start_worker();
    }
  }
}

void gate_actor::rearm() {
  auto next = std::min(timers_.next(), restart_at_);
  for (const auto& x : layers_)
    next = std::min(next, x.wake_at);
  if (exact_timers_) {
    if (next < armed_ || (next == never && armed_ != never)) {
      armed_ = next;
      set_timer(next);
    }
    return;
  }
  // A thread of its own serves the real clock, and telling it something costs
  // about as much as a call. So the timer is not taken back when nothing is due
  // any more: it goes off once in vain. It is never set for later than a moment
  // from now, because until then it keeps an idle gate alive.
  if (next == never)
    return;
  next = std::min(next, after(env_.now, longest_sleep));
  if (next < armed_) {
    armed_ = next;
    set_timer(next);
  }
}

void gate_actor::on_timer() {
  if (stopped_)
    return;
  armed_ = never;
  begin();
  end();
}

void gate_actor::turn_over(std::size_t layer) {
  auto& x = layers_[layer];
  x.wake_at = x.machine->wakeup();
  for (auto& a : env_.actions)
    requests_.push_back({layer, a});
  env_.actions.clear();
}

// -- arrival ------------------------------------------------------------------

void gate_actor::on_message(rt::reply_to from, caf::message content) {
  begin();
  if (rt::holds<call>(content)) {
    auto envelope = rt::take<call>(content);
    start_call(std::move(from), std::move(envelope.payload), &envelope.options);
  } else if (auto* a = rt::get_if<acquire>(content)) {
    start_acquire(std::move(from), *a);
  } else if (auto* r = rt::get_if<release>(content)) {
    end_lease(std::move(from), *r);
  } else if (rt::holds<drain>(content)) {
    start_drain(std::move(from));
  } else {
    start_call(std::move(from), std::move(content), nullptr);
  }
  end();
}

void gate_actor::refuse(rt::reply_to& from, errc code, std::string text) {
  from.answer(this, caf::make_message(
                      make_error(code, rejection{config_.name, duration::zero(),
                                                 false, std::move(text)})));
}

// Refuses what may not come in at all.
bool gate_actor::turned_away(rt::reply_to& from) {
  if (draining_) {
    ++totals_.refused_draining;
    refuse(from, errc::draining);
    return true;
  }
  if (calls_.live() >= config_.max_calls) {
    ++totals_.refused_full;
    refuse(from, errc::shed, "the gate holds as many calls as it may");
    return true;
  }
  return false;
}

void gate_actor::start_call(rt::reply_to from, caf::message payload,
                            const call_options* options) {
  ++totals_.calls;
  if (!from.wanted())
    ++totals_.plain_sends;
  if (turned_away(from))
    return;
  if (options && options->deadline_ns != 0
      && rt::is_remote(system(), from.sender())) {
    ++totals_.refused_invalid;
    return refuse(from, errc::invalid_config,
                  "a deadline of another node's clock; give time_left");
  }
  auto& r = calls_.take();
  r.from = std::move(from);
  r.payload = std::move(payload);
  r.deadline = after(env_.now, config_.default_deadline);
  if (options && !set_deadline(r, *options)) {
    ++totals_.expired_on_arrival;
    return finish(r, outcome::failure(errc::deadline_exceeded, false));
  }
  enter(r);
}

bool gate_actor::set_deadline(call_record& r, const call_options& o) {
  r.priority = o.priority;
  r.permits = std::max<std::uint32_t>(o.permits, 1);
  r.attempt = std::max<std::uint32_t>(o.attempt, 1);
  r.idempotent = o.idempotent == 1   ? idempotence::yes
                 : o.idempotent == 2 ? idempotence::no
                                     : idempotence::unmarked;
  r.key = o.key;
  if (o.deadline_ns == 0 && o.time_left == duration::zero())
    return true;
  auto deadline = never;
  if (o.time_left != duration::zero())
    deadline = after(env_.now, o.time_left);
  if (o.deadline_ns != 0)
    deadline = std::min(deadline, time_point{duration{o.deadline_ns}});
  r.deadline = deadline;
  return r.deadline > env_.now;
}

void gate_actor::start_acquire(rt::reply_to from, const acquire& what) {
  ++totals_.acquires;
  // Nobody to give the permit to.
  if (!from.wanted())
    return;
  if (turned_away(from))
    return;
  auto& r = calls_.take();
  r.from = std::move(from);
  r.lease = true;
  r.permits = std::max<std::uint32_t>(what.permits, 1);
  r.priority = what.priority;
  r.key = what.key;
  r.deadline = after(env_.now, what.time_left > duration::zero()
                                 ? what.time_left
                                 : config_.default_deadline);
  enter(r);
}

void gate_actor::enter(call_record& r) {
  r.arrived = env_.now;
  if (!self_)
    self_ = caf::strong_actor_ptr{ctrl()};
  descend(r, 0);
}

void gate_actor::end_lease(rt::reply_to from, const release& what) {
  auto* r = calls_.find(what.id);
  if (!r || r->where != phase::leased) {
    ++totals_.no_such_permit;
    return refuse(from, errc::no_such_permit);
  }
  auto o = outcome::success();
  if (what.failed) {
    o.ok = false;
    o.code = 1;
    o.category = category_hash("holder");
  }
  from.answer(this, caf::message{});
  r->where = phase::moving;
  ascend(*r, static_cast<int>(layers_.size()) - 1, o);
}

} // namespace caisson::detail
