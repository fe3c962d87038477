// Signs of the state of the worker in the outcomes of calls.
#pragma once

#include <caisson/policies/adaptive_limit/adaptive_limit_config.hpp>
#include <caisson/policy/policy.hpp>

#include <cstdint>

namespace caisson::detail {

enum class limit_sign : std::uint8_t { sample, slow, drop, none };

/// What a success that took so long says about the limit.
[[nodiscard]] inline limit_sign sign_of_success(const adaptive_limit_config& c,
                                                duration took) noexcept {
  return c.algorithm == limit_algorithm::aimd && took >= c.timeout
           ? limit_sign::slow
           : limit_sign::sample;
}

/// What any outcome says about the limit, by the lists of the settings.
[[nodiscard]] limit_sign sign_by_lists(const adaptive_limit_config& c,
                                       const outcome& o, duration took, env& e);

/// The same as `sign_by_lists`, but quicker for what is plainly a success.
[[nodiscard]] inline limit_sign sign_of(const adaptive_limit_config& c,
                                        const outcome& o, duration took,
                                        env& e) {
  if (c.classify.is_plain_success(o) && !o.own_error) [[likely]]
    return sign_of_success(c, took);
  return sign_by_lists(c, o, took, e);
}

} // namespace caisson::detail
