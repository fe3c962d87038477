// Counts the tokens of rate limits in windows that follow one another.
#pragma once

#include <caisson/base/wide_time.hpp>

#include <algorithm>
#include <cstdint>

namespace caisson::detail {

/// The base of rate limits with windows of length `per`: how many tokens were
/// taken in the window of the latest instant, and in the one before. The first
/// window begins at the first instant that it gets. Time is passed in and
/// may stand still or step back; the latest instant seen counts.
class window_count {
public:
  void advance(time_point now) noexcept {
    if (now <= at_)
      return;
    if (at_ == time_point::min())
      begin_ = now;
    at_ = now;
    roll();
  }

  /// Takes `n` tokens of this window, or of the one after a drain. If there are
  /// fewer, the next windows make up for them.
  void take_in_any_case(std::int64_t n) noexcept {
    owed_ += n;
    used_ += paid(left());
  }

  /// There are no tokens until then, or the end of an earlier drain if that is
  /// later. The rest of the window is lost. A window begins at that instant, as
  /// after one that was used up, unless this one lasts longer.
  void drain(time_point until) noexcept {
    if (at_ < begin_) {
      begin_ = counts_from_ = std::max(begin_, until);
    } else if (until - begin_ >= per_) {
      begin_ = counts_from_ = until;
      before_ = std::max(used_, rate_);
      used_ = paid(rate_);
    } else {
      used_ = std::max(used_, rate_);
      counts_from_ = time_after(begin_, per_);
    }
  }

  /// As new: a window begins.
  void fill(time_point now) noexcept {
    begin_ = at_ = counts_from_ = now;
    before_ = used_ = owed_ = 0;
  }

  /// The most that can be taken at once.
  [[nodiscard]] std::int64_t heaviest() const noexcept { return rate_; }

  /// Changes the numbers. What was taken stays taken; a shorter window can be
  /// over.
  void reshape(std::int64_t rate, duration per) noexcept {
    rate_ = rate;
    per_ = per;
    used_ += paid(left());
    if (at_ != time_point::min())
      roll();
  }

  friend bool operator==(const window_count&, const window_count&) = default;

protected:
  /// Both are at least 1.
  window_count(std::int64_t rate, duration per) noexcept
    : rate_(rate), per_(per) {}

  /// What is left of the window. More may have been taken than there is by now.
  [[nodiscard]] std::int64_t left() const noexcept {
    return std::max<std::int64_t>(rate_ - used_, 0);
  }

  /// Pays at most `n` of what is owed to windows to come, and returns how much.
  std::int64_t paid(wide n) noexcept {
    auto x = static_cast<std::int64_t>(std::min<wide>(n, owed_));
    owed_ -= x;
    return x;
  }

  std::int64_t rate_;
  duration per_;
  /// Taken in the window before, and in this one.
  std::int64_t before_ = 0;
  std::int64_t used_ = 0;
  /// Taken of windows to come, as this one is used up.
  std::int64_t owed_ = 0;
  /// Of this window; after `at_` during a drain.
  time_point begin_ = time_point::min();
  /// What was taken earlier is not given back.
  time_point counts_from_ = time_point::min();
  /// The latest instant seen.
  time_point at_ = time_point::min();

private:
  // Goes on to the window of the latest instant.
  void roll() noexcept {
    if (at_ < begin_ || at_ - begin_ < per_)
      return;
    auto windows = (at_ - begin_) / per_;
    begin_ += windows * per_;
    if (windows > 1) {
      paid(wide{windows - 2} * rate_);
      used_ = paid(rate_);
    }
    before_ = used_;
    used_ = paid(rate_);
  }
};

} // namespace caisson::detail
