// What frames each handler of a gate, and the arrival of messages.
#include <caisson/detail/gate_actor.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace caisson::detail {

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
  // A thread of its own serves the real clock, and telling it something costs
  // about as much as a call. So the timer is not taken back when what it was
  // set for is over: it goes off once in vain. It does not keep the gate alive.
  // In virtual time it is taken back, so that tests can see that none is left.
  if (next < armed_ || (exact_timers_ && next == never && armed_ != never)) {
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

// A function of the user's is code that nobody here has seen: its text is cut.
std::string gate_actor::note_failure(std::size_t layer,
                                     std::string_view function,
                                     std::string_view what) {
  constexpr std::size_t longest = 512;
  ++totals_.callbacks_failed;
  auto text = fmt::format("{}: {}", function, what.substr(0, longest));
  publish(layer, {.kind = event_kind::callback_failed, .detail = text});
  return text;
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

// Refuses options that no gate sends, and calls that go round in circles.
bool gate_actor::unfit(rt::reply_to& from, const call_options& o) {
  auto invalid = [&](std::string text) {
    ++totals_.refused_invalid;
    refuse(from, errc::invalid_config, std::move(text));
    return true;
  };
  if (o.deadline_ns != 0 && rt::is_remote(system(), from.sender()))
    return invalid("a deadline of another node's clock; give time_left");
  if (o.key.size() > max_key_length)
    return invalid("the key is too long");
  if (o.path.size() < max_path_length
      && std::find(o.path.begin(), o.path.end(), path_key_) == o.path.end())
    return false;
  ++totals_.refused_loop;
  refuse(from, errc::call_loop,
         o.path.size() < max_path_length
           ? "the call has passed this gate before"
           : "the call has passed as many gates as it may");
  return true;
}

void gate_actor::start_call(rt::reply_to from, caf::message payload,
                            call_options* options) {
  ++totals_.calls;
  if (!from.wanted())
    ++totals_.plain_sends;
  if (turned_away(from))
    return;
  if (options && unfit(from, *options))
    return;
  auto& r = calls_.take();
  r.from = std::move(from);
  r.payload = std::move(payload);
  use_default_deadline(r);
  if (options) {
    r.path = std::move(options->path);
    if (!set_deadline(r, *options)) {
      ++totals_.expired_on_arrival;
      return finish(r, outcome::failure(errc::deadline_exceeded, false));
    }
  }
  enter(r);
}

void gate_actor::use_default_deadline(call_record& r) {
  r.deadline = after(env_.now, config_.default_deadline);
  r.default_deadline = r.deadline != never;
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
  r.default_deadline = false;
  return r.deadline > env_.now;
}

void gate_actor::start_acquire(rt::reply_to from, const acquire& what) {
  ++totals_.acquires;
  // Nobody to give the permit to.
  if (!from.wanted())
    return;
  if (turned_away(from))
    return;
  if (what.key.size() > max_key_length) {
    ++totals_.refused_invalid;
    return refuse(from, errc::invalid_config, "the key is too long");
  }
  auto& r = calls_.take();
  r.from = std::move(from);
  r.lease = true;
  r.permits = std::max<std::uint32_t>(what.permits, 1);
  r.priority = what.priority;
  r.key = what.key;
  if (what.time_left > duration::zero())
    r.deadline = after(env_.now, what.time_left);
  else
    use_default_deadline(r);
  enter(r);
}

void gate_actor::enter(call_record& r) {
  r.arrived = env_.now;
  if (!self_)
    self_ = caf::strong_actor_ptr{ctrl()};
  if (r.from.wanted() && r.from.sender())
    calls_.index(r);
  descend(r, 0);
}

void gate_actor::end_lease(rt::reply_to from, const release& what) {
  auto i = permits_.find(what.id);
  auto* r = i != permits_.end() ? calls_.find(i->second) : nullptr;
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
  land(*r);
  set_reached(*r);
  ascend(*r, static_cast<int>(layers_.size()) - 1, o);
}

} // namespace caisson::detail
