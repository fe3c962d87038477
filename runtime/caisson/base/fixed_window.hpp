// A rate limit that counts in windows which follow one another.
#pragma once

#include <caisson/base/wide_time.hpp>

#include <algorithm>
#include <cstdint>

namespace caisson {

/// At most `rate` tokens in each window of length `per`. The first window
/// begins at the first instant that it is told of; what a window has left over
/// is lost. So up to twice `rate` can be taken in less than `per`, around the
/// end of a window. Time is passed in and may stand still or step back; the
/// latest instant seen counts.
class fixed_window {
public:
  /// Both are at least 1.
  fixed_window(std::int64_t rate, duration per) noexcept
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
    if (at_ < begin_ || n > rate_ - used_)
      return false;
    used_ += n;
    return true;
  }

  /// Gives back `n` tokens that were taken at `taken`: lost if that was in an
  /// earlier window, or before a drain.
  void put_back(std::int64_t n, time_point taken) noexcept {
    if (taken >= std::max(begin_, counts_from_))
      used_ = std::max<std::int64_t>(used_ - n, 0);
  }

  /// There are no tokens until then, or the end of an earlier drain if that is
  /// later. The rest of the window is lost. A window begins at that instant
  /// unless this one lasts longer.
  void drain(time_point until) noexcept {
    until = std::max(until, at_);
    if (at_ < begin_) {
      begin_ = std::max(begin_, until);
    } else if (until - begin_ >= per_) {
      begin_ = until;
      used_ = 0;
    } else {
      used_ = std::max(used_, rate_);
      counts_from_ = time_after(begin_, per_);
    }
  }

  /// A window begins.
  void fill(time_point now) noexcept {
    begin_ = at_ = counts_from_ = now;
    used_ = 0;
  }

  /// When `n` tokens can be taken, after `ahead` others; an instant that has
  /// passed if they are there. A turn that does not fit into what is left of a
  /// window waits for the next one, so that it can be later than this.
  /// @pre n <= heaviest()
  [[nodiscard]] time_point ready_at(std::int64_t ahead,
                                    std::int64_t n) const noexcept {
    auto windows = detail::divided_up(detail::wide{ahead} + n - left(), rate_);
    if (windows <= 0)
      return std::max(at_, begin_);
    return detail::instant_of(detail::wide_ns(begin_) + windows * per_.count());
  }

  /// When it is as if nothing had been taken.
  [[nodiscard]] time_point full_at() const noexcept {
    return used_ == 0 ? begin_ : time_after(begin_, per_);
  }

  /// What is left of the window.
  [[nodiscard]] std::int64_t tokens() const noexcept {
    return at_ < begin_ ? 0 : left();
  }

  /// The most that can be taken at once.
  [[nodiscard]] std::int64_t heaviest() const noexcept { return rate_; }

  /// Changes the numbers. What was taken in this window stays taken; a shorter
  /// window can be over.
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
    begin_ += (at_ - begin_) / per_ * per_;
    used_ = 0;
  }

  // More may have been taken than there is by now.
  [[nodiscard]] std::int64_t left() const noexcept {
    return std::max<std::int64_t>(rate_ - used_, 0);
  }

  std::int64_t rate_;
  duration per_;
  std::int64_t used_ = 0;
  time_point begin_ = time_point::min();
  time_point counts_from_ = time_point::min();
  time_point at_ = time_point::min();
};

} // namespace caisson
