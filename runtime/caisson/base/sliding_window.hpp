// A rate limit over a window that moves with time.
#pragma once

#include <caisson/base/wide_time.hpp>

#include <algorithm>
#include <cstdint>

namespace caisson {

/// At most about `rate` tokens in any span of `per`: it counts in windows that
/// follow one another, and takes the part of the one before that lies within
/// the last `per` as spread evenly over it. So two numbers do for what a log of
/// all calls would take; a span that cuts through a burst can have up to twice
/// `rate`, as a fixed window can, but what follows is held back for it. The
/// arithmetic is exact. Time as in `fixed_window`.
class sliding_window {
public:
  /// Both are at least 1.
  sliding_window(std::int64_t rate, duration per) noexcept
    : rate_(rate), per_(per) {}

  void advance(time_point now) noexcept {
    if (now <= at_)
      return;
    if (at_ == time_point::min())
      begin_ = now;
    at_ = now;
    roll();
  }

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
    if (taken < counts_from_)
      return;
    if (taken >= begin_)
      used_ = std::max<std::int64_t>(used_ - n, 0);
    else if (begin_ - taken <= per_)
      before_ = std::max<std::int64_t>(before_ - n, 0);
  }

  /// There are no tokens until then, or the end of an earlier drain if that is
  /// later; from then on they come as after a window that was used up.
  void drain(time_point until) noexcept {
    until = std::max(until, at_);
    if (at_ < begin_) {
      begin_ = counts_from_ = std::max(begin_, until);
    } else if (until - begin_ >= per_) {
      begin_ = counts_from_ = until;
      before_ = std::max(used_, rate_);
      used_ = 0;
    } else {
      used_ = std::max(used_, rate_);
      counts_from_ = time_after(begin_, per_);
    }
  }

  /// As new.
  void fill(time_point now) noexcept {
    begin_ = at_ = counts_from_ = now;
    before_ = used_ = 0;
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
    auto later = total - std::max<std::int64_t>(rate_ - used_, 0);
    return detail::instant_of(
      detail::wide_ns(begin_) + per_.count()
      + detail::divided_up(later * per_.count(), rate_));
  }

  /// When it is as if nothing had been taken.
  [[nodiscard]] time_point full_at() const noexcept {
    auto windows = used_ > 0 ? 2 : before_ > 0 ? 1 : 0;
    return detail::instant_of(detail::wide_ns(begin_)
                              + detail::wide{windows} * per_.count());
  }

  /// How many whole tokens are there.
  [[nodiscard]] std::int64_t tokens() const noexcept {
    if (at_ < begin_)
      return 0;
    auto counted = detail::divided_up(weight_before(), per_.count());
    auto left = detail::wide{rate_} - used_ - counted;
    return static_cast<std::int64_t>(std::max<detail::wide>(left, 0));
  }

  /// The most that can be taken at once.
  [[nodiscard]] std::int64_t heaviest() const noexcept { return rate_; }

  /// Changes the numbers. What was taken stays taken; a shorter window can be
  /// over.
  void reshape(std::int64_t rate, duration per) noexcept {
    rate_ = rate;
    per_ = per;
    if (at_ != time_point::min())
      roll();
  }

private:
  // The window of the latest instant.
  void roll() noexcept {
    if (at_ < begin_ || at_ - begin_ < per_)
      return;
    auto windows = (at_ - begin_) / per_;
    begin_ += windows * per_;
    before_ = windows == 1 ? used_ : 0;
    used_ = 0;
  }

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
    return begin + per_.count() + until_fit(used_, rate_ - n);
  }

  // How far into a window no more than `free` of the one before it counts.
  [[nodiscard]] detail::wide until_fit(std::int64_t before,
                                       std::int64_t free) const noexcept {
    if (before <= free)
      return 0;
    return detail::divided_up(detail::wide{before - free} * per_.count(),
                              before);
  }

  std::int64_t rate_;
  duration per_;
  /// Taken in the window before, and in this one.
  std::int64_t before_ = 0;
  std::int64_t used_ = 0;
  time_point begin_ = time_point::min();
  time_point counts_from_ = time_point::min();
  time_point at_ = time_point::min();
};

} // namespace caisson
