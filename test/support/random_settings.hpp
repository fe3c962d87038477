// The settings of a layer, drawn at random from the edges of their ranges.
#pragma once

#include <caisson/base/random.hpp>

#include "support/stack_plan.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <ostream>
#include <string>
#include <string_view>

namespace caisson::test {

/// Which plans are drawn.
enum class plan_kind {
  /// No deadlines: a call waits wherever it must for as long as it takes.
  patient,
  /// Deadlines, and no layer in which a call could wait when its deadline
  /// passes. A gate in front of another does not know whether that one has sent
  /// the call on, and must take it for reached; a single gate knows.
  prompt,
  /// Both. No policy may then judge by `may_have_executed`, and the answers to
  /// the callers are compared accordingly.
  mixed,
};

inline std::ostream& operator<<(std::ostream& out, plan_kind kind) {
  constexpr const char* names[] = {"patient", "prompt", "mixed"};
  return out << names[static_cast<int>(kind)];
}

/// Draws settings with which one gate and a chain of gates do the same.
class random_settings {
public:
  random_settings(plan_kind kind, std::uint64_t seed)
    : kind_(kind), random_(mix_seed(seed * 3 + static_cast<int>(kind))) {}

  texts some_settings(layer_kind kind) {
    switch (kind) {
      case layer_kind::deadline:
        return {{"timeout", time({ms(1), ms(50), ms(700), ms(3'000)})},
                {"min_left", time({ms(0), ms(0), ms(20)})},
                {"share", word({"1", "1", "0.5", "0.001"})},
                {"least", word({"1us", "1ms", "20ms"})},
                {"reserve", time({ms(0), ms(0), ms(5), ms(100)})},
                {"learned.on", word({"false", "false", "true"})},
                {"learned.quantile", word({"0.5", "0.999"})},
                {"learned.factor", word({"1", "100"})},
                {"learned.deviations", word({"0", "3"})},
                {"learned.least", word({"20ms", "50ms"})},
                {"learned.most", word({"50ms", "1h"})},
                {"learned.window", word({"100ms", "10s", "24h"})},
                {"learned.minimum_samples", word({"1", "3", "1000000"})}};
      case layer_kind::semaphore:
        return {{"permits", word({"1", "2", "50"})},
                {"max_waiters", prompt() ? "0" : word({"0", "1", "20"})},
                {"max_wait", time({ms(0), ms(20), ms(1'000), unlimited})},
                {"order", word({"fifo", "lifo"})}};
      case layer_kind::limiter:
        return {
          {"rate", word({"1", "20", "997"})},
          {"burst", word({"1", "3", "100"})},
          {"max_wait",
           prompt() ? "0s" : time({ms(0), ms(100), ms(2'000), unlimited})},
          {"max_waiters", word({"0", "1", "1000"})},
          {"drain_on_rejection", word({"true", "false"})},
          {"retry_after_cap", time({ms(0), ms(30), ms(60'000), unlimited})}};
      case layer_kind::breaker:
        return breaker_settings();
      case layer_kind::retrier:
        return retrier_settings();
      case layer_kind::batcher:
        return {{"max_items", word({"1", "2", "4"})},
                {"max_delay", time({ms(0), ms(10), ms(1'000)})},
                {"max_outstanding", word({"1", "2", "1000"})},
                {"max_waiting", word({"4", "1000"})},
                {"deadline_margin", time({ms(0), ms(5)})}};
      case layer_kind::fallback:
        // Items of a batch, and calls of a worker that dies, come back at once
        // to a single gate, one by one through a chain: how many places are
        // taken at that moment is not the same. `prompt` has neither.
        return {{"max_concurrent", prompt() ? word({"0", "1", "10"}) : "0"},
                {"fall_back_on", word({"", "", "breaker_open,queue_full"})}};
      case layer_kind::chaos:
        return chaos_settings();
      case layer_kind::canary:
        return canary_settings();
      case layer_kind::cache:
        return cache_settings();
      case layer_kind::degradation:
        return degradation_settings();
      case layer_kind::feature:
        return {{"feature", word({"core", "checks", "extras", "no such"})},
                {"retry_after", time({ms(0), ms(10)})}};
    }
    return {};
  }

  // All calls or none: each gate of a chain draws from a source of its own.
  texts chaos_settings() {
    texts set{{"enabled", word({"true", "true", "false"})},
              {"error_rate", "0"},
              {"latency_rate", "0"},
              {"latency", time({ms(0), ms(30), ms(2'000)})},
              {"outcome_rate", "0"},
              {"silence_rate", "0"},
              {"silence", time({ms(1), ms(400), ms(60'000)})}};
    set[prompt() ? word({"error_rate", "outcome_rate"})
                 : word({"error_rate", "latency_rate", "latency_rate",
                         "outcome_rate", "silence_rate"})]
      = "1";
    return set;
  }

  // All calls or none, as above.
  texts canary_settings() {
    return {{"enabled", word({"true", "true", "false"})},
            {"stages", word({"1", "1", "0.000001", "0.000001, 1",
                             "[{ share = 1, dwell = \"5ms\", min_calls = 2 }]",
                             "[0.000001, { share = 1, max_p99 = \"20ms\" }]"})},
            {"dwell", time({ms(1), ms(700), unlimited})},
            {"min_calls", word({"1", "3", "100"})},
            {"window", time({ms(10), ms(60'000)})},
            {"max_error_excess", word({"0", "0.5", "1"})},
            {"max_latency_ratio", word({"1", "1.5", "1000"})},
            {"min_latency_excess", time({ms(0), ms(5)})},
            {"max_p99", time({ms(1), ms(300), unlimited})},
            {"hand_over_after", time({ms(0), ms(200), unlimited})},
            {"max_failures_in_a_row", word({"0", "1", "3"})},
            {"on_failure", word({"baseline", "baseline", "pass"})},
            {"retry_after", time({ms(10), ms(1'000), unlimited})},
            {"mirror_rate", word({"0", "1"})},
            // Which of those that end at the same instant has the last place
            // is not the same.
            {"max_mirrored", "10000"},
            {"mirror_timeout", time({ms(1), ms(1'000)})},
            {"max_difference_rate", word({"0", "0.5", "1"})},
            {"max_described", word({"0", "1", "100"})}};
  }

  texts cache_settings() {
    return {
      {"ttl", time({ms(1), ms(400), ms(60'000), unlimited})},
      {"max_entries", word({"1", "10000"})},
      {"cacheable", word({"keyed", "idempotent"})},
      // Who waits for another call's answer may have another deadline, and what
      // has been sent to the next gate keeps the one that it was sent with.
      {"single_flight",
       kind_ == plan_kind::patient ? word({"true", "true", "false"}) : "false"},
      {"join_within", time({ms(1), ms(700), unlimited})},
      // Calls have one of two keys, which other layers may be kept for, too.
      {"unsafe", "true"},
      {"stale_while", time({ms(0), ms(0), ms(500), unlimited})},
      {"stale_if_error", time({ms(0), ms(500), unlimited})},
      {"refresh_timeout", time({ms(50), ms(10'000)})},
      {"refresh_backoff", time({ms(1), ms(1'000)})},
      {"flush_after", time({ms(0), ms(100), ms(1'000)})},
      {"flush_timeout", time({ms(20), ms(2'000)})},
      {"flush_backoff", time({ms(1), ms(200)})},
      {"flushes", word({"1", "8"})},
      {"staleness", time({ms(5'000), unlimited})},
      {"max_unwritten", word({"1", "1000"})},
    };
  }

  texts degradation_settings() {
    texts set{{"held_off", word({"", "", "extras", "core"})},
              {"window", time({ms(1'000), ms(10'000)})},
              {"min_calls", word({"1", "3", "20"})},
              {"percentile", word({"0", "0.5", "1"})},
              {"check_every", time({ms(10), ms(300)})},
              {"patience", time({ms(0), ms(200), ms(2'000)})},
              {"recover_after", time({ms(0), ms(500)})},
              {"recover_after_max", time({ms(1'000), ms(5'000)})},
              {"recover_failures", word({"0", "0.5", "1"})},
              {"recover_latency", word({"0", "0.8", "1"})}};
    judge_without_reached(set);
    return set;
  }

  // By default a failure that did not reach the worker does not count.
  void judge_without_reached(texts& set) const {
    if (kind_ == plan_kind::mixed)
      set["count_only"] = "deadline_exceeded,worker_down,batch_failed,"
                          "system_error:*";
  }

  texts breaker_settings() {
    texts set{
      {"trip",
       word({"consecutive", "without_gap", "rate_by_count", "rate_by_time",
             "score", "consecutive,rate_by_time", "without_gap,score"})},
      {"trip_if", word({"any", "all"})},
      {"slow_call", time({ms(1), ms(20), ms(500), unlimited, unlimited})},
      {"slow_rate", word({"0.001", "0.5", "1"})},
      {"score.limit", word({"0.001", "0.5", "1.2"})},
      {"score.latency", time({ms(1), ms(800)})},
      {"score.window", time({ms(100), ms(10'000)})},
      {"score.baseline_window", time({ms(3'000), ms(300'000)})},
      {"score.baseline_step", time({ms(1'000), ms(2'000)})},
      {"threshold", word({"1", "3"})},
      {"quiet_period", time({ms(10), ms(10'000), unlimited})},
      {"failure_rate", word({"0.001", "0.5", "1"})},
      {"window_calls", word({"5", "100"})},
      {"minimum_calls", word({"1", "5"})},
      {"window_time", time({ms(100), ms(10'000)})},
      {"open", time({ms(10), ms(400), ms(2'000)})},
      {"eager_half_open", word({"true", "false"})},
      {"probes", word({"1", "3"})},
      {"successes_to_close", word({"0", "1"})},
      {"probe_timeout", time({ms(100), ms(10'000)})},
      {"half_open_max", time({ms(50), ms(60'000), unlimited})},
      {"after_half_open_max", word({"open", "closed"})},
      {"initial", word({"closed", "closed", "half_open"})},
      // All calls pass the ramp: each gate of a chain draws from a source of
      // its own.
      {"ramp", time({ms(0), ms(0), ms(300)})},
      {"ramp_from", "1"},
      // An attempt that times out above a breaker is known to it only within
      // the same gate: gates in a chain do not see into each other.
      {"count_attempt_timeouts", "false"},
    };
    judge_without_reached(set);
    return set;
  }

  texts retrier_settings() {
    texts set{{"max_attempts", prompt() ? word({"1", "2", "3", "5", "0"})
                                        : word({"1", "2", "3", "5"})},
              {"idempotent", word({"true", "false"})},
              {"budget", word({"true", "false"})},
              {"unsafe", "true"},
              // So does a retrier know the breakers of its own gate only.
              {"heed_breakers", "false"},
              {"retry_after_cap", time({ms(0), ms(20), unlimited, unlimited})},
              {"budget_timeout_cost", word({"1", "100"})},
              {"budget_rejection_cost", word({"0", "1"})},
              {"verify_timeout", time({ms(5), ms(1'000)})},
              {"verify_attempts", word({"1", "3"})},
              {"verify_pause", time({ms(1), ms(100)})},
              {"budget_ratio", word({"0", "0.2", "1"})},
              {"budget_reserve", word({"0", "1", "10"})}};
    if (chance(50)) {
      set["backoff"] = set["max_attempts"] == "0"
                         ? time({ms(10), ms(300)})
                         : time({ms(0), ms(10), ms(300)});
    } else {
      set["backoff.kind"] = "exponential";
      set["backoff.base"] = time({ms(5), ms(100)});
    }
    return set;
  }

protected:
  using words = std::initializer_list<std::string_view>;

  std::uint64_t number(std::uint64_t n) { return random_.below(n); }
  bool chance(unsigned percent) { return number(100) < percent; }
  bool prompt() const { return kind_ == plan_kind::prompt; }

  template <class T>
  T pick(std::initializer_list<T> all) {
    return *(all.begin() + static_cast<std::ptrdiff_t>(number(all.size())));
  }

  std::string word(words all) { return std::string{pick(all)}; }

  // Two things that are due at the same instant in different gates come in an
  // order that a single gate need not have: all times are odd.
  duration odd(duration d) {
    return d + duration{1'013 * static_cast<std::int64_t>(1 + number(997))};
  }

  std::string time(std::initializer_list<duration> all) {
    auto d = pick(all);
    return caisson::to_text(d == duration::zero() || d == unlimited ? d
                                                                    : odd(d));
  }

  static constexpr duration ms(std::int64_t n) {
    return std::chrono::milliseconds(n);
  }

  plan_kind kind_;
  random_source random_;
};

} // namespace caisson::test
