// How numbers read in tables.
#pragma once

#include <caisson/time.hpp>

#include <cstdint>
#include <string>

namespace caisson::sim {

/// `1,234,567`
[[nodiscard]] std::string grouped(std::uint64_t n);

/// `99.98 %`, never rounded up; `-` of nothing.
[[nodiscard]] std::string percent(std::uint64_t part, std::uint64_t whole);
/// As above, of a share from 0 to 1.
[[nodiscard]] std::string percent(double share);

/// Three digits with a unit: `12.3 ms`, `1.50 s`, `0 s`.
[[nodiscard]] std::string short_time(duration d);

/// At most one digit behind the point: `12 s`, `0.5 s`.
[[nodiscard]] std::string short_seconds(duration d);

/// Seconds to the nanosecond, without a unit: `0.005`, `12`.
[[nodiscard]] std::string exact_seconds(duration d);

} // namespace caisson::sim
