// Caisson's clock types, and durations as people write them.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace caisson {

/// Signed nanoseconds: about 292 years either way.
using duration = std::chrono::nanoseconds;

/// An instant of the actor system's clock. In production this is the monotonic
/// clock, in virtual time that of the world.
using time_point = std::chrono::time_point<std::chrono::steady_clock, duration>;

/// The instant that never comes: "no deadline", "no wake-up wanted".
inline constexpr time_point never = time_point::max();

/// The duration that never ends: "no limit".
inline constexpr duration unlimited = duration::max();

/// `t + d`, clamped to `never` instead of overflowing. A negative `d` counts as
/// zero, so a clock that steps back cannot move an instant into the past.
[[nodiscard]] constexpr time_point time_after(time_point t,
                                              duration d) noexcept {
  // Before the epoch there is room for any duration (and `never - t` has none).
  if (t > time_point{} && d >= never - t)
    return never;
  return d.count() > 0 ? t + d : t;
}

/// Time from `now` until `t`, never negative; `unlimited` if `t` is `never`.
[[nodiscard]] constexpr duration time_until(time_point t,
                                            time_point now) noexcept {
  if (t == never)
    return unlimited;
  return t > now ? t - now : duration::zero();
}

/// `d * factor`, clamped to [0, unlimited]; NaN counts as zero.
[[nodiscard]] duration duration_times(duration d, double factor) noexcept;

/// `a + b` for non-negative durations, clamped to `unlimited`.
[[nodiscard]] constexpr duration duration_sum(duration a, duration b) noexcept {
  return a > unlimited - b ? unlimited : a + b;
}

/// Reads `250ms`, `1.5s`, `2h30min`, `0`, `unlimited`. Units: ns, us, ms, s,
/// min (or m), h, d. Returns nothing for anything else, for negative values
/// and for more than 292 years.
[[nodiscard]] std::optional<duration> parse_duration(std::string_view text);

/// The shortest exact form with one unit, such as `1500ms`; `unlimited` for
/// `caisson::unlimited`. `parse_duration` reads it back to the same value.
[[nodiscard]] std::string to_text(duration d);

/// For people: three digits and a unit, such as `48.9 ms`, `2.00 s` (rounded)
/// or `4 s`, `1.5 s` (exact). Days beyond 999 have more digits.
[[nodiscard]] std::string rounded_text(duration d);

/// Seconds as a floating-point number, for rates and plots.
[[nodiscard]] constexpr double to_seconds(duration d) noexcept {
  return std::chrono::duration<double>(d).count();
}

/// A duration of `s` seconds, clamped to [0, unlimited].
[[nodiscard]] duration from_seconds(double s) noexcept;

} // namespace caisson
