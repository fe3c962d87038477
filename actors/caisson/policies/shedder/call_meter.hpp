// Measures the calls below a layer: number, time and throughput.
#pragma once

#include <caisson/base/time.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

namespace caisson::detail {

/// Measures the calls below a layer: the mean of a window that the caller ends,
/// and the best of a longer time. Constant time for a call. A clock that steps
/// back counts as one that stands still.
class call_meter {
public:
  /// The largest throughput is that of one of 20 steps of `history`, the
  /// shortest time the least average of such a step within `baseline`, of those
  /// with a tenth of the calls of the largest or more: an average of few calls
  /// is short by chance. Those of quiet times, with fewer, count as one step
  /// together. Both are positive.
  call_meter(duration history, duration baseline) noexcept;

  // -- calls ------------------------------------------------------------------

  void begin(time_point now) noexcept {
    pass_time(now);
    ++in_flight_;
  }

  /// A call has ended that has succeeded.
  void succeed(time_point begun, time_point now) noexcept {
    auto took = leave(begun, now);
    roll(now);
    auto& x = history_steps_[newest_place_];
    ++x.calls;
    x.time += took;
  }

  /// One that was cut off: it would have taken longer. Less than the shortest
  /// average says nothing about how long.
  void time_out(time_point begun, time_point now) noexcept;

  /// One that says nothing about how long calls take.
  void end(time_point now) noexcept {
    pass_time(now);
    --in_flight_;
  }

  [[nodiscard]] std::int64_t in_flight() const noexcept { return in_flight_; }

  // -- figures ----------------------------------------------------------------

  /// How many were in flight since `restart`, on average.
  [[nodiscard]] double mean_in_flight(time_point now) const noexcept;

  /// By how much calls that ended since `restart` took longer than the shortest
  /// average. If none has ended, although some are in flight: what it was
  /// before. Unknown before a step with a success is over.
  [[nodiscard]] std::optional<duration> delay(time_point now) noexcept;

  /// How many calls would be in flight at the largest throughput if each took
  /// the shortest time. Unknown before a step with a success is over that was
  /// measured from its beginning. If there is no throughput any more, although
  /// calls are in flight: what it was before, as all may be late.
  [[nodiscard]] std::optional<double> capacity(time_point now) noexcept;

  /// The window is over.
  void restart(time_point now) noexcept;

  /// Likewise, after a time without calls: the step in which this happens is
  /// not measured from its beginning.
  void resume(time_point now) noexcept;

  /// Other lengths; if they differ, what was measured is forgotten, except for
  /// the calls in flight.
  void resize(duration history, duration baseline, time_point now) noexcept;

  void forget(time_point now) noexcept;

private:
  static constexpr std::size_t steps = 20;
  static constexpr std::int64_t no_step = std::numeric_limits<
    std::int64_t>::min();

  struct step {
    std::int64_t number = no_step;
    std::int64_t calls = 0;
    // The sum of their times, in seconds.
    double time = 0;
    // Whether it was not measured from its beginning.
    bool partial = false;
  };
  struct shortest {
    std::int64_t number = no_step;
    double time = 0;
    std::int64_t calls = 0;
    // All calls of this time, and the sum of their times, in seconds.
    std::int64_t all_calls = 0;
    double all_time = 0;
  };

  void pass_time(time_point now) noexcept {
    if (now <= latest_)
      return;
    area_ += static_cast<double>(in_flight_) * to_seconds(now - latest_);
    latest_ = now;
  }

  // Returns how long it has taken, in seconds.
  double leave(time_point begun, time_point now) noexcept {
    end(now);
    ++timed_;
    auto took = now > begun ? to_seconds(now - begun) : 0;
    timed_sum_ += took;
    return took;
  }

  void roll(time_point now) noexcept {
    if (now >= newest_end_) [[unlikely]]
      begin_step(now);
  }
  void begin_step(time_point now) noexcept;
  [[nodiscard]] step& newest_step() noexcept {
    return history_steps_[newest_place_];
  }
  void note_shortest(const step& x) noexcept;
  [[nodiscard]] std::optional<double> shortest_time() const noexcept;

  duration history_;
  duration baseline_;
  std::array<step, steps> history_steps_;
  std::array<shortest, steps> baseline_steps_;
  // The newest step of the history.
  std::int64_t newest_ = no_step;
  // Its place, and when it ends.
  std::size_t newest_place_ = 0;
  time_point newest_end_ = time_point::min();

  std::int64_t in_flight_ = 0;
  time_point latest_;
  time_point since_;
  // Calls in flight times seconds.
  double area_ = 0;
  std::int64_t timed_ = 0;
  double timed_sum_ = 0;
  std::optional<double> last_mean_;
  std::optional<double> last_capacity_;
};

} // namespace caisson::detail
