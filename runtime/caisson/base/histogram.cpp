#include <caisson/base/histogram.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace caisson {

template <class Count>
auto basic_histogram<Count>::place_of(std::size_t index) noexcept -> place {
  auto group = index / subs;
  auto sub = index % subs;
  auto shift = unit_bits + (group > 0 ? group - 1 : 0);
  return {(group > 0 ? subs + sub : sub) << shift, shift};
}

template <class Count>
std::uint64_t basic_histogram<Count>::middle_of(std::size_t index) noexcept {
  auto [lowest, bits] = place_of(index);
  return lowest + (std::uint64_t{1} << bits) / 2;
}

template <class Count>
duration basic_histogram<Count>::end_of(std::size_t index) noexcept {
  if (index == buckets - 1)
    return unlimited;
  auto [lowest, bits] = place_of(index);
  return duration{
    static_cast<duration::rep>(lowest + (std::uint64_t{1} << bits) - 1)};
}

template <class Count>
duration basic_histogram<Count>::bucket_end(duration d) noexcept {
  d = std::max(d, duration::zero());
  return end_of(index_of(static_cast<std::uint64_t>(d.count())));
}

template <class Count>
void basic_histogram<Count>::add(std::size_t index, std::uint64_t n) noexcept {
  auto& c = counts_[index];
  auto room = std::uint64_t{std::numeric_limits<Count>::max()} - c;
  auto taken = std::min(n, room);
  c += static_cast<Count>(taken);
  count_ += taken;
}

template <class Count>
double basic_histogram<Count>::sum() const noexcept {
  return std::ldexp(static_cast<double>(sum_high_), 64)
         + static_cast<double>(sum_low_);
}

template <class Count>
std::optional<duration>
basic_histogram<Count>::quantile(double q) const noexcept {
  if (count_ == 0)
    return std::nullopt;
  if (q >= 1)
    return max_;
  // Not `q <= 0`, so that NaN counts as zero.
  auto target = q > 0 ? std::ceil(q * static_cast<double>(count_)) : 1.0;
  auto rank = std::clamp(static_cast<std::uint64_t>(target), std::uint64_t{1},
                         count_);
  std::size_t i = 0;
  for (std::uint64_t seen = counts_[0]; seen < rank; seen += counts_[i])
    ++i;
  // The last bucket has no upper end.
  if (i == buckets - 1)
    return max_;
  return std::min(max_, duration{static_cast<duration::rep>(middle_of(i))});
}

template <class Count>
std::vector<std::uint64_t>
basic_histogram<Count>::cumulative(std::span<const duration> bounds) const {
  std::vector<std::uint64_t> out;
  out.reserve(bounds.size());
  std::uint64_t seen = 0;
  std::size_t i = 0;
  for (auto bound : bounds) {
    for (; i < buckets && end_of(i) <= bound; ++i)
      seen += counts_[i];
    out.push_back(seen);
  }
  return out;
}

template <class Count>
void basic_histogram<Count>::merge(const basic_histogram& other) noexcept {
  for (std::size_t i = 0; i < buckets; ++i)
    add(i, other.counts_[i]);
  add_to_sum(other.sum_low_);
  sum_high_ += other.sum_high_;
  max_ = std::max(max_, other.max_);
}

template <class Count>
void basic_histogram<Count>::clear() noexcept {
  *this = basic_histogram{};
}

template class basic_histogram<std::uint32_t>;
template class basic_histogram<std::uint64_t>;

} // namespace caisson
