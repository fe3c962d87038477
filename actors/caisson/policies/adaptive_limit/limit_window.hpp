// The window of calls that an adaptive limit follows.
#pragma once

#include <caisson/base/histogram.hpp>
#include <caisson/base/time.hpp>
#include <caisson/policies/adaptive_limit/adaptive_limit_config.hpp>

#include <cstdint>
#include <optional>

namespace caisson::detail {

/// The outcomes of the present window, or of the present measurement, and
/// whether the limit was in use.
class limit_window {
public:
  /// The sums of a window.
  struct results {
    std::optional<duration> latency;
    std::int64_t samples = 0;
    /// Whether more was dropped than is allowed.
    bool dropped = false;
  };

  void add_sample(duration took, time_point now) {
    begin_with(now);
    latencies_.record(took);
  }

  void add_drop(time_point now) {
    begin_with(now);
    ++drops_;
  }

  [[nodiscard]] std::uint64_t samples() const noexcept {
    return latencies_.count();
  }
  [[nodiscard]] std::int64_t drops() const noexcept { return drops_; }

  /// Samples and drops.
  [[nodiscard]] std::int64_t outcomes() const noexcept {
    return static_cast<std::int64_t>(latencies_.count()) + drops_;
  }

  /// Whether it has had enough outcomes and time.
  [[nodiscard]] bool is_over(const adaptive_limit_config& c,
                             time_point now) const noexcept {
    return outcomes() >= c.min_samples && now >= time_after(began_, c.window);
  }

  [[nodiscard]] std::optional<duration>
  latency(const adaptive_limit_config& c) const {
    return latencies_.quantile(c.quantile);
  }

  [[nodiscard]] results sums(const adaptive_limit_config& c) const;

  // -- use --------------------------------------------------------------------

  /// Whether more than half of the limit was in use at some time.
  [[nodiscard]] bool used() const noexcept { return used_; }

  void use() noexcept { used_ = true; }
  void use(std::int64_t in_use, std::int64_t limit) noexcept {
    used_ = used_ || 2 * in_use > limit;
  }

  /// The next one begins, with so much in use.
  void clear(std::int64_t in_use, std::int64_t limit) noexcept;

private:
  void begin_with(time_point now) noexcept {
    if (outcomes() == 0)
      began_ = now;
  }

  histogram latencies_;
  std::int64_t drops_ = 0;
  // When the first outcome came.
  time_point began_ = {};
  bool used_ = false;
};

} // namespace caisson::detail
