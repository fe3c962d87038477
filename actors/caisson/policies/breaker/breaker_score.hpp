// The settings of a breaker's composite score.
#pragma once

#include <caisson/base/time.hpp>
#include <caisson/settings/fwd.hpp>

#include <chrono>

namespace caisson {

/// How load, failures and latency make one number, which opens the breaker
/// above `limit`:
///
///     load_weight    · calls per second / baseline
///   + failure_weight · share of failures / failure_rate
///   + latency_weight · percentile of the latencies / latency
///
/// The baseline is the median of the calls per second in the intervals of
/// `baseline_step` during the last `baseline_window`, without intervals that
/// had no call. Before there is one, the load counts as normal: the first
/// term is `load_weight`.
struct breaker_score {
  /// The score to open above (>); 0.001 to 1000, default 1.2.
  double limit = 1.2;

  /// The weight of the load; 0 to 100, default 0.4.
  double load_weight = 0.4;
  /// The weight of failures; 0 to 100, default 0.35.
  double failure_weight = 0.35;
  /// The weight of the latency; 0 to 100, default 0.25.
  double latency_weight = 0.25;

  /// The share of failures that counts as 1; 0.001 to 1, default 0.05.
  double failure_rate = 0.05;

  /// Which percentile of the latencies; 0.5 to 0.9999, default 0.99.
  double percentile = 0.99;

  /// The latency that counts as 1; 1ms to 1h, default 800ms.
  duration latency = std::chrono::milliseconds(800);

  /// How far back calls, failures and latencies count; 100ms to 1h, default
  /// 10s. The score is computed at the end of each tenth of it.
  duration window = std::chrono::seconds(10);

  /// How far back the baseline looks; 1s to 24h, default 5min, at most 1000
  /// times `baseline_step`.
  duration baseline_window = std::chrono::minutes(5);

  /// How often it is computed, and for how long each of its intervals lasts; 1s
  /// to 1h, default 30s, at most `baseline_window`.
  duration baseline_step = std::chrono::seconds(30);

  friend bool operator==(const breaker_score&, const breaker_score&) = default;
};

/// Visits the fields in the order of the table in docs/breaker.md.
void describe(field_visitor& v, breaker_score& c);

/// Reports violated relations between fields.
void check(const breaker_score& c, const setting_path& path, problems& out);

} // namespace caisson
