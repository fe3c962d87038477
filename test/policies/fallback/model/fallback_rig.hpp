// Helpers of the fallback's unit tests.
#pragma once

#include <caisson/policies/fallback.hpp>
#include <caisson/stack/content.hpp>

#include <support/rig.hpp>

#include <gtest/gtest.h>

#include <cstdint>

namespace caisson::test::falling_back {

using fallback_rig = rig<fallback>;
inline fallback_config simple_fallback(std::uint32_t max_concurrent = 10) {
  fallback_config c;
  c.max_concurrent = max_concurrent;
  return c;
}

// Fails unless the call is with that alternative.
inline void expect_at(const fallback_rig& h, call_id id,
                      std::uint64_t alternative) {
  EXPECT_EQ(h.where(id), place::redirected);
  EXPECT_EQ(h.calls.at(id).index, alternative);
}

inline constexpr auto a_value = alternative_kind::value;
inline constexpr auto an_actor = alternative_kind::actor;

} // namespace caisson::test::falling_back
