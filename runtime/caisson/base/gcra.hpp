// GCRA token bucket: the exact arithmetic of a rate limit, in integers.
//
// This is the generic cell rate algorithm in its form as a continuous-state
// leaky bucket (ITU-T I.371, annex A), counted from the other end: not what has
// flowed in, but what may still be taken. Rates such as 7 per minute have no
// interval of whole nanoseconds, so nothing is rounded to one: the balance is
// kept in units of which one token is worth `per` nanoseconds and each
// nanosecond brings `rate`.
#pragma once

#include <caisson/base/time.hpp>

#include <algorithm>
#include <cstdint>

namespace caisson {

/// A bucket of tokens that fills at a constant rate. `rate / per` must not
/// exceed one token per nanosecond. Time is passed in and may stand still or
/// step back; the bucket uses the latest instant that it has seen.
class gcra {
public:
  /// `rate` tokens per `per`, at most `burst` in store; all at least 1. The
  /// bucket is full at the start.
  gcra(std::int64_t rate, duration per, std::int64_t burst) noexcept
    : rate_(rate), per_(per.count()), burst_(burst), level_(capacity()) {}

  /// Brings the balance up to `now`. An instant before the latest one changes
  /// nothing.
  void advance(time_point now) noexcept {
    if (now <= at_)
      return;
    // A full bucket does not need the time that passed, which at the first call
    // has no beginning yet.
    if (level_ < capacity()) {
      auto next = level_ + brought_by(now);
      // A bucket that became full within the last nanosecond keeps the surplus:
      // without it, a source that takes each token at the first instant that
      // has it would lose a fraction of a nanosecond each time.
      level_ = next < capacity() + rate_ ? next : capacity();
    } else {
      level_ = capacity();
    }
    at_ = now;
  }

  /// Takes `n` tokens if they are there.
  bool take(std::int64_t n) noexcept {
    if (level_ < worth(n))
      return false;
    level_ -= worth(n);
    return true;
  }

  /// Takes `n` tokens; if they are not there, the next ones go to make up for
  /// them.
  void take_in_any_case(std::int64_t n) noexcept { level_ -= worth(n); }

  /// As below; it does not matter when they were taken.
  void put_back(std::int64_t n, time_point /*taken*/, time_point now) noexcept {
    put_back(n, now);
  }

  /// Puts `n` tokens back at `now`, but never fills the bucket above `burst`.
  /// Does nothing while `drain` holds the bucket empty.
  void put_back(std::int64_t n, time_point now) noexcept {
    if (now < held_until_ || level_ >= capacity())
      return;
    level_ = std::min(level_ + worth(n), capacity());
  }

  /// Empties the bucket; it fills again from `until` on, or from the end of an
  /// earlier drain if that is later. What was taken of later tokens stays
  /// taken.
  void drain(time_point until) noexcept {
    level_ = std::min<wide>(level_, 0);
    held_until_ = std::max(held_until_, until);
    at_ = std::max(at_, held_until_);
  }

  /// Fills the bucket and lifts a drain.
  void fill(time_point now) noexcept {
    level_ = capacity();
    held_until_ = time_point::min();
    at_ = now;
  }

  /// The first instant at which `n` tokens in total have arrived, including
  /// those in the bucket, if no others are taken: if `n` includes the tokens of
  /// the waiting calls, the turn of the last in the queue. `n` may exceed
  /// `burst`. An instant that has passed if the tokens are there.
  [[nodiscard]] time_point ready_at(std::int64_t n) const noexcept {
    auto missing = worth(n) - level_;
    if (missing <= 0)
      return at_;
    auto t = (missing + rate_ - 1) / rate_ + at_.time_since_epoch().count();
    if (t >= never.time_since_epoch().count())
      return never;
    return time_point{duration{static_cast<std::int64_t>(t)}};
  }

  /// When it is full, if nobody takes any.
  [[nodiscard]] time_point full_at() const noexcept { return ready_at(burst_); }

  /// The most that can be taken at once.
  [[nodiscard]] std::int64_t heaviest() const noexcept { return burst_; }

  /// Whole tokens in store as of the latest instant seen.
  [[nodiscard]] std::int64_t tokens() const noexcept {
    return static_cast<std::int64_t>(level_ / per_);
  }

  /// Changes the numbers from the latest instant on; the tokens in store stay,
  /// except those above the new `burst`.
  void reshape(std::int64_t rate, duration per, std::int64_t burst) noexcept {
    auto whole = level_ / per_;
    auto rest = level_ % per_;
    level_ = whole * per.count() + rest * per.count() / per_;
    rate_ = rate;
    per_ = per.count();
    burst_ = burst;
    level_ = std::min(level_, capacity());
  }

  friend bool operator==(const gcra&, const gcra&) = default;

private:
  __extension__ using wide = __int128;

  [[nodiscard]] wide worth(std::int64_t n) const noexcept {
    return wide{n} * per_;
  }

  [[nodiscard]] wide capacity() const noexcept { return worth(burst_); }

  // What the time from `at_` to `now`, which is later, brings. The difference
  // fits into 64 bits without a sign, which is one multiplication.
  [[nodiscard]] wide brought_by(time_point now) const noexcept {
    auto ns = [](time_point t) {
      return static_cast<std::uint64_t>(t.time_since_epoch().count());
    };
    return wide{ns(now) - ns(at_)} * wide{static_cast<std::uint64_t>(rate_)};
  }

  std::int64_t rate_;
  std::int64_t per_;
  std::int64_t burst_;
  wide level_;
  time_point at_ = time_point::min();
  time_point held_until_ = time_point::min();
};

} // namespace caisson
