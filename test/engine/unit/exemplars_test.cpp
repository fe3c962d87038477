#include <caisson/engine/exemplars.hpp>

#include <caisson/engine/duration_bounds.hpp>

#include <gtest/gtest.h>

using namespace std::chrono_literals;

namespace caisson::detail {
namespace {

duration_exemplar example(std::uint64_t span, duration took) {
  return {1, 2, span, time_point{1s}, took};
}

TEST(exemplars, are_the_last_of_each_bucket) {
  exemplars all;
  EXPECT_TRUE(all.list(measured::calls, true).empty());
  all.note(measured::calls, true, example(1, 2ms));
  all.note(measured::calls, true, example(2, 100ms));
  all.note(measured::calls, true, example(3, 2ms + 1us));
  all.note(measured::calls, false, example(4, 2ms));
  all.note(measured::waits, true, example(5, 0s));
  auto found = all.list(measured::calls, true);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].span, 3u);
  EXPECT_EQ(found[1].span, 2u);
  ASSERT_EQ(all.list(measured::calls, false).size(), 1u);
  EXPECT_EQ(all.list(measured::waits, true).at(0).span, 5u);
  EXPECT_TRUE(all.list(measured::attempts, true).empty());
  all.clear();
  EXPECT_TRUE(all.list(measured::calls, true).empty());
}

TEST(exemplars, are_as_many_as_there_are_buckets) {
  exemplars all;
  std::uint64_t span = 0;
  for (auto d = 1us; d < 1h; d += d / 4 + 1us)
    all.note(measured::attempts, true, example(++span, d));
  EXPECT_EQ(all.list(measured::attempts, true).size(),
            duration_bounds().size() + 1);
  // A bound belongs to the bucket that it ends.
  exemplars edge;
  edge.note(measured::calls, true, example(1, duration_bounds()[3]));
  edge.note(measured::calls, true, example(2, duration_bounds()[3]));
  EXPECT_EQ(edge.list(measured::calls, true).size(), 1u);
  edge.note(measured::calls, true, example(3, duration_bounds()[3] + 1ns));
  EXPECT_EQ(edge.list(measured::calls, true).size(), 2u);
}

} // namespace
} // namespace caisson::detail
