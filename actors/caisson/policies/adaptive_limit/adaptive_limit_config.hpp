// Settings of a limit on concurrency that adapts itself.
#pragma once

#include <caisson/base/time.hpp>
#include <caisson/policy/limit_partitions.hpp>
#include <caisson/policy/outcome.hpp>
#include <caisson/policy/policy.hpp>
#include <caisson/policy/policy_config.hpp>
#include <caisson/policy/wait_order.hpp>
#include <caisson/settings/settings.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace caisson {

/// How the limit follows from what calls show.
enum class limit_algorithm : std::uint8_t {
  /// From the ratio of the latency without load, measured now and then, to the
  /// present one.
  gradient,
  /// From how many calls seem to queue at the worker.
  vegas,
  /// One more while all is well, a share less when calls fail or are slow.
  aimd,
};

template <>
struct enum_names<limit_algorithm> {
  static constexpr std::string_view value[] = {"gradient", "vegas", "aimd"};
};

/// The settings of an `adaptive_limit`.
struct adaptive_limit_config {
  /// What the layer is called; empty: its kind.
  std::string name = {};

  /// Whether the layer acts, default `enforce`.
  caisson::mode mode = caisson::mode::enforce;

  /// Default `gradient`.
  limit_algorithm algorithm = limit_algorithm::gradient;

  /// The limit at the start and after a reset, within `min_limit` and
  /// `max_limit`; default 20.
  std::uint32_t initial_limit = 20;

  /// The limit never falls below it, but for `measure_limit`; 1 to 1000000, at
  /// most `max_limit`, default 3.
  std::uint32_t min_limit = 3;

  /// The limit never rises above it; 1 to 1000000, default 1000.
  std::uint32_t max_limit = 1'000;

  /// How many calls may wait; 0 to 1000000, default 0: none waits.
  std::uint32_t max_waiters = 0;

  /// How long a call may wait; 1ns to unlimited, default unlimited: until its
  /// own deadline. Without `max_waiters` 0 or unlimited.
  duration max_wait = unlimited;

  /// Whose turn it is, and which call leaves a full queue; default `fifo`. The
  /// others need `max_waiters`.
  wait_order order = wait_order::fifo;

  /// What belongs to the order.
  queue_settings queue = {};

  /// Guaranteed shares of the limit; default none.
  partition_settings partitions = {};

  /// How long outcomes are collected at least before the limit changes; 1ms to
  /// 1h, default 500ms. Should be longer than calls take.
  duration window = std::chrono::milliseconds(500);

  /// How many outcomes are collected at least; 1 to 1000000, default 10.
  std::uint32_t min_samples = 10;

  /// What a window with drops makes of the limit; 0.1 to 0.999, default 0.9.
  double backoff = 0.9;

  /// A larger share of drops among the outcomes of a window lowers the limit; 0
  /// (one is enough) to 1 (never), default 0.05.
  double drop_share = 0.05;

  /// Gradient and Vegas: which quantile of its latencies is that of a window;
  /// 0.01 to 1, default 0.5.
  double quantile = 0.5;

  /// Gradient and Vegas: no longer latency is taken for that without load; 1us
  /// to unlimited (default). Keeps a long incident from becoming the normal
  /// case.
  duration max_baseline = unlimited;

  /// Gradient and Vegas: how much later (gradient) or earlier (Vegas) than
  /// planned the baseline is measured, at random and at most, as a share of the
  /// interval; 0 to 1, default 0.15. So that many clients do not measure at the
  /// same time.
  double jitter = 0.15;

  /// AIMD: a call that took this long (>=) counts as dropped; 1us to unlimited,
  /// default 5s.
  duration timeout = std::chrono::seconds(5);

  /// Vegas: with fewer calls that queue than this times log10 of the limit, the
  /// limit rises; 1 to 1000, at most `beta`, default 3.
  std::uint32_t alpha = 3;

  /// Vegas: with more than this times log10 of the limit, it falls; 1 to 1000,
  /// default 6.
  std::uint32_t beta = 6;

  /// Vegas: after this many samples, times the limit, the baseline is measured
  /// again, also if it is longer then; 1 to 1000000, default 30. Meanwhile the
  /// limit is lower: by the calls that queue, and that `backoff` times.
  std::uint32_t probe = 30;

  /// Gradient: how much longer than the baseline latencies may be without
  /// lowering the limit, as a share of it; 0 to 10, default 0.25.
  double buffer = 0.25;

  /// Gradient: the limit while the baseline is measured; 1 to 1000000, default
  /// 3. A lower limit stays as it is.
  std::uint32_t measure_limit = 3;

  /// Gradient and Vegas: how many calls measure the baseline; 1 to 1000000,
  /// default 50.
  std::uint32_t measure_samples = 50;

  /// Gradient: how long after one measurement the next one begins; 1ms to
  /// unlimited, default 60s.
  duration measure_every = std::chrono::seconds(60);

  /// Gradient and Vegas: how long a measurement takes at most; then
  /// `min_samples` calls are enough, and with fewer the baseline stays as it
  /// was. 1ms to 1h, default 10s; gradient: at most `measure_every`.
  duration measure_at_most = std::chrono::seconds(10);

  /// Which outcomes count as dropped: errors named by `allow` and no others;
  /// those named by `deny` do not count; or as the function says (`transient`
  /// and `failure`: dropped). In configurations, `count_only` and `ignore`.
  classifier classify = {};
};

/// Lists the fields of `c`.
void describe(field_visitor& v, adaptive_limit_config& c);

/// Checks that limits are in order, that settings about waiting have places to
/// wait in, and shares of the limit.
void check(const adaptive_limit_config& c, const setting_path& path,
           problems& out);

/// Reports what an adaptive limit per key cannot have.
void check_per_key(const adaptive_limit_config& c, const setting_path& path,
                   problems& out);

} // namespace caisson
