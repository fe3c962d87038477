// Algorithms of rate limits.
#pragma once

#include <caisson/settings/fwd.hpp>

#include <cstdint>
#include <string_view>

namespace caisson {

/// How a limiter counts.
enum class rate_algorithm : std::uint8_t {
  /// Tokens arrive evenly, and up to `burst` are stored.
  token_bucket,
  /// At most `rate` in each window of `per`.
  fixed_window,
  /// At most about `rate` in any span of `per`.
  sliding_window,
  /// Calls are spaced evenly, none is stored.
  leaky_bucket,
  /// As `leaky_bucket`, with longer intervals after a quiet time.
  warm_up,
};

template <>
struct enum_names<rate_algorithm> {
  static constexpr std::string_view value[] = {
    "token_bucket", "fixed_window", "sliding_window", "leaky_bucket", "warm_up",
  };
};

} // namespace caisson
