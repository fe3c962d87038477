// Durations that gates measure.
#pragma once

#include <cstdint>
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

} // namespace caisson
