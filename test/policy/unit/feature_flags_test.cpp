#include <caisson/policy/feature_flags.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace caisson::test {
namespace {

using strings = std::vector<std::string>;

TEST(feature_flags, has_every_feature_on_that_nobody_holds_off) {
  auto board = std::make_shared<feature_flags>();
  EXPECT_TRUE(board->is_on("never heard of"));
  auto x = board->find("x");
  EXPECT_TRUE(x.is_on());
  EXPECT_TRUE(board->all_off().empty());
  EXPECT_TRUE(feature_flags::feature{}.is_on());
}

TEST(feature_flags, a_hold_is_for_exactly_what_it_names_last) {
  auto board = std::make_shared<feature_flags>();
  auto x = board->find("x");
  auto y = board->find("y");
  feature_hold hold{board};
  hold.set({"x", "y"});
  EXPECT_FALSE(x.is_on());
  EXPECT_FALSE(y.is_on());
  EXPECT_EQ(board->all_off(), (strings{"x", "y"}));
  hold.set({"y", "z"});
  EXPECT_TRUE(x.is_on());
  EXPECT_FALSE(y.is_on());
  EXPECT_FALSE(board->is_on("z"));
  hold.set({});
  EXPECT_TRUE(board->all_off().empty());
}

TEST(feature_flags, two_holds_do_not_undo_each_others_work) {
  auto board = std::make_shared<feature_flags>();
  feature_hold one{board};
  std::optional<feature_hold> other;
  other.emplace(board);
  one.set({"x"});
  other->set({"x"});
  one.set({});
  EXPECT_FALSE(board->is_on("x"));
  other.reset();
  EXPECT_TRUE(board->is_on("x"));
}

TEST(feature_flags, one_scope_has_one_and_others_have_others) {
  int here = 0;
  int there = 0;
  auto x = feature_flags::of(&here)->find("x"); // Keeps the board.
  feature_hold hold{feature_flags::of(&here)};
  hold.set({"x"});
  EXPECT_FALSE(x.is_on());
  EXPECT_TRUE(feature_flags::of(&there)->is_on("x"));
}

TEST(feature_flags, forgets_names_that_nobody_uses) {
  auto board = std::make_shared<feature_flags>();
  auto kept = board->find("kept");
  feature_hold hold{board};
  for (int i = 0; i < 100'000; ++i) {
    hold.set({"kept", std::to_string(i)});
    ASSERT_FALSE(kept.is_on());
  }
  hold.set({"kept"});
  EXPECT_EQ(board->all_off(), strings{"kept"});
  EXPECT_EQ(board->find("kept").is_on(), kept.is_on());
}

TEST(feature_flags, no_thread_sees_a_held_feature_on) {
  auto board = std::make_shared<feature_flags>();
  auto x = board->find("x");
  feature_hold first{board};
  first.set({"x", "a"});
  std::atomic<bool> done = false;
  std::atomic<int> seen_on = 0;
  std::thread reader{[&] {
    while (!done)
      seen_on += x.is_on() || board->is_on("x") ? 1 : 0;
  }};
  for (int i = 0; i < 20'000; ++i)
    first.set({"x", i % 2 == 0 ? "b" : "a"});
  done = true;
  reader.join();
  EXPECT_EQ(seen_on, 0);
}

} // namespace
} // namespace caisson::test
