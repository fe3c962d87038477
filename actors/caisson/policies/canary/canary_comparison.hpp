// Compares a canary's answers with those of the baseline.
#pragma once

#include <caisson/base/histogram.hpp>
#include <caisson/base/time.hpp>
#include <caisson/policies/canary/canary_config.hpp>
#include <caisson/policy/policy.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace caisson::detail {

/// The answers of canary and baseline in one sliding window, which moves on for
/// both at the same instants, so that a bad minute of both counts against
/// neither.
///
/// The window is two spans of time: the current one and the one before it. The
/// current span ends with the first answer that arrives half a `window` or more
/// after it began, if the canary has given `min_calls` answers in it. So the
/// window reaches back between half a `window` and a whole one, or to the last
/// `min_calls` to 2 · `min_calls` answers of the canary if that is farther. Two
/// histograms for each of the two, about 4 KiB, whatever the traffic.
///
/// The baseline's numbers are those in the window if they are at least
/// `min_calls` answers, and otherwise the last ones that were. So a canary that
/// gets all calls is compared with the baseline of the stage before.
class canary_comparison {
public:
  /// Which latencies of a baseline that gets too few calls are compared.
  enum class old_latency : std::uint8_t { counts, ignored };

  /// A stage begins: forgets the answers, but not the baseline's numbers.
  void restart(const canary_rules& c, time_point now);

  /// Forgets all.
  void clear() { *this = {}; }

  /// A call to the canary that took longer than `max_p99` (`slow`), or did not.
  void add_timed(bool slow) {
    ++present_.canary.timed;
    present_.canary.slow += slow ? 1 : 0;
  }

  /// `max_p99` is another one now.
  void forget_timed() {
    for (auto* x : {&before_.canary, &present_.canary})
      x->timed = x->slow = 0;
  }

  // `took` is how long an answer took, if that says how fast its sender is.

  void add_canary(bool failed, std::optional<duration> took,
                  const canary_rules& c, time_point now);
  void add_baseline(bool failed, std::optional<duration> took,
                    const canary_rules& c, time_point now);

  /// How the canary is worse than the settings allow, for people; empty if it
  /// is not, if that may be chance, or if it has given fewer than `min_calls`
  /// answers. Its absolute latency needs as many calls that are timed, and no
  /// answers; whether it is chance is not asked.
  ///
  /// Percentiles are checked only if the number of the canary's answers has
  /// grown by 1 % since the last check, or if `thoroughly` is set.
  [[nodiscard]] std::string worse_in(const canary_rules& c, old_latency old,
                                     bool thoroughly, time_point now);

  /// Whether `worse_in` has found the canary worse, but no more so than may be
  /// chance, in the last `window` before `now`.
  [[nodiscard]] bool undecided(const canary_rules& c, time_point now) const {
    return undecided_at_ && now < time_after(*undecided_at_, c.window);
  }

  /// The numbers of one of the two.
  struct summary {
    std::int64_t answers = 0;
    std::int64_t failures = 0;
    /// How many latencies are known, and if they are at least `min_calls`,
    /// their 99th percentile.
    std::int64_t latencies = 0;
    std::optional<duration> slowest = {};

    [[nodiscard]] double failure_rate() const {
      return answers == 0
               ? 0
               : static_cast<double>(failures) / static_cast<double>(answers);
    }
  };

  [[nodiscard]] summary canary(const canary_rules& c) const;

  /// Nothing if it never gave `min_calls` answers within a window.
  [[nodiscard]] std::optional<summary> baseline(const canary_rules& c) const;

  /// Rates in thousandths, percentiles in microseconds; -1: unknown, or without
  /// a limit.
  void list_gauges(const canary_rules& c, std::vector<metric>& out) const;

private:
  struct side {
    std::int64_t answers = 0;
    std::int64_t failures = 0;
    // Of the canary: calls of which is known whether they took too long.
    std::int64_t timed = 0;
    std::int64_t slow = 0;
    histogram latencies;

    void add(bool failed, std::optional<duration> took) {
      ++answers;
      failures += failed ? 1 : 0;
      if (took)
        latencies.record(*took);
    }
  };

  struct span {
    side canary;
    side baseline;
  };

  static summary sum_of(const side& a, const side& b, const canary_rules& c);
  [[nodiscard]] bool knows_baseline(const canary_rules& c) const;
  void keep_baseline(const canary_rules& c);
  void roll(const canary_rules& c, time_point now);
  [[nodiscard]] std::int64_t answers() const {
    return before_.canary.answers + present_.canary.answers;
  }
  [[nodiscard]] static summary counts_of(const side& a, const side& b) {
    return {
      a.answers + b.answers, a.failures + b.failures,
      static_cast<std::int64_t>(a.latencies.count() + b.latencies.count())};
  }
  [[nodiscard]] std::string fails_more(const canary_rules& c, time_point now);
  /// How many calls are timed, and how many of them took too long.
  [[nodiscard]] std::pair<std::int64_t, std::int64_t> timed_and_slow() const;
  [[nodiscard]] std::string is_too_slow(const canary_rules& c) const;
  [[nodiscard]] std::string is_slower(const canary_rules& c, old_latency old,
                                      time_point now);

  span before_;
  span present_;
  time_point present_since_;
  // The baseline's last numbers that were enough.
  std::optional<summary> kept_;
  // The number of the canary's answers at which percentiles are checked again.
  std::int64_t next_comparison_ = 0;
  std::optional<time_point> undecided_at_;
};

} // namespace caisson::detail
