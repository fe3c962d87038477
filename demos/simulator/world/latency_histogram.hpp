// Percentiles in bounded memory.
#pragma once

#include <simulator/world/result.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace caisson::sim {

/// Counts durations in buckets that grow with them: 64 per power of two, so
/// that a percentile is exact to 1.6 %. Mean and maximum are exact.
class latency_histogram {
public:
  void add(duration d) noexcept {
    auto ns = static_cast<std::uint64_t>(d.count() > 0 ? d.count() : 0);
    ++buckets_[index_of(ns)];
    ++count_;
    sum_ += ns;
    max_ = ns > max_ ? ns : max_;
  }

  void clear() noexcept {
    if (count_ > 0)
      *this = latency_histogram{};
  }

  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }

  /// The duration that a share of `q` does not exceed: the upper end of its
  /// bucket, at most the maximum.
  [[nodiscard]] duration percentile(double q) const noexcept;

  [[nodiscard]] latency_summary summary() const noexcept;

private:
  static constexpr unsigned fine_bits = 6;
  static constexpr std::uint64_t fine = std::uint64_t{1} << fine_bits;

  // Below `fine` each nanosecond has a bucket of its own.
  static std::size_t index_of(std::uint64_t ns) noexcept {
    if (ns < fine)
      return ns;
    auto shift = static_cast<unsigned>(std::bit_width(ns)) - fine_bits - 1;
    return (std::size_t{shift} << fine_bits) + (ns >> shift);
  }

  static std::uint64_t upper_end(std::size_t index) noexcept {
    if (index < fine)
      return index;
    auto shift = (index >> fine_bits) - 1;
    return (((index & (fine - 1)) + fine + 1) << shift) - 1;
  }

  static constexpr std::size_t bucket_count = (64 - fine_bits) << fine_bits;

  std::array<std::uint64_t, bucket_count> buckets_{};
  std::uint64_t count_ = 0;
  __extension__ unsigned __int128 sum_ = 0;
  std::uint64_t max_ = 0;
};

} // namespace caisson::sim
