// The base of policies that lend permits to calls, which wait for them.
#pragma once

#include <caisson/base/ensure.hpp>
#include <caisson/policy/hold_meter.hpp>
#include <caisson/policy/policy_base.hpp>
#include <caisson/policy/wait_times.hpp>
#include <caisson/policy/waiting_queue.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace caisson::detail {

/// Keeps the calls that wait for permits, and grants them in turn. No call
/// overtakes the one whose turn it is: if that does not fit, the others wait
/// as well, although some might fit.
///
/// `Config` has `max_waiters`, `max_wait`, `order` and `queue`. `Counter` has
/// `queued`, `granted`, `queue_full`, `evicted`, `outgrown`, `timed_out`,
/// `gave_up`, `shed`, `hopeless` and `out_of_time`.
/// `Derived` lets this class use, in addition to what `policy_base` asks for:
///
///     // Whether so many more permits can be lent now.
///     bool fits(std::uint32_t permits) const noexcept;
///     // How many permits there are.
///     std::int64_t limit() const noexcept;
///     // Where the notes on a call say how it waits.
///     static stay& stay_of(slot& notes);
///     // The call begins to wait. Returns what the queue is to note on it.
///     std::uint32_t begin_wait(slot& notes);
///     // A call that waited gets its permits.
///     void lend_to(const waiter& w, env& e);
///     // A call leaves the queue without permits.
///     void end_wait(const waiter& w);
///     // All who waited and could get permits have them.
///     void all_served();
template <class Derived, class Config, class Counter>
class lending_base : public policy_base<Derived, Config, Counter> {
  using base = policy_base<Derived, Config, Counter>;

public:
  decision expire(call_info& call, slot& notes, env& e) override;

protected:
  using stay = waiting_queue::stay;
  using waiter = waiting_queue::entry;

  explicit lending_base(Config c)
    : base(std::move(c)), waiting_(this->config_.order, this->config_.queue),
      measures_(this->config_.queue.reject_hopeless) {}

  /// A call that does not get its permits at once: it waits or is refused.
  decision enqueue(const call_info& call, slot& notes, env& e);

  /// If the call waits, it leaves the queue, because it was cut off. Returns
  /// whether it did.
  bool give_up_wait(const call_info& call, slot& notes, env& e);

  /// Grants permits, in turn, as long as there are enough.
  void serve(env& e) {
    if (waiting_.empty())
      return;
    serve_waiting(e);
    note_idle();
  }

  /// A call gets its permits.
  void take_permits(std::uint32_t permits, time_point now) noexcept {
    if (measures_)
      meter_.advance(now, in_use_);
    in_use_ += permits;
  }

  /// A call releases its permits.
  void give_back(std::uint32_t permits, time_point now) {
    CAISSON_ENSURE(permits > 0 && in_use_ >= permits,
                   "{} permits come back, {} are in use", permits, in_use_);
    if (measures_) {
      meter_.advance(now, in_use_);
      meter_.returned(permits, in_use_);
    }
    in_use_ -= permits;
    note_idle();
  }

  /// What was measured is forgotten.
  void forget_queue(env& e) {
    measures_ = this->config_.queue.reject_hopeless;
    meter_.restart(e.now);
  }

  /// The settings have changed; those heavier than `most` could never run.
  void adapt_queue(std::uint32_t most, env& e);

  waiting_queue waiting_;
  wait_times waits_;
  // May exceed the limit after that was lowered.
  std::int64_t in_use_ = 0;

private:
  [[nodiscard]] Derived& self() noexcept {
    return static_cast<Derived&>(*this);
  }

  // A permit is free, and nobody waits for it.
  void note_idle() noexcept {
    if (waiting_.empty() && self().fits(1))
      waiting_.idle();
  }

  void serve_waiting(env& e);
  decision hold(const waiter& w, time_point deadline, time_point now);
  void refuse_next(Counter why, errc code, env& e);
  void turn_away(const waiter& w, Counter why, errc code, env& e);
  decision refuse_waiter(const waiter& w, Counter why, errc code, env& e);

  [[nodiscard]] time_point latest_start(time_point deadline,
                                        time_point now) const noexcept;
  [[nodiscard]] time_point deadline_of(const waiter& w, const env& e) const;
  [[nodiscard]] duration wait_for(std::int64_t permits,
                                  time_point now) noexcept;

  hold_meter meter_;
  // Whether calls without hope are rejected.
  bool measures_;
};

// -- implementation -----------------------------------------------------------

template <class Derived, class Config, class Counter>
decision lending_base<Derived, Config, Counter>::enqueue(const call_info& call,
                                                         slot& notes, env& e) {
  const auto& c = this->config_;
  if (c.max_waiters == 0)
    return this->refuse(Counter::queue_full, errc::queue_full, call.id, e);
  auto& s = Derived::stay_of(notes);
  if (auto latest = latest_start(call.deadline, e.now); latest != never) {
    auto before = waiting_.weight_before(call, e.now);
    if (time_after(e.now, wait_for(before + s.permits, e.now)) >= latest)
      return this->refuse(Counter::hopeless, errc::shed, call.id, e);
  }
  if (waiting_.size() >= c.max_waiters) {
    // One out for one in: a queue that is too long since `max_waiters` was
    // lowered does not grow, and shrinks only as its calls are served.
    auto w = waiting_.make_room(call, e.now);
    if (!w)
      return this->refuse(Counter::queue_full, errc::queue_full, call.id, e);
    turn_away(*w, Counter::evicted, errc::queue_full, e);
  }
  this->count(Counter::queued);
  waiting_.join(call, s, e.now, time_after(e.now, c.max_wait),
                self().begin_wait(notes));
  CAISSON_ENSURE(waiting_.next().call != call.id || !self().fits(s.permits),
                 "a call of weight {} waits while {} permits are in use",
                 s.permits, in_use_);
  e.emit_wait(call.id, static_cast<std::size_t>(in_use_), waiting_.size());
  return hold(waiting_[s], call.deadline, e.now);
}

template <class Derived, class Config, class Counter>
decision lending_base<Derived, Config, Counter>::hold(const waiter& w,
                                                      time_point deadline,
                                                      time_point now) {
  return decision::hold(std::min(w.limit, latest_start(deadline, now)));
}

template <class Derived, class Config, class Counter>
bool lending_base<Derived, Config, Counter>::give_up_wait(const call_info& call,
                                                          slot& notes, env& e) {
  auto& s = Derived::stay_of(notes);
  if (!waiting_.waits(s, call.id))
    return false;
  this->count(Counter::gave_up);
  auto w = waiting_.leave(s);
  self().end_wait(w);
  waits_.refused(w.waited(e.now));
  return true;
}

template <class Derived, class Config, class Counter>
void lending_base<Derived, Config, Counter>::serve_waiting(env& e) {
  while (!waiting_.empty() && self().fits(waiting_.next().permits)) {
    if (measures_
        && e.now >= latest_start(deadline_of(waiting_.next(), e), e.now)) {
      refuse_next(Counter::out_of_time, errc::shed, e);
      continue;
    }
    if (waiting_.sheds_next(e.now)) {
      refuse_next(Counter::shed, errc::shed, e);
      continue;
    }
    auto w = waiting_.take_next();
    self().lend_to(w, e);
    CAISSON_ENSURE(w.call != 0 && in_use_ >= w.permits,
                   "a call of weight {} runs, {} permits are in use", w.permits,
                   in_use_);
    this->count(Counter::granted);
    auto waited = w.waited(e.now);
    waits_.granted(waited);
    e.emit({.kind = event_kind::granted, .call = w.call, .delay = waited});
    e.resume(w.call);
  }
  self().all_served();
}

template <class Derived, class Config, class Counter>
void lending_base<Derived, Config, Counter>::adapt_queue(std::uint32_t most,
                                                         env& e) {
  waiting_.reorder(this->config_.order, this->config_.queue, e.now);
  if (measures_ != this->config_.queue.reject_hopeless)
    forget_queue(e);
  waiting_.take_heavier(most, [&](const waiter& w) {
    turn_away(w, Counter::outgrown, errc::queue_full, e);
  });
  serve(e);
  note_idle();
}

template <class Derived, class Config, class Counter>
decision lending_base<Derived, Config, Counter>::expire(call_info& call,
                                                        slot& notes, env& e) {
  auto& s = Derived::stay_of(notes);
  // A grant at the same instant wins: the call has its permits.
  if (!waiting_.waits(s, call.id))
    return decision::pass();
  auto in_time = e.now < waiting_[s].limit;
  // Calls may have become faster since, or settings others.
  if (in_time && e.now < latest_start(call.deadline, e.now))
    return hold(waiting_[s], call.deadline, e.now);
  auto w = waiting_.leave(s);
  // Those behind a heavy call may fit now that it is gone.
  serve(e);
  return in_time ? refuse_waiter(w, Counter::out_of_time, errc::shed, e)
                 : refuse_waiter(w, Counter::timed_out, errc::wait_timeout, e);
}

// -- refusals -----------------------------------------------------------------

template <class Derived, class Config, class Counter>
void lending_base<Derived, Config, Counter>::refuse_next(Counter why, errc code,
                                                         env& e) {
  turn_away(waiting_.drop_next(), why, code, e);
}

template <class Derived, class Config, class Counter>
void lending_base<Derived, Config, Counter>::turn_away(const waiter& w,
                                                       Counter why, errc code,
                                                       env& e) {
  e.reject(w.call, code);
  refuse_waiter(w, why, code, e);
}

template <class Derived, class Config, class Counter>
decision lending_base<Derived, Config, Counter>::refuse_waiter(const waiter& w,
                                                               Counter why,
                                                               errc code,
                                                               env& e) {
  self().end_wait(w);
  auto waited = w.waited(e.now);
  waits_.refused(waited);
  return this->refuse(why, code, w.call, e, duration::zero(),
                      wait_text(waited));
}

// -- hope ---------------------------------------------------------------------

// From which instant on a call must not begin: it would probably not be
// answered before its deadline. `never` if that is not known or not asked.
template <class Derived, class Config, class Counter>
time_point lending_base<Derived, Config, Counter>::latest_start(
  time_point deadline, time_point now) const noexcept {
  if (!measures_ || deadline == never)
    return never;
  auto mean = meter_.mean(now, in_use_);
  // Calls that take no time can be answered until their deadline, and then the
  // host answers them.
  if (!mean || *mean == duration::zero())
    return never;
  // No instant is before the first.
  constexpr auto longest = std::chrono::hours(24 * 365);
  return deadline - std::min<duration>(*mean, longest);
}

// A call that others have joined may have more time than when it came.
template <class Derived, class Config, class Counter>
time_point
lending_base<Derived, Config, Counter>::deadline_of(const waiter& w,
                                                    const env& e) const {
  auto* call = e.find(w.call);
  return call ? call->deadline : w.deadline;
}

// How long it takes until so many permits have come free, if each is lent for
// the mean time.
template <class Derived, class Config, class Counter>
duration
lending_base<Derived, Config, Counter>::wait_for(std::int64_t permits,
                                                 time_point now) noexcept {
  auto limit = self().limit();
  auto missing = permits - std::max<std::int64_t>(limit - in_use_, 0);
  auto share = static_cast<double>(std::max<std::int64_t>(missing, 0))
               / static_cast<double>(limit);
  return duration_times(meter_.mean(now, in_use_).value_or(duration{}), share);
}

} // namespace caisson::detail
