#include <simulator/world/popularity.hpp>

#include <algorithm>
#include <cmath>

namespace caisson::sim {

popularity::popularity(std::uint32_t keys, double skew) : keys_(keys) {
  if (skew == 0)
    return;
  upto_.reserve(keys);
  double sum = 0;
  for (std::uint32_t i = 1; i <= keys; ++i)
    upto_.push_back(sum += std::pow(i, -skew));
  for (auto& x : upto_)
    x /= sum;
}

std::uint32_t popularity::draw(keyed_random& from) const {
  if (upto_.empty())
    return static_cast<std::uint32_t>(from.below(keys_));
  auto i = std::upper_bound(upto_.begin(), upto_.end(), from.uniform());
  return std::min(static_cast<std::uint32_t>(i - upto_.begin()), keys_ - 1);
}

} // namespace caisson::sim
