// Sliding-window counter: a rate limit over a window that moves with time.
#pragma once

#include <caisson/base/window_count.hpp>

#include <algorithm>
#include <cstdint>

namespace caisson {

/// At most about `rate` tokens in any span of `per`: it counts in windows that
/// follow one another, and takes the part of the one before that lies within
/// the last `per` as spread evenly over it. So two numbers do for what a log of
/// all calls would take; a span that cuts through a burst can have up to twice
/// `rate`, as a fixed window can, but what follows is held back for it. The
/// arithmetic is exact.
class sliding_window : public detail::window_count {
public:
  /// Both are at least 1.
  sliding_window(std::int64_t rate, duration per) noexcept
    : window_count(rate, per) {}

  /// Takes `n` tokens if they are there.
  bool take(std::int64_t n) noexcept {
    if (at_ < begin_ || !fits(n))
      return false;
    used_ += n;
    return true;
  }

  /// Gives back `n` tokens that were taken at `taken`: lost if that was before
  /// a drain, or in a window before the two that count.
  void put_back(std::int64_t n, time_point taken) noexcept {
    if (taken < counts_from_ || (taken < begin_ && begin_ - taken > per_))
      return;
    n -= paid(n);
    auto& count = taken >= begin_ ? used_ : before_;
    count = std::max<std::int64_t>(count - n, 0);
  }

  /// When `n` tokens can be taken, after `ahead` others; an instant that has
  /// passed if they are there. Exact without others; behind some, it can come
  /// `per / rate` later for each window in between.
  /// @pre n <= heaviest()
  [[nodiscard]] time_point ready_at(std::int64_t ahead,
                                    std::int64_t n) const noexcept {
    auto total = detail::wide{ahead} + n;
    if (ahead == 0 || total <= rate_ - used_)
      return detail::instant_of(first_fit(static_cast<std::int64_t>(total)));
    // The rest of this window, and then `rate` evenly in each window.
    auto later = total + owed_ - left();
    return detail::instant_of(
      detail::wide_ns(begin_) + per_.count()
      + detail::divided_up(later * per_.count(), rate_));
  }

  /// When it is as if nothing had been taken.
  [[nodiscard]] time_point full_at() const noexcept {
    auto windows = detail::divided_up(owed_, rate_)
                   + (used_ > 0     ? 2
                      : before_ > 0 ? 1
                                    : 0);
    return detail::instant_of(detail::wide_ns(begin_) + windows * per_.count());
  }

  /// How many whole tokens are there.
  [[nodiscard]] std::int64_t tokens() const noexcept {
    if (at_ < begin_)
      return 0;
    auto counted = detail::divided_up(weight_before(), per_.count());
    auto whole = detail::wide{rate_} - used_ - counted;
    return static_cast<std::int64_t>(std::max<detail::wide>(whole, 0));
  }

  friend bool operator==(const sliding_window&, const sliding_window&)
    = default;

private:
  // What counts of the window before, times `per`.
  [[nodiscard]] detail::wide weight_before() const noexcept {
    return detail::wide{before_} * (per_ - (at_ - begin_)).count();
  }

  [[nodiscard]] bool fits(std::int64_t n) const noexcept {
    return weight_before() <= (detail::wide{rate_} - used_ - n) * per_.count();
  }

  // When `n` tokens fit if no others are taken, in nanoseconds.
  [[nodiscard]] detail::wide first_fit(std::int64_t n) const noexcept {
    auto begin = detail::wide_ns(begin_);
    auto now = detail::wide_ns(std::max(at_, begin_));
    if (n <= rate_ - used_)
      return std::max(now, begin + until_fit(before_, rate_ - used_ - n));
    // What is owed takes whole windows, and a part of the one after them.
    auto whole = owed_ / rate_;
    auto part = owed_ % rate_;
    begin += (detail::wide{whole} + 1) * per_.count();
    if (n <= rate_ - part)
      return begin + until_fit(whole > 0 ? rate_ : used_, rate_ - part - n);
    return begin + per_.count() + until_fit(part, rate_ - n);
  }

  // How far into a window no more than `free` of the one before it counts.
  [[nodiscard]] detail::wide until_fit(std::int64_t before,
                                       std::int64_t free) const noexcept {
    if (before <= free)
      return 0;
    return detail::divided_up(detail::wide{before - free} * per_.count(),
                              before);
  }
};

} // namespace caisson
