// Settings of a shedder.
#pragma once

#include <caisson/base/time.hpp>
#include <caisson/policy/policy.hpp>
#include <caisson/policy/policy_config.hpp>
#include <caisson/settings/settings.hpp>

#include <chrono>
#include <cstdint>
#include <string>

namespace caisson {

/// The settings of a shedder.
struct shedder_config {
  /// What the layer is called; empty: its kind.
  std::string name = {};

  /// Whether the layer acts, default `enforce`.
  caisson::mode mode = caisson::mode::enforce;

  /// From which share of the CPU time on there is an overload: 0 to 1, default
  /// 0.9; 0: CPU time is no signal. Of the quota of the process's cgroup, or
  /// else of the machine.
  double max_cpu = 0.9;

  /// From which share of the memory on there is an overload: 0 to 1, default
  /// 0.95; 0: memory is no signal. Of the limit of the process's cgroup, or
  /// else of the machine.
  double max_memory = 0.95;

  /// There is an overload while messages wait in the gate's own mailbox for
  /// longer than this, on average: 0 to 1h, default 0: that is no signal. In a
  /// local gate it is the mailbox of its actor; a guard has none.
  duration max_mailbox_delay = duration::zero();

  /// There is an overload while calls take longer below this layer, on average,
  /// than this and the shortest average of `baseline`: 0 to 1h, default 0: how
  /// long they take is no signal.
  duration max_delay = duration::zero();

  /// There is an overload while more calls are in flight than this times the
  /// largest throughput of `history` times the shortest average of `baseline`:
  /// 0 to 100, default 1; 0: the number of calls is no signal.
  double in_flight_factor = 1;

  /// Whether too many calls in flight are a signal only while the CPU time is,
  /// or was `cool_off` ago, and CPU time alone is none; default yes. Without
  /// effect if `max_cpu` or `in_flight_factor` is 0.
  bool in_flight_needs_cpu = true;

  /// How long the CPU time counts as too much after it was: 0 to 1h, default
  /// 1s. For `in_flight_needs_cpu` only.
  duration cool_off = std::chrono::seconds(1);

  /// How often CPU time and memory are read, and the mailbox's delay is
  /// measured, at most: 10ms to 5s, default 250ms. No window ends earlier.
  duration sample = std::chrono::milliseconds(250);

  /// After what time the threshold moves: 10ms to 1min, default 1s.
  duration window = std::chrono::seconds(1);

  /// After how many calls it moves if they come earlier: 1 to 1000000, default
  /// 2000.
  std::uint32_t window_calls = 2'000;

  /// Which share fewer calls than in the last window pass in an overload: 0.001
  /// to 0.9, default 0.05.
  double decrease = 0.05;

  /// Which share more pass otherwise: 0.001 to 1, default 0.01.
  double increase = 0.01;

  /// How many calls per second always pass, if so many come: 1 to 1000000,
  /// default 5. So it is noticed when the overload is over.
  std::uint32_t minimum = 5;

  /// How far back the largest throughput is looked for: 1s to 1h, default 10s.
  /// In 20 steps.
  duration history = std::chrono::seconds(10);

  /// How far back the shortest average time of calls is looked for: 1s to 24h,
  /// at least `history`, default 1min. In 20 steps.
  duration baseline = std::chrono::minutes(1);

  /// The `retry_after` of rejections: 0 to 1h, default 1s.
  duration retry_after = std::chrono::seconds(1);

  /// For how long the threshold holds that the shedder of the worker, a gate,
  /// reports with each call that it rejects: calls below it are rejected here,
  /// without asking, but for one in 16. 0 to 1min, default 0: they are not.
  duration follow_for = duration::zero();
};

/// Lists the fields of `c`.
void describe(field_visitor& v, shedder_config& c);

/// Checks that the baseline is at least as long as the history.
void check(const shedder_config& c, const setting_path& path, problems& out);

} // namespace caisson
