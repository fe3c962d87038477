// Shares of calls that failed, or were slow, in windows.
#pragma once

#include <caisson/base/time.hpp>
#include <caisson/base/window.hpp>

#include <cstdint>
#include <optional>

namespace caisson::detail {

/// The contents of a window, as of the last change.
struct window_share {
  std::int64_t total = 0;
  std::int64_t bad = 0;
  /// How many calls are needed for the rate to be known.
  std::int64_t minimum = 1;

  [[nodiscard]] bool has_minimum() const { return total >= minimum; }

  /// Nothing if it is unknown.
  [[nodiscard]] std::optional<double> rate() const {
    if (!has_minimum())
      return std::nullopt;
    return static_cast<double>(bad) / static_cast<double>(total);
  }

  /// In thousandths, rounded down; -1 if unknown.
  [[nodiscard]] std::int64_t permille() const {
    return has_minimum() ? bad * 1000 / total : -1;
  }
};

/// Windows over the same calls: the last n, those of the last t seconds, both,
/// or neither. Times passed in must not go backwards.
class rate_windows {
public:
  /// Which windows there are, and their sizes.
  struct shape {
    bool by_count = false;
    bool by_time = false;
    std::uint32_t calls = 1;
    duration time = duration{1};
    std::uint32_t buckets = 1;
    std::int64_t minimum = 1;
  };

  /// A window that was there before keeps what fits.
  void reshape(const shape& s, time_point now);

  void add(bool bad, time_point now) {
    if (count_)
      count_->add(bad);
    if (time_)
      time_->add(bad, now);
  }

  /// Forgets what is too old at `now`.
  void roll(time_point now) {
    if (time_)
      time_->roll(now);
  }

  /// When `roll` may have something to forget.
  [[nodiscard]] time_point next_change() const {
    return time_ ? time_->next_change() : never;
  }

  /// Whether no call in the windows was bad.
  [[nodiscard]] bool all_good() const {
    return (!count_ || count_->failures() == 0)
           && (!time_ || time_->failures() == 0);
  }

  /// Nothing if there is no such window.
  [[nodiscard]] std::optional<window_share> by_count() const;
  [[nodiscard]] std::optional<window_share> by_time() const;

  /// That by time if there is one, otherwise that by count; empty and unknown
  /// without a window.
  [[nodiscard]] window_share shown() const;

private:
  std::optional<count_window> count_;
  std::optional<time_window> time_;
  std::int64_t minimum_ = 1;
};

} // namespace caisson::detail
