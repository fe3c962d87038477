// Counts durations in buckets, for percentiles.
#pragma once

#include <caisson/time.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace caisson {

/// A log-linear histogram of durations: eight buckets of equal width per power
/// of two, as HdrHistogram has them. It has a fixed size of about 1 KiB and
/// allocates nothing. `record` takes constant time. Not safe for concurrent
/// use.
///
/// From 1 µs (1024 ns) to 34 min (15 · 2^37 ns) a percentile is at most 6.25 %
/// above or below the true one; below that range at most 64 ns. Longer
/// durations are told by the largest of all, which is exact. Zero and negative
/// durations count as zero. A bucket that holds 2^32 - 1 durations takes no
/// more.
class histogram {
public:
  /// Adds `d`.
  void record(duration d) noexcept;

  /// How many durations it holds.
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }

  /// The smallest duration such that at least the share `q` of all is not
  /// longer, within the error above: the middle of its bucket, at most `max`.
  /// `q` is clamped to 0 (the shortest bucket) to 1 (exactly `max`); NaN counts
  /// as 0. Nothing if the histogram is empty.
  [[nodiscard]] std::optional<duration> quantile(double q) const noexcept;

  /// The longest duration, exactly; zero if the histogram is empty.
  [[nodiscard]] duration max() const noexcept { return max_; }

  /// Adds all that `other` holds.
  void merge(const histogram& other) noexcept;

  /// Makes it empty.
  void clear() noexcept;

  friend bool operator==(const histogram&, const histogram&) = default;

private:
  static constexpr int sub_bits = 3;
  static constexpr std::uint64_t subs = 1u << sub_bits;
  /// The width of the lowest buckets, as a power of two in nanoseconds.
  static constexpr int unit_bits = 7;
  static constexpr std::size_t buckets = 256;

  [[nodiscard]] static std::size_t index_of(std::uint64_t ns) noexcept;
  [[nodiscard]] static std::uint64_t middle_of(std::size_t index) noexcept;
  void add(std::size_t index, std::uint64_t n) noexcept;

  std::array<std::uint32_t, buckets> counts_{};
  std::uint64_t count_ = 0;
  duration max_ = duration::zero();
};

} // namespace caisson
