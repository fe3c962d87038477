// The base of policies that lend permits to calls, which wait for them.
#pragma once

#include <caisson/base/ensure.hpp>
#include <caisson/policy/call_number.hpp>
#include <caisson/policy/hold_meter.hpp>
#include <caisson/policy/partitioned_limit.hpp>
#include <caisson/policy/policy_base.hpp>
#include <caisson/policy/wait_times.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace caisson::detail {

/// Keeps the calls that wait for permits, and grants them in turn. No call
/// overtakes the one whose turn it is: if that does not fit, the others wait
/// as well, although some might fit. `partitioned_limit` says whose turn it is.
///
/// `Config` has `max_waiters`, `max_wait`, `order`, `queue` and `partitions`.
/// `Counter` has `too_heavy`, `queued`, `granted`, `queue_full`, `delayed`,
/// `evicted`, `outgrown`, `timed_out`, `gave_up`, `shed`, `hopeless` and
/// `out_of_time`.
/// `Derived` lets this class use, in addition to what `policy_base` asks for:
///
///     // How many more permits a call can get now.
///     std::int64_t free() const noexcept;
///     // How many permits there are, and how many there can be at most.
///     std::int64_t limit() const noexcept;
///     std::uint32_t most() const noexcept;
///     // Where the notes on a call say how it waits.
///     static stay& stay_of(slot& notes);
///     // The call, whose turn it is, gets its permits at once.
///     decision pass_down(slot& notes, env& e);
///     // It does not.
///     void must_wait();
///     // The call begins to wait. Returns what the queue is to note on it.
///     std::uint32_t begin_wait(slot& notes);
///     // A call that waited has its permits.
///     void lent_to(const waiter& w, env& e);
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
  using stay = partitioned_limit::stay;
  using waiter = partitioned_limit::entry;

  explicit lending_base(Config c)
    : base(std::move(c)), permits_(this->config_.order, this->config_.queue,
                                   this->config_.partitions),
      measures_(this->config_.queue.reject_hopeless) {}

  /// A call whose notes say how much it weighs gets its permits, waits for them
  /// or is refused.
  decision ask(const call_info& call, slot& notes, env& e);

  /// If the call has no permits, because it waits or its rejection is delayed,
  /// it leaves, because it was cut off. Returns whether it did.
  bool give_up_wait(const call_info& call, slot& notes, env& e);

  /// Grants permits, in turn, as long as there are enough.
  void serve(env& e) {
    if (permits_.waiting() == 0)
      return;
    serve_waiting(e);
    note_idle();
  }

  /// A call gets its permits.
  void take_permits(const stay& s, time_point now) {
    if (measures_)
      meter_.advance(now, in_use());
    permits_.lend(s);
  }

  /// A call releases its permits.
  void give_back(const call_info& call, const stay& s, time_point now) {
    CAISSON_ENSURE(s.permits > 0 && in_use() >= s.permits,
                   "{} permits come back, {} are in use", s.permits, in_use());
    if (measures_) {
      meter_.advance(now, in_use());
      meter_.returned(s.permits, in_use());
    }
    permits_.give_back(s, call.id);
    note_idle();
  }

  /// What was measured is forgotten.
  void forget_queue(env& e) {
    measures_ = this->config_.queue.reject_hopeless;
    meter_.restart(e.now);
  }

  /// The settings have changed; calls that are too heavy by now could never
  /// run.
  void adapt_queue(env& e);

  /// How many permits are lent.
  [[nodiscard]] std::int64_t in_use() const noexcept {
    return permits_.in_use();
  }

  /// Whether so many more permits can be lent.
  [[nodiscard]] bool fits(std::uint32_t permits) const noexcept {
    return permits <= self().free();
  }

  void list_queue(std::vector<metric>& out) const;

  partitioned_limit permits_;
  wait_times waits_;

private:
  [[nodiscard]] Derived& self() noexcept {
    return static_cast<Derived&>(*this);
  }

  [[nodiscard]] const Derived& self() const noexcept {
    return static_cast<const Derived&>(*this);
  }

  // Perhaps a permit is free, and nobody waits for it.
  void note_idle() noexcept { permits_.note_idle(self().free()); }

  // The limit may be another one, and the guaranteed parts with it.
  void resize_parts() {
    permits_.resize(self().limit(), self().most(), this->config_.max_waiters);
  }

  void end_delay() {
    CAISSON_ENSURE(delayed_ > 0, "one of {} delayed rejections ends", delayed_);
    --delayed_;
  }

  decision enqueue(const call_info& call, slot& notes, env& e);
  decision refuse_newcomer(const call_info& call, stay& s, env& e);
  void serve_waiting(env& e);
  bool refuse_if_due(partitioned_limit::part p, env& e);
  decision hold(const waiter& w, time_point deadline, time_point now);
  void reject_waiter(const waiter& w, Counter why, errc code, env& e);
  decision refuse_waiter(const waiter& w, Counter why, errc code, env& e);

  [[nodiscard]] time_point latest_start(time_point deadline,
                                        time_point now) const noexcept;
  [[nodiscard]] time_point deadline_of(const waiter& w, const env& e) const;
  [[nodiscard]] duration wait_of(const call_info& call, const stay& s,
                                 time_point now) const;

  hold_meter meter_;
  // How many rejections are delayed at present.
  std::uint32_t delayed_ = 0;
  // Whether calls without hope are rejected.
  bool measures_;
};

// -- implementation -----------------------------------------------------------

template <class Derived, class Config, class Counter>
decision lending_base<Derived, Config, Counter>::ask(const call_info& call,
                                                     slot& notes, env& e) {
  auto& s = Derived::stay_of(notes);
  if (permits_.partitioned()) {
    resize_parts();
    if (!permits_.enter(call, s, e))
      return decision::reject(errc::callback_failed);
  }
  if (s.permits > self().most() || permits_.outgrows(s))
    return this->refuse(Counter::too_heavy, errc::queue_full, call.id, e);
  // Permits left free by a queue are kept for the call whose turn it is, which
  // may be the newcomer.
  if (!permits_.admits(call, s, self().free(), e.now)) {
    self().must_wait();
    return enqueue(call, notes, e);
  }
  auto d = self().pass_down(notes, e);
  // The next of its partition may have become a borrower, for whom others do
  // not wait.
  if (permits_.partitioned())
    serve(e);
  return d;
}

template <class Derived, class Config, class Counter>
decision lending_base<Derived, Config, Counter>::enqueue(const call_info& call,
                                                         slot& notes, env& e) {
  const auto& c = this->config_;
  auto& s = Derived::stay_of(notes);
  if (c.max_waiters == 0)
    return refuse_newcomer(call, s, e);
  if (auto latest = latest_start(call.deadline, e.now);
      latest != never && time_after(e.now, wait_of(call, s, e.now)) >= latest)
    return this->refuse(Counter::hopeless, errc::shed, call.id, e);
  if (permits_.is_full(s, c.max_waiters)) {
    // One out for one in: a queue that is too long since `max_waiters` was
    // lowered does not grow, and shrinks only as its calls are served.
    auto w = permits_.make_room(call, s, e.now);
    if (!w)
      return refuse_newcomer(call, s, e);
    reject_waiter(*w, Counter::evicted, errc::queue_full, e);
  }
  this->count(Counter::queued);
  permits_.join(call, s, e.now, time_after(e.now, c.max_wait),
                self().begin_wait(notes));
  e.emit_wait(call.id, static_cast<std::size_t>(in_use()), permits_.waiting());
  const auto* w = permits_.find(s, call.id);
  CAISSON_ENSURE(w && w->limit >= e.now, "call {} does not wait",
                 call_number(call.id));
  auto d = hold(*w, call.deadline, e.now);
  // Others may have waited for a call that it has replaced, or come before.
  if (permits_.partitioned())
    serve(e);
  CAISSON_ENSURE(permits_.next(self().free()) == partitioned_limit::none,
                 "a call of weight {} waits while {} permits are in use",
                 s.permits, in_use());
  return d;
}

// It finds no place to wait in.
template <class Derived, class Config, class Counter>
decision
lending_base<Derived, Config, Counter>::refuse_newcomer(const call_info& call,
                                                        stay& s, env& e) {
  auto d = this->refuse(Counter::queue_full, errc::queue_full, call.id, e);
  const auto& c = this->config_.partitions;
  auto until = time_after(e.now, c.reject_delay);
  if (c.reject_delay == duration::zero() || delayed_ >= c.max_delayed
      || call.deadline <= until || !permits_.is_over(s))
    return d;
  this->count(Counter::delayed);
  ++delayed_;
  s.delayed = true;
  CAISSON_ENSURE(!permits_.find(s, call.id), "a call that is rejected waits");
  return decision::hold(until);
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
  if (s.delayed) {
    end_delay();
    return true;
  }
  if (!permits_.find(s, call.id))
    return false;
  this->count(Counter::gave_up);
  auto w = permits_.leave(s, call.id);
  self().end_wait(w);
  waits_.refused(w.waited(e.now));
  return true;
}

template <class Derived, class Config, class Counter>
void lending_base<Derived, Config, Counter>::serve_waiting(env& e) {
  if (permits_.partitioned())
    resize_parts();
  for (;;) {
    auto p = permits_.next(self().free());
    if (p == partitioned_limit::none)
      break;
    if (refuse_if_due(p, e))
      continue;
    if (measures_)
      meter_.advance(e.now, in_use());
    auto w = permits_.take_next(p);
    self().lent_to(w, e);
    CAISSON_ENSURE(w.call != 0 && in_use() >= w.permits,
                   "a call of weight {} runs, {} permits are in use", w.permits,
                   in_use());
    this->count(Counter::granted);
    auto waited = w.waited(e.now);
    waits_.granted(waited);
    e.emit({.kind = event_kind::granted, .call = w.call, .delay = waited});
    e.resume(w.call);
  }
  self().all_served();
}

// Whether the call whose turn it is must not run any more; then it is refused.
template <class Derived, class Config, class Counter>
bool lending_base<Derived, Config, Counter>::refuse_if_due(
  partitioned_limit::part p, env& e) {
  if (measures_
      && e.now >= latest_start(deadline_of(permits_.next_of(p), e), e.now)) {
    reject_waiter(permits_.drop_next(p), Counter::out_of_time, errc::shed, e);
    return true;
  }
  if (permits_.sheds_next(p, e.now)) {
    reject_waiter(permits_.drop_next(p), Counter::shed, errc::shed, e);
    return true;
  }
  return false;
}

template <class Derived, class Config, class Counter>
void lending_base<Derived, Config, Counter>::adapt_queue(env& e) {
  const auto& c = this->config_;
  permits_.adapt(c.order, c.queue, c.partitions, e);
  resize_parts();
  if (measures_ != c.queue.reject_hopeless)
    forget_queue(e);
  permits_.take_heavier(self().most(), [&](const waiter& w) {
    reject_waiter(w, Counter::outgrown, errc::queue_full, e);
  });
  serve(e);
  note_idle();
}

template <class Derived, class Config, class Counter>
decision lending_base<Derived, Config, Counter>::expire(call_info& call,
                                                        slot& notes, env& e) {
  auto& s = Derived::stay_of(notes);
  if (s.delayed) {
    end_delay();
    return decision::reject(errc::queue_full);
  }
  // A grant at the same instant wins: the call has its permits.
  auto* waiting = permits_.find(s, call.id);
  if (!waiting)
    return decision::pass();
  auto in_time = e.now < waiting->limit;
  // Calls may have become faster since, or settings others.
  if (in_time && e.now < latest_start(call.deadline, e.now))
    return hold(*waiting, call.deadline, e.now);
  auto w = permits_.leave(s, call.id);
  CAISSON_ENSURE(w.call == call.id && w.permits == s.permits,
                 "call {} leaves, of weight {}, in place of call {}",
                 call_number(w.call), w.permits, call_number(call.id));
  // Those behind a heavy call may fit now that it is gone.
  serve(e);
  return in_time ? refuse_waiter(w, Counter::out_of_time, errc::shed, e)
                 : refuse_waiter(w, Counter::timed_out, errc::wait_timeout, e);
}

template <class Derived, class Config, class Counter>
void lending_base<Derived, Config, Counter>::list_queue(
  std::vector<metric>& out) const {
  out.push_back({"in_use", in_use(), true});
  out.push_back(
    {"waiting", static_cast<std::int64_t>(permits_.waiting()), true});
  permits_.list_gauges(self().limit(), out);
}

// -- refusals -----------------------------------------------------------------

template <class Derived, class Config, class Counter>
void lending_base<Derived, Config, Counter>::reject_waiter(const waiter& w,
                                                           Counter why,
                                                           errc code, env& e) {
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
  auto mean = meter_.mean(now, in_use());
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

// How long it takes until the permits for a newcomer and for those before it
// have come free, if each is lent for the mean time.
template <class Derived, class Config, class Counter>
duration lending_base<Derived, Config, Counter>::wait_of(const call_info& call,
                                                         const stay& s,
                                                         time_point now) const {
  auto room = permits_.capacity_of(s, self().limit());
  auto missing = permits_.weight_before(call, s, now) + s.permits - room.left;
  auto share = static_cast<double>(std::max<std::int64_t>(missing, 0))
               / static_cast<double>(room.permits);
  return duration_times(meter_.mean(now, in_use()).value_or(duration{}), share);
}

} // namespace caisson::detail
