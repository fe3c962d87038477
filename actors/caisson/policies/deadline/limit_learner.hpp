// Learns a time limit from how long calls take.
#pragma once

#include <caisson/base/percentile_window.hpp>
#include <caisson/base/time.hpp>
#include <caisson/policies/deadline/learned_limit.hpp>

#include <cstdint>
#include <optional>

namespace caisson::detail {

/// Keeps the durations of the last while, and of those that were cut off, how
/// long they had lasted by then. A call that was cut off would have taken
/// longer, nobody knows how long. The estimate of Kaplan and Meier takes this
/// into account: from the instant at which it was cut off, the call counts as
/// those do that lasted longer.
///
/// 5 KiB; 10 KiB once a call was cut off.
class limit_learner {
public:
  explicit limit_learner(const learned_limit& c);

  /// Goes on with other settings. What was measured is lost only if the window
  /// is another one.
  void reconfigure(const learned_limit& c);

  /// A call has succeeded after `d`.
  void succeeded(duration d, time_point now);

  /// A deadline ended a call after `d`.
  void cut_off(duration d, time_point now);

  /// The limit, from time to time computed anew; nothing if there are too few
  /// durations. Then `otherwise` is in force, if it is given.
  [[nodiscard]] std::optional<duration>
  limit(time_point now, duration otherwise = duration::zero());

  /// What `limit` has returned last.
  [[nodiscard]] std::optional<duration> last() const noexcept { return last_; }

  /// How many durations are in the window, as of the last function call.
  [[nodiscard]] std::uint64_t samples() const noexcept {
    return done_.count() + (cut_ ? cut_->count() : 0);
  }

  /// How long after a limit was computed it is computed anew.
  [[nodiscard]] duration period() const noexcept { return config_.window / 50; }

  /// Forgets what was measured.
  void clear();

private:
  [[nodiscard]] duration compute(duration in_force) const;

  learned_limit config_;
  percentile_window done_;
  std::optional<percentile_window> cut_;
  std::optional<duration> last_;
  /// When it was computed last.
  time_point computed_ = time_point::min();
};

} // namespace caisson::detail
