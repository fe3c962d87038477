// The settings of a canary.
#pragma once

#include <caisson/base/time.hpp>
#include <caisson/policies/canary/canary_stage.hpp>
#include <caisson/policy/outcome.hpp>
#include <caisson/policy/policy.hpp>
#include <caisson/policy/policy_config.hpp>
#include <caisson/settings/settings.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace caisson {

/// What becomes of a call that the canary failed.
enum class on_canary_failure : std::uint8_t {
  /// The baseline gets it, once, if that is safe: if it was certainly not
  /// executed, or the call is idempotent.
  baseline,
  /// The canary's outcome goes up.
  pass,
};

template <>
struct enum_names<on_canary_failure> {
  static constexpr std::string_view value[] = {"baseline", "pass"};
};

/// The settings of a canary. The *canary* is a second actor, such as a new
/// version; the *baseline* is the gate's own worker.
struct canary_config {
  /// What the layer is called; empty: its kind.
  std::string name = {};
  /// Whether the layer acts, default `enforce`.
  caisson::mode mode = caisson::mode::enforce;

  /// Whether the canary gets calls at all, default yes.
  bool enabled = true;

  /// The share of the calls that the canary gets in each stage, and what limits
  /// the stage has of its own: 1 to 20 stages, with shares that grow; default
  /// 0.01, 0.05, 0.3, 1. After the last stage it keeps that share and limits.
  std::vector<canary_stage> stages = {0.01, 0.05, 0.3, 1.0};

  /// How long each stage lasts at least: 1ms to unlimited, default 5min.
  /// Unlimited: the canary stays in that stage.
  duration dwell = std::chrono::minutes(5);

  /// How many answers of the canary are needed at least to judge it, and to go
  /// on to the next stage: 1 to 1000000, default 100.
  std::uint32_t min_calls = 100;

  /// How far back answers count: 1ms to 24h, default 1min; farther if the
  /// canary gave fewer than `min_calls` answers in that time.
  duration window = std::chrono::minutes(1);

  /// How much larger the canary's share of failures may be than the baseline's:
  /// 0 to 1, default 0.02. 1: no limit.
  double max_error_excess = 0.02;

  /// How many times the baseline's 99th percentile of latencies the canary's
  /// may be: 1 to 1000, default 1.5.
  double max_latency_ratio = 1.5;

  /// A 99th percentile that exceeds the baseline's by no more than this is not
  /// too long: 0 to 1h, default 1ms.
  duration min_latency_excess = std::chrono::milliseconds(1);

  /// How probable an excess of failures or latencies like the canary's may be
  /// if both were alike, to count all the same: 0.000000001 to 1, default
  /// 0.0001. It is compared after each answer, for as long as the canary runs,
  /// so a larger level gives up good canaries by chance. 1: each excess counts.
  double significance_level = 0.0001;

  /// How long the canary's 99th percentile may be, whatever the baseline's is:
  /// 1ms to unlimited, default unlimited: no limit. Calls that have been in
  /// progress for longer, and those that run into their deadline, are longer.
  duration max_p99 = unlimited;

  /// How many consecutive failures of the canary end the stage at once: 0 to
  /// 1000000, default 10; 0: no limit. Answers that blame the request end a
  /// row.
  std::uint32_t max_failures_in_a_row = 10;

  /// Whether all calls with the same key go to the same worker, and keys that
  /// are on the canary in one stage stay there in the later ones; default no.
  bool sticky = false;

  /// What becomes of a call that the canary failed, default `baseline`.
  on_canary_failure on_failure = on_canary_failure::baseline;

  /// How long after the canary was given up, by a rollback or by `enabled`, the
  /// idempotent calls that it still has are sent to the baseline: 0 to
  /// unlimited, default unlimited: they wait for the canary. Other calls always
  /// do, because they must not be carried out twice.
  duration hand_over_after = unlimited;

  /// How long after a rollback the first stage begins again: 1ms to unlimited,
  /// default unlimited: only when an operator says so.
  duration retry_after = unlimited;

  /// The share of the idempotent calls answered by the baseline that the canary
  /// gets, too, so that the two answers can be compared: 0 to 1, default 0.
  double mirror_rate = 0;

  /// How many mirrored calls may be with the canary at once: 1 to 10000,
  /// default 10.
  std::uint32_t max_mirrored = 10;

  /// How long a mirrored call may take: 1ms to 1h, default 10s.
  duration mirror_timeout = std::chrono::seconds(10);

  /// The share of the mirrored answers of a stage that may differ: 0 to 1,
  /// default 0.001. 1: all of them.
  double max_difference_rate = 0.001;

  /// How many differences of each stage are shown with both answers, in events
  /// and the status, cut to 200 bytes each: 0 to 100, default 0, as answers may
  /// be private.
  std::uint32_t max_described = 0;

  /// Which outcomes are failures, for both sides: all errors but those that are
  /// neutral in the default table, and `shed` and `draining`. The lists are
  /// called `count_only` (allow) and `ignore` (deny), both empty by default; an
  /// error that they leave out is neutral.
  classifier classify = {};
};

void describe(field_visitor& v, canary_config& c);

void check(const canary_config& c, const setting_path& path, problems& out);

/// What counts in a stage: its own limits, and else those of the canary.
struct canary_rules {
  /// See `canary_config::dwell`.
  duration dwell = unlimited;
  /// See `canary_config::min_calls`.
  std::int64_t min_calls = 1;
  /// See `canary_config::window`.
  duration window = unlimited;
  /// See `canary_config::max_error_excess`.
  double max_error_excess = 1;
  /// See `canary_config::max_latency_ratio`.
  double max_latency_ratio = 1;
  /// See `canary_config::min_latency_excess`.
  duration min_latency_excess = duration::zero();
  /// See `canary_config::significance_level`.
  double significance_level = 1;
  /// See `canary_config::max_p99`.
  duration max_p99 = unlimited;
  /// See `canary_config::max_failures_in_a_row`.
  std::int64_t max_failures_in_a_row = 0;
  /// See `canary_config::max_difference_rate`.
  double max_difference_rate = 1;
};

/// What counts in `stage`, one of the stages of `c`.
[[nodiscard]] canary_rules rules_of(const canary_config& c,
                                    const canary_stage& stage);

/// `dwell = 5min, min_calls = 100, …`, without the window.
[[nodiscard]] std::string to_text(const canary_rules& rules);

/// What an outcome says about its sender.
enum class canary_verdict : std::uint8_t { good, bad, neutral };

/// What `o`, of the canary or the baseline, says about the one that it came
/// from. Calls `classify.by_value` of `c` if that is set; if it throws, the
/// verdict is `neutral`, and `e` is notified, which ends a call with
/// `callback_failed`.
[[nodiscard]] canary_verdict verdict_on(const outcome& o,
                                        const canary_config& c, env& e);

} // namespace caisson
