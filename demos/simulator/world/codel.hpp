// Controlled delay (CoDel): decides when a queue sheds.
#pragma once

#include <caisson/base/time.hpp>

#include <cstddef>
#include <cstdint>

namespace caisson::sim {

/// CoDel, the control law of RFC 8289 (K. Nichols et al., 2018), with requests
/// in place of packets. A wait is judged when it ends. When every wait was at
/// least `target` for an `interval`, one is shed, and then, until a wait is
/// shorter, the next one `interval / sqrt(n)` later, n counting those shed.
/// When shedding begins again within 16 intervals, n goes on from what it was.
/// The last one that waits is never shed.
class codel {
public:
  /// Both longer than zero.
  codel(duration target, duration interval)
    : target_(target), interval_(interval) {}

  /// A server is free, and the oldest request has `waited`; `left` more wait.
  /// Returns whether it is shed; if so, the next one is to be judged at once.
  [[nodiscard]] bool sheds(time_point now, duration waited, std::size_t left);

  /// A request found a free server, and nobody who waits.
  void nobody_waits();

private:
  // What was done with the one before, if that was at this instant and for the
  // same server.
  enum class step { served, began, went_on };

  [[nodiscard]] bool too_long(time_point now, duration waited,
                              std::size_t left);
  [[nodiscard]] time_point after(time_point t) const;
  bool begin(time_point now);
  bool go_on(time_point now, bool long_wait);

  duration target_;
  duration interval_;
  /// When every wait will have been too long for an interval; `never` if one
  /// was not.
  time_point over_at_ = never;
  /// When the next one is shed, or the last time that it was known.
  time_point next_;
  bool shedding_ = false;
  std::uint64_t count_ = 0;
  /// What `count_` was when shedding began.
  std::uint64_t first_count_ = 0;
  step last_ = step::served;
};

} // namespace caisson::sim
