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
    if (now < begin_ || now - begin_ < per_)
      return;
    begin_ += (now - begin_) / per_ * per_;
    used_ = 0;
  }

  /// Takes `n` tokens if they are there.
  bool take(std::int64_t n) noexcept {
    if (at_ < begin_ || n > rate_ - used_)
      return false;
    used_ += n;
    return true;
  }

  /// Gives back `n` tokens that were taken at `taken`: lost if that was in an
  /// earlier window.
  void put_back(std::int64_t n, time_point taken) noexcept {
    if (taken >= begin_)
      used_ = std::max<std::int64_t>(used_ - n, 0);
  }

  /// There are no tokens until then; a window begins at that instant, or at the
  /// end of an earlier drain if that is later.
  void drain(time_point until) noexcept {
    begin_ = at_ < begin_ ? std::max(begin_, until) : until;
    used_ = 0;
  }

  /// A window begins.
  void fill(time_point now) noexcept {
    begin_ = at_ = now;
    used_ = 0;
  }

  /// When `n` tokens can be taken, after `ahead` others; an instant that has
  /// passed if they are there. A turn that does not fit into what is left of a
  /// window waits for the next one, so that it can be later than this.
  /// @pre n <= heaviest()
  [[nodiscard]] time_point ready_at(std::int64_t ahead,
                                    std::int64_t n) const noexcept {
    auto windows = detail::divided_up(detail::wide{ahead} + n - (rate_ - used_),
                                      rate_);
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
    return at_ < begin_ ? 0 : rate_ - used_;
  }

  /// The most that can be taken at once.
  [[nodiscard]] std::int64_t heaviest() const noexcept { return rate_; }

  /// Changes the numbers. What was taken in this window stays taken.
  void reshape(std::int64_t rate, duration per) noexcept {
    rate_ = rate;
    per_ = per;
    used_ = std::min(used_, rate);
  }

private:
  std::int64_t rate_;
  duration per_;
  std::int64_t used_ = 0;
  time_point begin_ = time_point::min();
  time_point at_ = time_point::min();
};

} // namespace caisson
