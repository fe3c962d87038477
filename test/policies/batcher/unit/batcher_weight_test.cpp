#include <policies/batcher/model/batcher_rig.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace caisson::test {
namespace {

batcher_config of_weight(std::uint32_t most) {
  batcher_config c;
  c.max_items = 4;
  c.max_weight = most;
  c.max_delay = 10ms;
  c.max_outstanding = 1000;
  c.max_waiting = 1000;
  return c;
}

std::vector<std::size_t> sizes_of(batcher_rig& b) {
  std::vector<std::size_t> out;
  while (!b.launched.empty())
    out.push_back(b.take().size());
  return out;
}

struct weight_row {
  const char* what;
  std::uint32_t most;
  std::vector<std::uint32_t> weights;
  std::vector<std::size_t> batches;
  std::int64_t by_count;
  std::int64_t by_weight;
  std::int64_t left;
};

TEST(batcher_weight, decides_which_items_share_a_batch) {
  using sizes = std::vector<std::size_t>;
  for (const auto& x : std::vector<weight_row>{
         {"off", 0, {500, 500, 500}, {}, 0, 0, 3},
         {"too little", 10, {3, 3, 3}, {}, 0, 0, 3},
         {"exactly enough", 10, {3, 3, 4}, {3}, 0, 1, 0},
         {"the last one does not fit", 10, {3, 3, 5}, {2}, 0, 1, 1},
         {"as many as may be, and as heavy", 4, {1, 1, 1, 1}, {4}, 1, 0, 0},
         {"as many as may be", 10, {1, 1, 1, 1}, {4}, 1, 0, 0},
         {"a heavy one alone", 10, {11}, {1}, 0, 1, 0},
         {"a heavy one after others", 10, {1, 99}, {1, 1}, 0, 2, 0},
         {"each alone", 1, {1, 1, 7}, {1, 1, 1}, 0, 3, 0},
         {"the largest", 1'000'000'000, {4'000'000'000}, {1}, 0, 1, 0},
       }) {
    SCOPED_TRACE(x.what);
    batcher_rig b{of_weight(x.most)};
    sizes batches;
    for (auto w : x.weights) {
      b.arrive(heavy(w));
      for (auto n : sizes_of(b))
        batches.push_back(n);
    }
    EXPECT_EQ(batches, x.batches);
    EXPECT_EQ(b.count("flushed_by_count"), x.by_count);
    EXPECT_EQ(b.count("flushed_by_weight"), x.by_weight);
    EXPECT_EQ(b.count("waiting"), x.left);
  }
}

TEST(batcher_weight, comes_from_the_content_if_that_says_it) {
  batcher_rig b{of_weight(10)};
  b.policy.describe_next({.weight = 10});
  b.arrive();
  EXPECT_EQ(b.take().size(), 1u);
  b.arrive(); // Nothing is said of this one.
  EXPECT_EQ(b.count("waiting"), 1);
}

TEST(batcher_weight, is_never_less_than_one) {
  batcher_rig b{of_weight(2)};
  b.policy.describe_next({.weight = 0});
  b.arrive();
  b.policy.describe_next({.weight = 0});
  b.arrive();
  EXPECT_EQ(b.take().size(), 2u);
}

TEST(batcher_weight, rejects_a_call_whose_weight_is_not_known) {
  batcher_rig b{of_weight(2)};
  b.policy.describe_next({.failed = true});
  auto id = b.arrive();
  EXPECT_EQ(b.where(id), place::rejected);
  EXPECT_EQ(b.calls.at(id).code, errc::callback_failed);
  EXPECT_EQ(b.count("items"), 0);
  EXPECT_EQ(b.where(b.arrive()), place::held) << "nothing is left of it";
}

TEST(batcher_weight, of_an_item_that_leaves_is_gone) {
  batcher_rig b{of_weight(10)};
  auto dropped_call = b.arrive(heavy(9));
  b.abandon(dropped_call);
  b.arrive(heavy(9));
  EXPECT_TRUE(b.launched.empty());
  b.arrive(heavy(1));
  EXPECT_EQ(b.take().size(), 2u);
}

TEST(batcher_weight, divides_what_has_waited_for_a_batch_in_flight) {
  auto c = of_weight(10);
  c.max_outstanding = 1;
  batcher_rig b{c};
  b.arrive(heavy(10));
  b.take();
  for (auto w : {4, 4, 4, 20, 1})
    b.arrive(heavy(static_cast<std::uint32_t>(w)));
  std::vector<std::size_t> sizes;
  while (b.count("outstanding") > 0) {
    b.done(b.last_taken);
    if (!b.launched.empty())
      sizes.push_back(b.take().size());
    if (sizes.size() == 3)
      break;
  }
  EXPECT_EQ(sizes, (std::vector<std::size_t>{2, 1, 1}));
  EXPECT_EQ(b.count("waiting"), 1);
}

TEST(batcher_weight, follows_new_settings) {
  batcher_rig b{of_weight(0)};
  b.arrive(heavy(3));
  b.arrive(heavy(4));
  b.reconfigure(of_weight(8));
  EXPECT_TRUE(b.launched.empty());
  b.reconfigure(of_weight(6));
  EXPECT_EQ(b.take(), call_ids{1});
  EXPECT_TRUE(b.launched.empty());
  b.drain();
  EXPECT_EQ(b.take(), call_ids{2});
}

TEST(batcher_weight, divides_items_of_the_largest_weight) {
  auto c = of_weight(1'000'000'000);
  c.max_items = 100'000;
  c.max_waiting = 1'000'000;
  c.max_outstanding = 1;
  batcher_rig b{c};
  b.arrive(heavy(4'000'000'000));
  b.take();
  for (int i = 0; i < 10'000; ++i)
    b.arrive(heavy(4'000'000'000));
  b.done(b.last_taken);
  EXPECT_EQ(b.take().size(), 1u);
  EXPECT_EQ(b.count("waiting"), 9'999);
}

} // namespace
} // namespace caisson::test
