// A rate limit that spaces calls evenly.
#pragma once

#include <caisson/base/wide_time.hpp>

#include <algorithm>
#include <cstdint>

namespace caisson {

/// A leaky bucket used as a queue: after `n` tokens none can be taken for `n`
/// times `per / rate`. Nothing is stored up while nobody takes any. Intervals
/// need not be whole nanoseconds: the next instant is kept in parts of one, of
/// which a nanosecond has `rate`. Time as in `window_count`.
class leaky_bucket {
public:
  /// Both are at least 1.
  leaky_bucket(std::int64_t rate, duration per) noexcept
    : rate_(rate), per_(per.count()), next_(parts(at_)) {}

  void advance(time_point now) noexcept {
    if (now <= at_)
      return;
    if (at_ == time_point::min())
      next_ = parts(now);
    at_ = now;
  }

  /// Takes `n` tokens if nothing of an earlier call is left.
  bool take(std::int64_t n) noexcept {
    if (parts(at_) < next_)
      return false;
    take_in_any_case(n);
    return true;
  }

  /// Takes `n` tokens even if something is left.
  void take_in_any_case(std::int64_t n) noexcept {
    next_ = first() + detail::wide{n} * per_;
  }

  /// Gives back `n` tokens: the next call can go that much earlier, but not
  /// before the end of a drain.
  void put_back(std::int64_t n) noexcept {
    auto earliest = parts(std::max(at_, held_until_));
    next_ = std::max(next_ - detail::wide{n} * per_, std::min(next_, earliest));
  }

  /// There are no tokens until then, or the end of an earlier drain.
  void drain(time_point until) noexcept {
    held_until_ = std::max(held_until_, until);
    next_ = std::max(next_, parts(held_until_));
  }

  /// As new.
  void fill(time_point now) noexcept {
    at_ = now;
    held_until_ = time_point::min();
    next_ = parts(now);
  }

  /// When `n` tokens can be taken, after `ahead` others; an instant that has
  /// passed if they are there.
  [[nodiscard]] time_point ready_at(std::int64_t ahead,
                                    std::int64_t) const noexcept {
    auto free = first() + detail::wide{ahead} * per_;
    return std::max(at_, detail::instant_of(detail::divided_up(free, rate_)));
  }

  /// When it is as if nothing had been taken.
  [[nodiscard]] time_point full_at() const noexcept { return ready_at(0, 1); }

  /// 1 if a call can go, else 0.
  [[nodiscard]] std::int64_t tokens() const noexcept {
    return parts(at_) >= next_ ? 1 : 0;
  }

  /// Changes the numbers from the next call on.
  void reshape(std::int64_t rate, duration per) noexcept {
    next_ = detail::divided_up(next_, rate_) * rate;
    rate_ = rate;
    per_ = per.count();
  }

  friend bool operator==(const leaky_bucket&, const leaky_bucket&) = default;

private:
  // When the next call goes if it comes as soon as it can. Who comes at the
  // first nanosecond that is not too early is not late.
  [[nodiscard]] detail::wide first() const noexcept {
    auto now = parts(at_);
    return now - next_ < rate_ ? next_ : now;
  }

  [[nodiscard]] detail::wide parts(time_point t) const noexcept {
    return detail::wide_ns(t) * rate_;
  }

  std::int64_t rate_;
  std::int64_t per_;
  time_point at_ = time_point::min();
  time_point held_until_ = time_point::min();
  /// When the next call can go.
  detail::wide next_;
};

} // namespace caisson
