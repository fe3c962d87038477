#include <simulator/explore/round_numbers.hpp>

namespace caisson::sim {

namespace {

// 10^17, so that nothing overflows.
constexpr std::int64_t largest_power = 100'000'000'000'000'000;

} // namespace

std::vector<std::int64_t> round_numbers(std::int64_t lo, std::int64_t hi) {
  std::vector<std::int64_t> out;
  for (std::int64_t power = 1; power <= largest_power; power *= 10)
    for (std::int64_t x : {10, 15, 20, 30, 50, 70})
      if (auto n = x * power; n >= lo && n <= hi)
        out.push_back(n);
  return out;
}

std::int64_t round_unit(std::int64_t x) {
  std::int64_t out = 1;
  for (std::int64_t power = 1; power <= largest_power; power *= 10)
    for (std::int64_t n : {1, 2, 5})
      if (n * power <= x)
        out = n * power;
  return out;
}

} // namespace caisson::sim
