// When a closed breaker opens: the trip rules and what each remembers.
#pragma once

#include <caisson/breaker_config.hpp>
#include <caisson/detail/window.hpp>
#include <caisson/time.hpp>

#include <cstdint>
#include <string_view>
#include <variant>

namespace caisson {

/// A closed breaker's history of results, without neutral ones. Times passed in
/// must not go backwards.
class trip_history {
public:
  /// An empty history under the rule of `c`.
  explicit trip_history(const breaker_config& c);

  /// Adds a result that arrived at `now`. Returns whether to open.
  [[nodiscard]] bool add(bool failed, time_point now);

  /// Forgets what is too old at `now`.
  void roll(time_point now);

  /// When `roll` may have something to forget; `never` if there is nothing.
  [[nodiscard]] time_point next_change() const;

  /// Continues with the settings of `c`: keeps what fits if the rule is the
  /// same, or starts with an empty history. Never trips by itself.
  void adopt(const breaker_config& c, time_point now);

  /// Why this rule opens, for events; static storage.
  [[nodiscard]] std::string_view reason() const;

  /// The failures that count towards `threshold`; 0 for rate rules.
  [[nodiscard]] std::int64_t streak() const;

  /// How many results are in the window; 0 for rules without a window.
  [[nodiscard]] std::int64_t window_total() const;

  /// The failure rate in thousandths, rounded down; -1 if unknown: with fewer
  /// than `minimum_calls` in the window, or without a window.
  [[nodiscard]] std::int64_t failure_rate_permille() const;

private:
  /// Failures since the last success.
  struct run {
    std::uint32_t threshold;
    std::uint32_t failures = 0;
  };

  /// Failures since the last quiet period.
  struct restless_run {
    std::uint32_t threshold;
    duration quiet_period;
    std::uint32_t failures = 0;
    /// When the last of them arrived; valid if there are failures.
    time_point last = {};
  };

  /// How much is too much, for both kinds of window.
  struct limit {
    double failure_rate;
    std::int64_t minimum_calls;

    template <class Window>
    [[nodiscard]] bool exceeded_by(const Window& w) const;
  };

  struct counted_rate {
    limit most;
    count_window window;
  };

  struct timed_rate {
    limit most;
    time_window window;
  };

  using rule = std::variant<run, restless_run, counted_rate, timed_rate>;

  static rule make(const breaker_config& c);

  static bool count(run& r, bool failed);
  static bool count(restless_run& r, bool failed, time_point now);

  rule rule_;
};

} // namespace caisson
