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
  auto flags = std::make_shared<feature_flags>();
  EXPECT_TRUE(flags->is_on("never heard of"));
  auto x = flags->find("x");
  EXPECT_TRUE(x.is_on());
  EXPECT_TRUE(flags->all_off().empty());
  EXPECT_TRUE(feature_flags::feature{}.is_on());
}

TEST(feature_flags, a_hold_is_for_exactly_what_it_names_last) {
  auto flags = std::make_shared<feature_flags>();
  auto x = flags->find("x");
  auto y = flags->find("y");
  feature_hold hold{flags};
  hold.set({"x", "y"});
  EXPECT_FALSE(x.is_on());
  EXPECT_FALSE(y.is_on());
  EXPECT_EQ(flags->all_off(), (strings{"x", "y"}));
  hold.set({"y", "z"});
  EXPECT_TRUE(x.is_on());
  EXPECT_FALSE(y.is_on());
  EXPECT_FALSE(flags->is_on("z"));
  hold.set({});
  EXPECT_TRUE(flags->all_off().empty());
}

TEST(feature_flags, two_holds_do_not_undo_each_others_work) {
  auto flags = std::make_shared<feature_flags>();
  feature_hold one{flags};
  std::optional<feature_hold> other;
  other.emplace(flags);
  one.set({"x"});
  other->set({"x"});
  one.set({});
  EXPECT_FALSE(flags->is_on("x"));
  other.reset();
  EXPECT_TRUE(flags->is_on("x"));
}

TEST(feature_flags, one_scope_has_one_and_others_have_others) {
  int here = 0;
  int there = 0;
  auto x = feature_flags::of(&here)->find("x"); // Keeps the flags.
  feature_hold hold{feature_flags::of(&here)};
  hold.set({"x"});
  EXPECT_FALSE(x.is_on());
  EXPECT_TRUE(feature_flags::of(&there)->is_on("x"));
}

TEST(feature_flags, forgets_names_that_nobody_uses) {
  auto flags = std::make_shared<feature_flags>();
  auto kept = flags->find("kept");
  feature_hold hold{flags};
  for (int i = 0; i < 100'000; ++i) {
    hold.set({"kept", std::to_string(i)});
    ASSERT_FALSE(kept.is_on());
    ASSERT_LE(flags->size(), 64u);
  }
  hold.set({"kept"});
  EXPECT_EQ(flags->all_off(), strings{"kept"});
  EXPECT_EQ(flags->find("kept").is_on(), kept.is_on());
}

TEST(feature_flags, no_thread_sees_a_held_feature_on) {
  auto flags = std::make_shared<feature_flags>();
  auto x = flags->find("x");
  feature_hold first{flags};
  // So many that a thread would see it if the first were let go before all are
  // held again.
  strings features{"x"};
  for (int i = 0; i < 500; ++i)
    features.push_back(std::to_string(i));
  first.set(features);
  constexpr int most = 200'000;
  std::atomic<int> times = 0;
  std::atomic<int> seen_on = 0;
  std::thread reader{[&] {
    for (; times < most; ++times)
      seen_on += x.is_on() || flags->is_on("x") ? 1 : 0;
  }};
  while (times < most)
    first.set(features);
  reader.join();
  EXPECT_EQ(seen_on, 0);
}

} // namespace
} // namespace caisson::test
