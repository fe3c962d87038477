// A gate's calls of the last seconds, as rates, and of the last minutes.
#pragma once

#include <caisson/base/time.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace caisson::ctl {

/// Counters of a gate at an instant.
struct call_counts {
  std::int64_t calls = 0;
  std::int64_t succeeded = 0;
  std::int64_t failed = 0;
};

/// Takes counters as they come and knows how fast they rise. Counters that fall
/// were reset, or are those of another run of the program: they begin anew, and
/// so does what was not seen for long.
class call_history {
public:
  /// One bar: what happened in so long.
  static constexpr duration step = std::chrono::seconds(5);
  static constexpr std::size_t steps = 60;
  /// Rates are means of so long.
  static constexpr duration span_of_rates = std::chrono::seconds(5);

  /// `longest_gap`: between two that are further apart nothing is known.
  void take(const call_counts& now, time_point at, duration longest_gap);

  /// Forgets the counters, but not the last minutes.
  void interrupt() noexcept { seen_.clear(); }

  /// Per second, from the second counters on.
  [[nodiscard]] std::optional<double> calls_per_second() const;
  [[nodiscard]] std::optional<double> failed_per_second() const;

  /// The share of calls that succeeded among those that ended; none if none
  /// has ended.
  [[nodiscard]] std::optional<double> success() const;

  struct bar {
    std::optional<double> calls_per_second;
    /// The share that failed, as far as that is known.
    double failed = 0;
  };

  /// The last `count` steps, the newest last.
  [[nodiscard]] std::vector<bar> bars(std::size_t count, time_point now) const;

private:
  struct sample {
    time_point at;
    call_counts counts;
  };

  struct slot {
    std::int64_t number = -1;
    double seconds = 0;
    double calls = 0;
    double succeeded = 0;
    double failed = 0;
  };

  [[nodiscard]] std::optional<double>
  rate_of(std::int64_t call_counts::*which) const;
  void note(const sample& before, const sample& now);

  std::deque<sample> seen_;
  std::array<slot, steps> slots_{};
};

/// What has been added to a counter, which may have any value.
[[nodiscard]] inline double added(std::int64_t now, std::int64_t before) {
  return static_cast<double>(now) - static_cast<double>(before);
}

[[nodiscard]] inline double seconds_between(time_point from, time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

} // namespace caisson::ctl
