// Formats numbers for tables.
#pragma once

#include <caisson/base/time.hpp>

#include <cstdint>
#include <string>

namespace caisson::sim {

/// `1,234,567`
[[nodiscard]] std::string grouped(std::uint64_t n);

/// A share as `95.19 %`, rounded to so many digits behind the point, at most 6;
/// but what is not all never reads as 100 %, and what is not nothing never as
/// 0 %: `99.99 %` of 0.99999, `0.01 %` of 0.00001. `-` unless it is 0 or more.
[[nodiscard]] std::string percent_to(double share, int digits);
/// With two digits.
[[nodiscard]] std::string percent(double share);
/// As above; `-` of nothing.
[[nodiscard]] std::string percent(std::uint64_t part, std::uint64_t whole);
/// As above, without zeros at the end: `50 %`, `33.33 %`.
[[nodiscard]] std::string short_percent(std::uint64_t part,
                                        std::uint64_t whole);

/// Without zeros at the end, and with as many digits as a share that somebody
/// has written may have, at most 6: `7 %`, `0.5 %`.
[[nodiscard]] std::string percent_text(double share);

/// Three digits with a unit: `12.3 ms`, `1.50 s`, `0 s`.
[[nodiscard]] std::string short_time(duration d);

/// At most one digit behind the point: `12 s`, `0.5 s`.
[[nodiscard]] std::string short_seconds(duration d);

/// Seconds to the nanosecond, without a unit: `0.005`, `12`.
[[nodiscard]] std::string exact_seconds(duration d);

} // namespace caisson::sim
