// History of a closed breaker's results, which decides when it opens.
#pragma once

#include <caisson/base/time.hpp>
#include <caisson/policies/breaker/breaker_config.hpp>
#include <caisson/policies/breaker/breaker_load.hpp>
#include <caisson/policies/breaker/breaker_rates.hpp>
#include <caisson/policy/policy.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace caisson::detail {

/// A closed breaker's history of results, without neutral ones. Times passed in
/// must not go backwards.
class trip_history {
public:
  /// An empty history under the rules of `c`.
  explicit trip_history(const breaker_config& c);

  // -- what happens -----------------------------------------------------------

  /// A call was admitted.
  void arrive(time_point now) {
    if (load_)
      load_->arrive(now);
  }

  /// Adds a result that arrived at `now`, of a call that took `took`, if that
  /// is known.
  void add(bool failed, std::optional<duration> took, time_point now) {
    roll(now);
    run_ = failed ? run_ + 1 : 0;
    // A success does not end the count: only time without failures does.
    if (failed && since_quiet_) {
      ++since_quiet_->failures;
      since_quiet_->last = now;
    }
    failures_.add(failed, now);
    if (load_)
      load_->add(failed, took, now);
  }

  /// Adds a call that came back in time, or was found slow, at `now`.
  void add_pace(bool was_slow, time_point now);

  /// The instant for the next `look`; `never` if there is none.
  [[nodiscard]] time_point next_update() const {
    return load_ ? load_->next_update() : never;
  }

  /// A step of the score ends at `now`.
  void look(time_point now);

  /// Forgets what is too old at `now`.
  void roll(time_point now) {
    if (ages_)
      roll_windows(now);
  }

  /// Whether a call that arrives may change when.
  [[nodiscard]] bool watches_load() const { return load_ != nullptr; }

  /// When `look` or `roll` may change something; `never` if they cannot.
  [[nodiscard]] time_point next_change() const {
    return ages_ ? next_age() : never;
  }

  /// Continues with the settings of `c`: the rules that stay keep what fits,
  /// new ones start empty. Never trips by itself.
  void adopt(const breaker_config& c, time_point now);

  /// Forgets all but the normal load.
  void restart(const breaker_config& c);

  // -- what follows from it ---------------------------------------------------

  /// Whether `verdict` certainly says nothing: as after most calls under the
  /// default rule alone, and under others while nothing is wrong.
  [[nodiscard]] bool is_quiet() const {
    if (only_run_)
      return run_ < threshold_;
    if (load_)
      return only_score_ && !load_->exceeded();
    return only_shares_ && run_ == 0 && failures_.all_good() && pace_.all_good()
           && (!since_quiet_ || since_quiet_->failures == 0);
  }

  /// Why to open, for events, in static storage; empty: do not open. `c` are
  /// the settings that it was last given.
  [[nodiscard]] std::string_view verdict(const breaker_config& c,
                                         env& e) const {
    return is_quiet() ? std::string_view{} : weigh(c, e);
  }

  /// The share that is reached of a rate at which it would open, 1 or more if
  /// the rate is; 0 if none is known. Of several, the largest share if `any`
  /// opens it, otherwise the least.
  [[nodiscard]] double pressure(breaker_join open_if) const;

  /// The failures that count towards `threshold`; 0 without such a rule.
  [[nodiscard]] std::int64_t streak() const;

  /// The results in the window.
  [[nodiscard]] window_share failures() const { return failures_.shown(); }

  /// The fast and slow calls in the window.
  [[nodiscard]] window_share pace() const { return pace_.shown(); }

  /// Appends its gauges.
  void list_gauges(std::vector<metric>& out) const;

private:
  /// In the order in which they are asked; the first five are the rules.
  enum condition : std::uint8_t {
    consecutive,
    without_gap,
    by_count,
    by_time,
    score,
    slow,
    conditions
  };

  /// Failures since the last quiet period.
  struct failures_since_quiet {
    std::uint32_t failures = 0;
    /// When the last of them arrived; valid if there are failures.
    time_point last = {};
  };

  void roll_windows(time_point now);
  [[nodiscard]] time_point next_age() const {
    auto t = std::min(failures_.next_change(), pace_.next_change());
    if (load_)
      t = std::min(t, load_->next_update());
    if (since_quiet_ && since_quiet_->failures > 0)
      t = std::min(t, time_after(since_quiet_->last, quiet_period_));
    return t;
  }
  [[nodiscard]] std::string_view weigh(const breaker_config& c, env& e) const;
  [[nodiscard]] bool holds(condition x) const;
  [[nodiscard]] breaker_counts counts() const;

  std::uint32_t threshold_ = 1;
  duration quiet_period_ = unlimited;
  double failure_rate_ = 1;
  double slow_rate_ = 1;
  std::int64_t minimum_ = 1;
  /// One bit per condition.
  std::uint32_t applies_ = 0;
  /// Whether any entry expires.
  bool ages_ = false;
  /// Whether `consecutive` is the only condition.
  bool only_run_ = false;
  /// Whether `score` is, and whether each of them needs a failure or a slow
  /// call.
  bool only_score_ = false;
  bool only_shares_ = false;

  /// Failures since the last success.
  std::uint32_t run_ = 0;
  std::optional<failures_since_quiet> since_quiet_;
  rate_windows failures_;
  rate_windows pace_;
  std::unique_ptr<load_score> load_;
};

} // namespace caisson::detail
