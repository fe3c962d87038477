// Counts durations in buckets, for percentiles.
#pragma once

#include <caisson/base/time.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace caisson {

/// A log-linear histogram of durations: eight buckets of equal width per power
/// of two, as HdrHistogram has them. It has a fixed size of 256 counters and
/// allocates nothing. `record` takes constant time. Not safe for concurrent
/// use.
///
/// From 1 µs (1024 ns) to 34 min (15 · 2^37 ns) a percentile is at most 6.25 %
/// above or below the true one; below that range at most 64 ns. For longer
/// durations a percentile is the largest of all, which is exact. Zero and
/// negative durations count as zero. A bucket whose `Count` is at its maximum
/// takes no more.
///
/// `Count` is `std::uint32_t` or `std::uint64_t`.
template <class Count>
class basic_histogram {
public:
  /// Adds `d`.
  void record(duration d) noexcept {
    d = std::max(d, duration::zero());
    max_ = std::max(max_, d);
    auto ns = static_cast<std::uint64_t>(d.count());
    add_to_sum(ns);
    auto& c = counts_[index_of(ns)];
    if (c == std::numeric_limits<Count>::max()) [[unlikely]]
      return;
    ++c;
    ++count_;
  }

  /// How many durations it holds.
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }

  /// The smallest duration such that at least the share `q` of all is not
  /// longer, within the error above: the middle of its bucket, at most `max`.
  /// `q` is clamped to 0 (the shortest bucket) to 1 (exactly `max`); NaN counts
  /// as 0. Nothing if the histogram is empty.
  [[nodiscard]] std::optional<duration> quantile(double q) const noexcept;

  /// The longest duration, exactly; zero if the histogram is empty.
  [[nodiscard]] duration max() const noexcept { return max_; }

  /// All durations together, in nanoseconds, rounded once. Like the counts, it
  /// never falls except by `clear`.
  [[nodiscard]] double sum() const noexcept;

  /// For each of `bounds`, which ascend: how many durations are in buckets that
  /// end at or before it. That is the number of durations that are not longer,
  /// exactly, if the bound is a `bucket_end`; otherwise it may be too low.
  [[nodiscard]] std::vector<std::uint64_t>
  cumulative(std::span<const duration> bounds) const;

  /// How many durations each bucket holds, the shortest ones first.
  [[nodiscard]] std::span<const Count> counts() const noexcept {
    return counts_;
  }

  /// The longest duration in the bucket with that place in `counts`;
  /// `unlimited` for the last one. Bucket 0 begins at zero, and each of the
  /// others a nanosecond after the end of the one before.
  [[nodiscard]] static duration end_of(std::size_t index) noexcept;

  /// The longest duration in the bucket of `d`; `unlimited` for the last one.
  [[nodiscard]] static duration bucket_end(duration d) noexcept;

  /// Adds all that `other` holds.
  void merge(const basic_histogram& other) noexcept;

  /// Makes it empty.
  void clear() noexcept;

  friend bool operator==(const basic_histogram&, const basic_histogram&)
    = default;

private:
  static constexpr int sub_bits = 3;
  static constexpr std::uint64_t subs = 1u << sub_bits;
  /// The width of the lowest buckets, as a power of two in nanoseconds.
  static constexpr int unit_bits = 7;
  static constexpr std::size_t buckets = 256;

  /// The first nanosecond of a bucket and its width, as a power of two.
  struct place {
    std::uint64_t lowest;
    std::uint64_t width_bits;
  };

  // The first eight buckets are one unit wide. Each further group of eight
  // spans one power of two: the position of the highest bit names the group,
  // the three bits below it the bucket.
  [[nodiscard]] static std::size_t index_of(std::uint64_t ns) noexcept {
    auto units = ns >> unit_bits;
    if (units < subs)
      return static_cast<std::size_t>(units);
    auto group = static_cast<std::uint64_t>(std::bit_width(units)) - sub_bits;
    auto index = group * subs + (units >> (group - 1)) - subs;
    return std::min<std::size_t>(index, buckets - 1);
  }
  [[nodiscard]] static place place_of(std::size_t index) noexcept;
  [[nodiscard]] static std::uint64_t middle_of(std::size_t index) noexcept;
  void add(std::size_t index, std::uint64_t n) noexcept;
  void add_to_sum(std::uint64_t ns) noexcept {
    sum_low_ += ns;
    sum_high_ += sum_low_ < ns ? 1 : 0;
  }

  std::array<Count, buckets> counts_{};
  std::uint64_t count_ = 0;
  /// The sum; 64 bits would overflow after days of busy calls.
  std::uint64_t sum_low_ = 0;
  std::uint64_t sum_high_ = 0;
  duration max_ = duration::zero();
};

extern template class basic_histogram<std::uint32_t>;
extern template class basic_histogram<std::uint64_t>;

/// 1 KiB. For histograms that are cleared now and then.
using histogram = basic_histogram<std::uint32_t>;

/// 2 KiB. For histograms that count as long as the program runs.
using wide_histogram = basic_histogram<std::uint64_t>;

} // namespace caisson
