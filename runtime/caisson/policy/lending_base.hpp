// The base of policies that lend permits to calls, which wait for them.
#pragma once

#include <caisson/base/ensure.hpp>
#include <caisson/policy/policy_base.hpp>
#include <caisson/policy/wait_times.hpp>
#include <caisson/policy/waiting_queue.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace caisson::detail {

/// Keeps the calls that wait for permits, and grants them in turn. No call
/// overtakes the one whose turn it is: if that does not fit, the others wait
/// as well, although some might fit.
///
/// `Config` has `max_waiters`, `max_wait` and `order`. `Counter` has `queued`,
/// `granted`, `queue_full`, `evicted`, `outgrown`, `timed_out` and `gave_up`.
/// `Derived` lets this class use, in addition to what `policy_base` asks for:
///
///     // Whether so many more permits can be lent now.
///     bool fits(std::uint32_t permits) const noexcept;
///     // Where the notes on a call say how it waits.
///     static stay& stay_of(slot& notes);
///     // The call begins to wait. Returns what the queue is to note on it.
///     std::uint32_t begin_wait(slot& notes);
///     // A call that waited gets its permits.
///     void lend_to(const waiter& w, env& e);
///     // A call leaves the queue without permits.
///     void end_wait(const waiter& w);
///     // All who could get permits have them.
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
    : base(std::move(c)), waiting_(this->config_.order) {}

  /// A call that does not get its permits at once: it waits or is refused.
  decision enqueue(const call_info& call, slot& notes, env& e);

  /// If the call waits, it leaves the queue, because it was cut off. Returns
  /// whether it did.
  bool give_up_wait(const call_info& call, slot& notes, env& e);

  /// Grants permits, in turn, as long as there are enough.
  void serve(env& e);

  /// A call releases its permits.
  void give_back(std::uint32_t permits);

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

  void turn_away(const waiter& w, Counter why, env& e);
  decision refuse_waiter(const waiter& w, Counter why, errc code, env& e);
};

// -- implementation -----------------------------------------------------------

template <class Derived, class Config, class Counter>
decision lending_base<Derived, Config, Counter>::enqueue(const call_info& call,
                                                         slot& notes, env& e) {
  const auto& c = this->config_;
  if (c.max_waiters == 0)
    return this->refuse(Counter::queue_full, errc::queue_full, call.id, e);
  if (waiting_.size() >= c.max_waiters) {
    if (c.order == wait_order::fifo)
      return this->refuse(Counter::queue_full, errc::queue_full, call.id, e);
    // One out for one in: a queue that is too long since `max_waiters` was
    // lowered does not grow, and shrinks only as its calls are served.
    turn_away(waiting_.take_oldest(), Counter::evicted, e);
  }
  auto& s = Derived::stay_of(notes);
  CAISSON_ENSURE(!waiting_.newcomer_is_next() || !self().fits(s.permits),
                 "a call of weight {} waits while {} permits are in use",
                 s.permits, in_use_);
  this->count(Counter::queued);
  waiting_.join(call.id, s, e.now, self().begin_wait(notes));
  e.emit_wait(call.id, static_cast<std::size_t>(in_use_), waiting_.size());
  return decision::hold(time_after(e.now, c.max_wait));
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
void lending_base<Derived, Config, Counter>::serve(env& e) {
  while (!waiting_.empty() && self().fits(waiting_.next().permits)) {
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
void lending_base<Derived, Config, Counter>::give_back(std::uint32_t permits) {
  CAISSON_ENSURE(permits > 0 && in_use_ >= permits,
                 "{} permits come back, {} are in use", permits, in_use_);
  in_use_ -= permits;
}

template <class Derived, class Config, class Counter>
void lending_base<Derived, Config, Counter>::adapt_queue(std::uint32_t most,
                                                         env& e) {
  waiting_.reorder(this->config_.order);
  waiting_.take_heavier(
    most, [&](const waiter& w) { turn_away(w, Counter::outgrown, e); });
  serve(e);
}

template <class Derived, class Config, class Counter>
void lending_base<Derived, Config, Counter>::turn_away(const waiter& w,
                                                       Counter why, env& e) {
  e.reject(w.call, errc::queue_full);
  refuse_waiter(w, why, errc::queue_full, e);
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

template <class Derived, class Config, class Counter>
decision lending_base<Derived, Config, Counter>::expire(call_info& call,
                                                        slot& notes, env& e) {
  auto& s = Derived::stay_of(notes);
  // A grant at the same instant wins: the call has its permits.
  if (!waiting_.waits(s, call.id))
    return decision::pass();
  auto w = waiting_.leave(s);
  // Those behind a heavy call may fit now that it is gone.
  serve(e);
  return refuse_waiter(w, Counter::timed_out, errc::wait_timeout, e);
}

} // namespace caisson::detail
