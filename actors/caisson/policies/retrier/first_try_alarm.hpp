// Detects when retries hide that first attempts fail.
#pragma once

#include <caisson/base/time.hpp>
#include <caisson/base/window.hpp>

#include <cstdint>
#include <string>

namespace caisson::detail {

/// Compares, over a sliding window, how many first attempts and how many calls
/// succeed. Retries that succeed hide a failing worker from anyone who looks
/// only at calls, until the added load takes it down.
///
/// It is raised when both shares are known, that of first attempts is below
/// `first_try` and that of calls is not. It is cleared when the share of first
/// attempts has come back to the middle between `first_try` and 1, or when
/// fewer than half of `minimum` first attempts are in the window.
///
/// One thread; constant time and memory.
class first_try_alarm {
public:
  struct limits {
    /// 0 to 1; 0: never.
    double first_try = 0.8;
    /// More than 0.
    duration window = std::chrono::seconds(10);
    /// How many first attempts, and how many calls, must be in the window: at
    /// least 1.
    std::int64_t minimum = 100;

    friend bool operator==(const limits&, const limits&) = default;
  };

  explicit first_try_alarm(const limits& l);

  /// A first attempt has ended.
  void add_first(bool ok, time_point now);

  /// A call has ended.
  void add_call(bool ok, time_point now);

  /// Both: a call has succeeded at the first attempt. Returns whether `update`
  /// has something to judge.
  bool add_first_success(time_point now) {
    if (limits_.first_try <= 0 || raised_) [[unlikely]] {
      add_first(true, now);
      add_call(true, now);
      return true;
    }
    first_.add(false, now);
    calls_.add(false, now);
    // As long as no first attempt has failed, no retry hides anything.
    return first_.failures() != 0;
  }

  /// Judges what is in the window at `now`. Returns whether that raised or
  /// cleared the alarm.
  bool update(time_point now);

  [[nodiscard]] bool raised() const noexcept { return raised_; }

  /// When to call `update` again if nothing is added; `never` unless raised.
  [[nodiscard]] time_point wakeup() const noexcept {
    return raised_ ? first_.next_change() : never;
  }

  /// Keeps what is in the window, as far as it fits.
  void change(const limits& l, time_point now);

  /// Empties the window.
  void clear();

  /// Both shares, as in `first attempts 61 %, calls 98 %`.
  [[nodiscard]] std::string text() const;

private:
  static constexpr std::size_t bucket_count = 10;

  [[nodiscard]] bool judge() const noexcept;

  limits limits_;
  time_window first_;
  time_window calls_;
  bool raised_ = false;
};

} // namespace caisson::detail
