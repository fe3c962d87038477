// Durations and counts that gates measure of calls.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace caisson {

/// What a gate measures the duration of.
enum class measured : std::uint8_t {
  /// From a call's arrival to its answer.
  calls,
  /// From sending an attempt, or granting a lease, to its end.
  attempts,
  /// From a call's arrival until it is first sent, or granted a permit.
  waits,
};

/// The number of the last of them, for arrays and loops over all.
inline constexpr std::uint8_t last_measured = 2;

[[nodiscard]] std::string_view name_of(measured x) noexcept;

/// What is counted of each call that ends, without requests for permits.
enum class tallied : std::uint8_t {
  /// How many messages were sent for it, to the worker or an alternative; 0: it
  /// was answered, or ended, without any.
  attempts,
  /// How much of its time limit it has used, in thousandths, rounded up, at
  /// most 1000. Calls without a limit are not counted.
  limit_used,
};

/// The number of the last of them, for arrays and loops over all.
inline constexpr std::uint8_t last_tallied = 1;

[[nodiscard]] std::string_view name_of(tallied x) noexcept;

/// The upper bounds of its buckets, in ascending order. One more bucket, for
/// what exceeds the last bound, follows.
[[nodiscard]] std::span<const std::uint32_t> bounds_of(tallied x) noexcept;

// -- implementation -----------------------------------------------------------

namespace detail {

inline constexpr std::array<std::uint32_t, 11> attempt_bounds{
  0, 1, 2, 3, 4, 5, 6, 8, 12, 16, 32};
inline constexpr std::array<std::uint32_t, 10> limit_bounds{
  100, 200, 300, 400, 500, 600, 700, 800, 900, 1000};

} // namespace detail

inline std::span<const std::uint32_t> bounds_of(tallied x) noexcept {
  if (x == tallied::attempts)
    return detail::attempt_bounds;
  return detail::limit_bounds;
}

} // namespace caisson
