// Settings of a cache for tests of a server that is away for long.
#pragma once

#include <caisson/policies/cache/cache_config.hpp>

#include <chrono>
#include <cstdint>

namespace caisson::test {

/// So many flushes of a key fail at most in two minutes with the default
/// settings: the pauses are 200 ms, doubled up to 6.4 s. (`long_away` sees to
/// it in virtual time.)
inline constexpr std::int64_t failures_in_two_minutes = 24;

/// The same, but so many within two seconds.
inline cache_config hasty_flushes() {
  using namespace std::chrono_literals;
  return {.flush_after = 0s,
          .flush_timeout = 50ms,
          .flush_backoff = 1ms,
          .staleness = 1h};
}

} // namespace caisson::test
