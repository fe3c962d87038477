// Formulas by which a limit on concurrency follows from a window of calls.
#pragma once

#include <caisson/base/time.hpp>

#include <cstdint>

namespace caisson::detail {

/// Limits are whole numbers from 1 on, rounded down. Latencies below 1 ns count
/// as 1 ns.

/// The share `factor`, at most 0.999, of the limit: lower by at least 1.
[[nodiscard]] std::int64_t backed_off_limit(std::int64_t limit,
                                            double factor) noexcept;

/// How many of `limit` calls queue at the worker, by TCP Vegas: those that the
/// latency without load, `baseline`, leaves no room for; rounded up.
[[nodiscard]] std::int64_t queued_calls(std::int64_t limit, duration baseline,
                                        duration latency) noexcept;

/// The next limit after `queued` calls. The unit of everything is log10 of the
/// limit, rounded down, at least 1: up to one unit that queues the limit rises
/// by `beta` units, below `alpha` by one, above `beta` it falls by one.
[[nodiscard]] std::int64_t vegas_limit(std::int64_t limit, std::int64_t queued,
                                       std::uint32_t alpha,
                                       std::uint32_t beta) noexcept;

inline constexpr double least_gradient = 0.5;
inline constexpr double most_gradient = 2;

/// `(1 + buffer) * baseline / latency`, within the two above.
[[nodiscard]] double limit_gradient(duration baseline, duration latency,
                                    double buffer) noexcept;

/// The limit times the gradient, and the root of that as headroom.
[[nodiscard]] std::int64_t gradient_limit(std::int64_t limit,
                                          double gradient) noexcept;

} // namespace caisson::detail
