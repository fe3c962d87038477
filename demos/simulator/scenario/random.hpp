// Random numbers that depend on what they are for, not on when they are drawn.
#pragma once

#include <caisson/base/hash.hpp>
#include <caisson/base/random.hpp>

#include <cstdint>
#include <string_view>

namespace caisson::sim {

/// Names one purpose of randomness. Keys made of the same parts are equal; a
/// key says nothing of another one.
class draw_key {
public:
  constexpr explicit draw_key(std::uint64_t seed) noexcept
    : value_(mix_seed(seed)) {}

  /// The key for a part of what this key is for.
  [[nodiscard]] constexpr draw_key with(std::uint64_t part) const noexcept {
    return draw_key{value_ ^ mix_seed(part + 1)};
  }

  [[nodiscard]] constexpr draw_key with(std::string_view name) const noexcept {
    return with(caisson::detail::fnv1a(name));
  }

  [[nodiscard]] constexpr std::uint64_t value() const noexcept {
    return value_;
  }

private:
  std::uint64_t value_;
};

/// The numbers of one key. Two runs that ask for the same key get the same
/// numbers, whatever else they drew before: this is what lets several arms of
/// a scenario see the same arrivals and the same service times, although their
/// policies lead to different calls. The generator is SplitMix64.
class keyed_random : public uniform_numbers<keyed_random> {
public:
  explicit keyed_random(draw_key key) noexcept : state_(key.value()) {}

  /// The next 64 random bits.
  std::uint64_t bits() noexcept {
    auto x = mix_seed(state_);
    state_ += 0x9e3779b97f4a7c15u;
    return x;
  }

private:
  std::uint64_t state_;
};

} // namespace caisson::sim
