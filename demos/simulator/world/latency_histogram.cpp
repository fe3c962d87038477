#include <simulator/world/latency_histogram.hpp>

#include <algorithm>
#include <cmath>

namespace caisson::sim {

duration latency_histogram::percentile(double q) const noexcept {
  if (count_ == 0)
    return duration::zero();
  auto rank = static_cast<std::uint64_t>(
    std::ceil(q * static_cast<double>(count_)));
  rank = std::clamp<std::uint64_t>(rank, 1, count_);
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < bucket_count; ++i) {
    seen += buckets_[i];
    if (seen >= rank)
      return duration{static_cast<std::int64_t>(std::min(upper_end(i), max_))};
  }
  return duration{static_cast<std::int64_t>(max_)};
}

latency_summary latency_histogram::summary() const noexcept {
  latency_summary s;
  s.count = count_;
  if (count_ == 0)
    return s;
  s.mean = duration{static_cast<std::int64_t>(sum_ / count_)};
  s.p50 = percentile(0.50);
  s.p90 = percentile(0.90);
  s.p95 = percentile(0.95);
  s.p99 = percentile(0.99);
  s.p999 = percentile(0.999);
  s.max = duration{static_cast<std::int64_t>(max_)};
  return s;
}

} // namespace caisson::sim
