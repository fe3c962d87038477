// Popularity of keys: how often each is asked for.
#pragma once

#include <simulator/scenario/random.hpp>

#include <cstdint>
#include <vector>

namespace caisson::sim {

/// Draws keys by Zipf's law: key i of n, from 0 on, with a probability that is
/// proportional to 1 / (i + 1)^skew. All are equally likely if `skew` is 0.
class popularity {
public:
  /// `keys`: at least 1; `skew`: 0 to 10. Takes 8 bytes a key unless `skew` is
  /// 0.
  popularity(std::uint32_t keys, double skew);

  /// A key, below `keys`. Takes one number of `from`, and time logarithmic in
  /// `keys`.
  [[nodiscard]] std::uint32_t draw(keyed_random& from) const;

private:
  std::uint32_t keys_;
  // The probability of this key or one before it; empty if all are equal.
  std::vector<double> upto_;
};

} // namespace caisson::sim
