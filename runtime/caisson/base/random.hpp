// The seeded source of all randomness.
#pragma once

#include <cstdint>
#include <random>

namespace caisson {

/// Random bits, or a good hash, as a number in [0, 1); uses 53 of them.
[[nodiscard]] constexpr double unit_interval(std::uint64_t bits) noexcept {
  return static_cast<double>(bits >> 11) * 0x1.0p-53;
}

/// Uniform numbers from a `Source` that derives from this and has `bits()`,
/// which returns the next 64 random bits.
template <class Source>
class uniform_numbers {
public:
  /// Uniform in [0, 1), with 53 random bits.
  double uniform() { return unit_interval(bits()); }

  /// Uniform in [lo, hi); `lo` if the interval is empty.
  double uniform(double lo, double hi) {
    return hi > lo ? lo + (hi - lo) * uniform() : lo;
  }

  /// Uniform in {0, …, n - 1}; 0 for `n` = 0. The bias is below n / 2^64.
  std::uint64_t below(std::uint64_t n) {
    __extension__ using wide = unsigned __int128;
    return static_cast<std::uint64_t>((static_cast<wide>(bits()) * n) >> 64);
  }

private:
  std::uint64_t bits() { return static_cast<Source&>(*this).bits(); }
};

/// A seeded random source. The same seed gives the same numbers with every
/// compiler and standard library: it uses only the engine's raw output, because
/// the standard distributions differ between libraries. Not safe for concurrent
/// use; every gate owns one.
class random_source : public uniform_numbers<random_source> {
public:
  /// Begins with `seed`: the same one gives the same numbers.
  explicit random_source(std::uint64_t seed = 0) : engine_(seed) {}

  /// The next 64 random bits.
  std::uint64_t bits() { return engine_(); }

private:
  std::mt19937_64 engine_;
};

/// Derives a well-mixed 64-bit value from `x` (the finaliser of SplitMix64), so
/// that sources with neighbouring seeds have unrelated sequences.
[[nodiscard]] constexpr std::uint64_t mix_seed(std::uint64_t x) noexcept {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

} // namespace caisson
