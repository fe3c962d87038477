#include <caisson/histogram.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace caisson {

// The first eight buckets are one unit wide. Each further group of eight spans
// one power of two: the position of the highest bit names the group, the three
// bits below it the bucket.
std::size_t histogram::index_of(std::uint64_t ns) noexcept {
  auto units = ns >> unit_bits;
  if (units < subs)
    return static_cast<std::size_t>(units);
  auto group = static_cast<std::uint64_t>(std::bit_width(units)) - sub_bits;
  auto index = group * subs + (units >> (group - 1)) - subs;
  return std::min<std::size_t>(index, buckets - 1);
}

std::uint64_t histogram::middle_of(std::size_t index) noexcept {
  auto group = index / subs;
  auto sub = index % subs;
  auto shift = unit_bits + (group > 0 ? group - 1 : 0);
  auto lowest = (group > 0 ? subs + sub : sub) << shift;
  return lowest + (std::uint64_t{1} << shift) / 2;
}

void histogram::add(std::size_t index, std::uint64_t n) noexcept {
  auto& c = counts_[index];
  auto room = std::numeric_limits<std::uint32_t>::max() - std::uint64_t{c};
  auto taken = std::min(n, room);
  c += static_cast<std::uint32_t>(taken);
  count_ += taken;
}

void histogram::record(duration d) noexcept {
  d = std::max(d, duration::zero());
  max_ = std::max(max_, d);
  add(index_of(static_cast<std::uint64_t>(d.count())), 1);
}

std::optional<duration> histogram::quantile(double q) const noexcept {
  if (count_ == 0)
    return std::nullopt;
  if (q >= 1)
    return max_;
  // Not `q <= 0`, so that NaN counts as zero.
  auto wanted = q > 0 ? std::ceil(q * static_cast<double>(count_)) : 1.0;
  auto rank = std::clamp(static_cast<std::uint64_t>(wanted), std::uint64_t{1},
                         count_);
  std::size_t i = 0;
  for (std::uint64_t seen = counts_[0]; seen < rank; seen += counts_[i])
    ++i;
  // The last bucket has no upper end.
  if (i == buckets - 1)
    return max_;
  return std::min(max_, duration{static_cast<duration::rep>(middle_of(i))});
}

void histogram::merge(const histogram& other) noexcept {
  for (std::size_t i = 0; i < buckets; ++i)
    add(i, other.counts_[i]);
  max_ = std::max(max_, other.max_);
}

void histogram::clear() noexcept {
  *this = histogram{};
}

} // namespace caisson
