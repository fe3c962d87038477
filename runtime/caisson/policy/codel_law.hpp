// Controlled delay (CoDel): decides when a queue sheds.
#pragma once

#include <caisson/base/time.hpp>

#include <cstddef>
#include <cstdint>

namespace caisson::detail {

/// CoDel (K. Nichols, V. Jacobson: "Controlling queue delay", 2012), with calls
/// in place of packets. A wait is judged when it ends. When every wait was at
/// least `target` for an `interval`, one call is shed, and then, until a wait
/// is shorter, the next one `interval / sqrt(n)` later, n counting those shed.
/// When shedding begins again within 8 intervals, n goes on from two less than
/// it was. Constant time and memory.
class codel_law {
public:
  /// Both longer than zero.
  codel_law(duration target, duration interval) noexcept
    : target_(target), interval_(interval) {}

  /// It is the turn of a call that has `waited`. Returns whether it is shed; if
  /// so, the next one is to be judged at once. If it `must_stay`, it is not,
  /// and shedding ends, as after a wait that was short.
  [[nodiscard]] bool sheds(time_point now, duration waited, bool must_stay);

  /// Something became free, and nobody waited for it.
  void nobody_waits() noexcept {
    over_at_ = never;
    shedding_ = false;
  }

  /// From now on with other settings. What was to come after the new interval
  /// comes then.
  void adapt(duration target, duration interval, time_point now) noexcept;

private:
  [[nodiscard]] duration gap() const;

  duration target_;
  duration interval_;
  // When every wait will have been too long for an interval; `never` if one
  // was not.
  time_point over_at_ = never;
  bool shedding_ = false;
  // When the next call is shed, or the last time that it was known.
  time_point next_ = {};
  std::uint64_t count_ = 0;
};

} // namespace caisson::detail
