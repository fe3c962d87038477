// Every request is answered once, the statistics agree, and when all is over
// nobody holds anything, whatever the world is like.
#include <simulator/world/world.hpp>

#include <support/quiescent.hpp>
#include <support/random_world.hpp>
#include <support/rounds.hpp>
#include <support/simulated.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace caisson::sim {
namespace {

using namespace std::chrono_literals;

class random_worlds : public testing::TestWithParam<std::uint64_t> {};

// What must hold at the end, long after the last request.
void expect_consistent_result(const arm_result& r) {
  EXPECT_EQ(r.answered_twice, 0u);
  EXPECT_EQ(r.unanswered, 0u);
  EXPECT_EQ(r.totals.offered, r.totals.good + r.totals.failed);
  for (const auto& s : r.services) {
    EXPECT_LT(s.little_error, 1e-9) << s.name;
    EXPECT_EQ(s.arrivals, s.refused + s.down + s.completed + s.failed
                            + s.abandoned + s.lost)
      << s.name;
  }
}

// How many worlds each test runs.
std::uint64_t worlds() {
  return test::rounds(5);
}

TEST_P(random_worlds, become_quiescent_with_every_request_answered_once) {
  for (std::uint64_t i = 0; i < worlds(); ++i) {
    auto seed = GetParam() * worlds() + i;
    auto text = test::random_world{seed}.text();
    SCOPED_TRACE("random_world{" + std::to_string(seed) + "}:\n" + text);
    auto s = parse_scenario(text, "random.toml");
    world w{s.arms.at(0), seed, {}};
    // A single server may have a long queue of slow work to finish.
    w.advance_to(10s);
    w.advance_to(5000s);
    for (const auto& gate : w.gates())
      test::expect_quiescent(gate);
    expect_consistent_result(w.recorder().result(w.time().now()));
  }
}

INSTANTIATE_TEST_SUITE_P(seeds, random_worlds,
                         testing::Range(std::uint64_t{0}, std::uint64_t{20}));

} // namespace
} // namespace caisson::sim
