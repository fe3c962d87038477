// The bounds of the buckets in which metrics show durations.
#pragma once

#include <caisson/base/time.hpp>

#include <span>

namespace caisson::detail {

/// The bounds of the buckets of all durations, each the end of a bucket of a
/// gate's histogram, so that the counts are exact: from 16 µs on by the factor
/// 4, from 1 ms to 34 s by the factor 2.
[[nodiscard]] std::span<const duration> duration_bounds();

} // namespace caisson::detail
