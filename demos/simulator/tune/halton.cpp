#include <simulator/tune/halton.hpp>

#include <array>
#include <numeric>
#include <utility>

namespace caisson::sim {

namespace {

constexpr std::array<std::uint64_t, most_dimensions> primes{
  2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71};

// By Fisher and Yates.
std::vector<std::uint32_t> permutation(std::uint64_t n, keyed_random& random) {
  std::vector<std::uint32_t> out(n);
  std::iota(out.begin(), out.end(), 0u);
  for (auto i = n; i > 1; --i)
    std::swap(out[i - 1], out[random.below(i)]);
  return out;
}

} // namespace

halton_sequence::halton_sequence(std::size_t dimensions, draw_key key) {
  for (std::size_t i = 0; i < dimensions; ++i) {
    keyed_random random{key.with("halton").with(i)};
    dimension d{.base = primes[i], .digits = {}};
    // As many digits as a number can distinguish.
    for (double unit = 1; unit > 0x1.0p-53; unit /= double(d.base))
      d.digits.push_back(permutation(d.base, random));
    dimensions_.push_back(std::move(d));
  }
}

std::vector<double> halton_sequence::point(std::uint64_t i) const {
  std::vector<double> out;
  for (const auto& d : dimensions_) {
    double x = 0;
    double unit = 1;
    auto rest = i;
    for (const auto& digits : d.digits) {
      unit /= static_cast<double>(d.base);
      x += unit * digits[rest % d.base];
      rest /= d.base;
    }
    out.push_back(x < 1 ? x : 0x1.fffffffffffffp-1);
  }
  return out;
}

} // namespace caisson::sim
