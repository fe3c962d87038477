// A rate limit that counts in windows which follow one another.
#pragma once

#include <caisson/base/window_count.hpp>

#include <algorithm>
#include <cstdint>

namespace caisson {

/// At most `rate` tokens in each window of length `per`. What a window has left
/// over is lost. So up to twice `rate` can be taken in less than `per`, around
/// the end of a window.
class fixed_window : public detail::window_count {
public:
  /// Both are at least 1.
  fixed_window(std::int64_t rate, duration per) noexcept
    : window_count(rate, per) {}

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
    if (taken < std::max(begin_, counts_from_))
      return;
    n -= paid(n);
    used_ = std::max<std::int64_t>(used_ - n, 0);
  }

  /// When `n` tokens can be taken, after `ahead` others; an instant that has
  /// passed if they are there. A turn that does not fit into what is left of a
  /// window waits for the next one, so that it can be later than this.
  /// @pre n <= heaviest()
  [[nodiscard]] time_point ready_at(std::int64_t ahead,
                                    std::int64_t n) const noexcept {
    auto windows = detail::divided_up(detail::wide{ahead} + n + owed_ - left(),
                                      rate_);
    if (windows <= 0)
      return std::max(at_, begin_);
    return detail::instant_of(detail::wide_ns(begin_) + windows * per_.count());
  }

  /// When it is as if nothing had been taken.
  [[nodiscard]] time_point full_at() const noexcept {
    if (used_ == 0)
      return begin_;
    auto windows = 1 + detail::divided_up(owed_, rate_);
    return detail::instant_of(detail::wide_ns(begin_) + windows * per_.count());
  }

  /// What is left of the window.
  [[nodiscard]] std::int64_t tokens() const noexcept {
    return at_ < begin_ ? 0 : left();
  }

  friend bool operator==(const fixed_window&, const fixed_window&) = default;
};

} // namespace caisson
