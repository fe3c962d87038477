// Latencies of the worker, as an adaptive limit has learned them.
#pragma once

#include <caisson/base/time.hpp>
#include <caisson/policies/adaptive_limit/adaptive_limit_config.hpp>
#include <caisson/policies/adaptive_limit/limit_window.hpp>
#include <caisson/policy/policy.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>

namespace caisson::detail {

/// Latencies of the worker with and without load, by which the limit follows a
/// window of calls, as the algorithm of the settings says.
class worker_model {
public:
  /// What a window leads to.
  struct step {
    /// Not within the bounds of the settings yet.
    std::int64_t limit = 0;
    /// The baseline was longer than `max_baseline`.
    bool capped = false;
    /// The baseline is to be probed.
    bool probes = false;
  };

  /// After a window with the limit `now`. `may_probe`: whether the baseline may
  /// be probed.
  step follow(const limit_window::results& w, std::int64_t now, bool may_probe,
              const adaptive_limit_config& c, env& e);

  /// The latency without load is `d`, or `max_baseline` if that is shorter.
  /// Returns whether it is.
  bool accept_baseline(duration d, const adaptive_limit_config& c);

  /// The baseline is not longer than `max_baseline` of new settings.
  void cap_baseline(const adaptive_limit_config& c) {
    if (baseline_)
      baseline_ = std::min(*baseline_, c.max_baseline);
  }

  /// Forgets all, but for how much later the next measurement begins.
  void clear() noexcept;

  [[nodiscard]] std::optional<duration> baseline() const noexcept {
    return baseline_;
  }
  /// The latency of the last window that had one.
  [[nodiscard]] std::optional<duration> latency() const noexcept {
    return latency_;
  }
  [[nodiscard]] double gradient() const noexcept { return gradient_; }

  /// The limit of the probe.
  [[nodiscard]] std::int64_t probe_limit() const noexcept {
    return probe_limit_;
  }

  // -- when to measure again --------------------------------------------------

  /// Whether the baseline has not fitted for many windows in a row.
  [[nodiscard]] bool misfits() const noexcept;
  void forget_misfits() noexcept { misfits_ = 0; }

  /// How much later (Vegas: earlier) the next measurement begins, as a share.
  [[nodiscard]] double delay_share() const noexcept { return delay_share_; }
  void draw_delay(const adaptive_limit_config& c, env& e);

private:
  step follow_vegas(const limit_window::results& w, std::int64_t now,
                    bool may_probe, const adaptive_limit_config& c, env& e);
  step follow_gradient(duration latency, std::int64_t now,
                       const adaptive_limit_config& c);

  std::optional<duration> baseline_;
  std::optional<duration> latency_;
  double gradient_ = 1;
  // Windows in a row for which the baseline was too short or too long.
  std::int64_t misfits_ = 0;
  // Vegas: samples since the baseline was probed, and the limit of the probe.
  std::int64_t since_probe_ = 0;
  std::int64_t probe_limit_ = 0;
  double delay_share_ = 0;
};

} // namespace caisson::detail
