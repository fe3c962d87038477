// Checks how the time of something grows with its size.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>

namespace caisson::test {

/// Processor time of the calling thread, in seconds: not disturbed by what else
/// runs on the machine.
inline double thread_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// `run(n)` returns how long `n` of something took. Expects that it grows with
/// `n` and not with its square, which is distinguished best if `many` is
/// several times `few`: each may be disturbed, by caches too.
template <class F>
void expect_linear(int few, int many, F run) {
  auto ratio = static_cast<double>(many) / few;
  auto small = std::min(run(few), run(few));
  auto large = run(many);
  constexpr auto noise = 0.005;
  EXPECT_LT(large, 2.5 * ratio * (small + noise))
    << few << " took " << small << " s, " << many << " took " << large << " s";
}

} // namespace caisson::test
