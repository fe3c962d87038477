// Settings of a time limit that follows from how long calls take.
#pragma once

#include <caisson/base/time.hpp>
#include <caisson/settings/fwd.hpp>

#include <chrono>
#include <cstdint>

namespace caisson {

/// The limit is
///
///   factor · quantile of the durations + deviations · their standard deviation
///
/// within `least` and `most`.
struct learned_limit {
  /// Whether the limit is learned; default false.
  bool on = false;

  /// Which quantile of the durations; 0.5 to 0.999, default 0.95.
  double quantile = 0.95;

  /// How many times this quantile; 1 to 100, default 1. Below 1, calls would be
  /// cut off that are known to succeed later.
  double factor = 1;

  /// How many standard deviations more; 0 to 100, default 2.
  double deviations = 2;

  /// The limit is never shorter; 1us to 365d, default 1ms.
  duration least = std::chrono::milliseconds(1);

  /// The limit is never longer; 1us to 365d, at least `least`, default 10s.
  duration most = std::chrono::seconds(10);

  /// How far back durations count; 100ms to 24h, default 1min. The limit is
  /// computed anew each fiftieth of it.
  duration window = std::chrono::minutes(1);

  /// With fewer durations in the window nothing is known; 1 to 1000000, default
  /// 100.
  std::uint32_t minimum_samples = 100;
};

void describe(field_visitor& v, learned_limit& c);

void check(const learned_limit& c, const setting_path& path, problems& out);

} // namespace caisson
