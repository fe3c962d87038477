#include <caisson/policy/shared_retry_budget.hpp>

#include <policies/retrier/model/retrier_rig.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

namespace caisson::test {
namespace {

using namespace retrying;
using namespace std::chrono_literals;

constexpr retry_budget::limits one_per_second{10s, 1, 0};

TEST(shared_retry_budget, is_one_for_each_name_in_each_scope) {
  int here = 0;
  int there = 0;
  auto a = shared_retry_budget::named(&here, "a", one_per_second);
  EXPECT_EQ(shared_retry_budget::named(&here, "a", one_per_second), a);
  EXPECT_NE(shared_retry_budget::named(&here, "b", one_per_second), a);
  EXPECT_NE(shared_retry_budget::named(&there, "a", one_per_second), a);
}

TEST(shared_retry_budget, the_first_user_sets_the_limits) {
  int here = 0;
  auto a = shared_retry_budget::named(&here, "a", one_per_second);
  auto b = shared_retry_budget::named(&here, "a", {10s, 5, 0});
  EXPECT_EQ(b->balance(), 10);
  a->change({10s, 5, 0});
  EXPECT_EQ(b->balance(), 50);
  EXPECT_TRUE(b->try_withdraw(retrier_rig::start()));
  // What it has already is no change.
  a->change({10s, 5, 0});
  EXPECT_EQ(b->balance(), 49);
}

TEST(shared_retry_budget, lives_as_long_as_its_users) {
  int here = 0;
  auto a = shared_retry_budget::named(&here, "a", one_per_second);
  EXPECT_TRUE(a->try_withdraw(retrier_rig::start(), 10));
  EXPECT_EQ(a->balance(), 0);
  a.reset();
  EXPECT_EQ(shared_retry_budget::named(&here, "a", one_per_second)->balance(),
            10);
}

TEST(shared_retry_budget, forgets_names_that_nobody_uses) {
  int here = 0;
  auto kept = shared_retry_budget::named(&here, "kept", one_per_second);
  for (int i = 0; i < 10'000; ++i)
    shared_retry_budget::named(&here, std::to_string(i), one_per_second);
  EXPECT_EQ(shared_retry_budget::named(&here, "kept", one_per_second), kept);
}

TEST(shared_retry_budget, grants_no_retry_twice_to_many_threads) {
  shared_retry_budget budget{{60s, 100, 0}};
  std::atomic<int> granted = 0;
  std::vector<std::thread> users;
  for (int i = 0; i < 4; ++i)
    users.emplace_back([&] {
      for (int n = 0; n < 5'000; ++n)
        granted += budget.try_withdraw(retrier_rig::start()) ? 1 : 0;
    });
  for (auto& x : users)
    x.join();
  EXPECT_EQ(granted, 6'000);
}

// -- in retriers --------------------------------------------------------------

retrier_config sharing() {
  auto c = simple_retrier();
  c.budget = true;
  c.budget_ratio = 0.5;
  c.budget_reserve = 1;
  c.budget_ttl = 1s;
  return c;
}

TEST(shared_retry_budget, retriers_spend_what_others_earn) {
  auto budget = std::make_shared<shared_retry_budget>(
    retry_budget::limits{1s, 1, 0.5});
  retrier_rig a{sharing()};
  retrier_rig b{sharing()};
  a.policy.share(budget);
  b.policy.share(budget);
  for (int i = 0; i < 4; ++i)
    a.arrive();
  EXPECT_EQ(b.count("budget_left"), 3);
  auto id = b.arrive();
  for (int i = 0; i < 3; ++i)
    backoff_after(b, id);
  b.fail(id);
  EXPECT_EQ(b.count("gave_up_budget"), 1);
  EXPECT_EQ(a.count("budget_left"), 0);
  // A reset of one of them gives nothing back.
  EXPECT_TRUE(a.command(operator_command::reset));
  EXPECT_EQ(a.count("budget_left"), 0);
  a.policy.share(nullptr);
  EXPECT_EQ(a.count("budget_left"), 1);
}

TEST(shared_retry_budget, new_limits_of_one_are_those_of_all) {
  auto budget = std::make_shared<shared_retry_budget>(
    retry_budget::limits{1s, 1, 0.5});
  retrier_rig a{sharing()};
  retrier_rig b{sharing()};
  a.policy.share(budget);
  b.policy.share(budget);
  auto c = sharing();
  c.budget_reserve = 7;
  a.reconfigure(c);
  EXPECT_EQ(b.count("budget_left"), 7);
}

} // namespace
} // namespace caisson::test
