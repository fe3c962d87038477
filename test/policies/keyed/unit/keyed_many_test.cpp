// Thousands of keys: what concerns all of them takes many turns, in each of
// which few keys have theirs, and whoever has a call does not wait for it.
#include <policies/keyed/model/keyed_rig.hpp>
#include <support/partitioned.hpp>
#include <support/recorded_policy.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace caisson::test {
namespace {

constexpr int many = 5'000;
constexpr auto at_once = static_cast<int>(keyed_policy::most_at_once);

class keyed_many : public testing::Test {
protected:
  keyed_many() {
    for (int i = 0; i < many; ++i)
      h.finish(h.arrive(of_key(std::to_string(i))));
  }

  static keyed_config<recorded_policy> config(std::uint32_t permits,
                                              std::uint32_t most = many) {
    return {{.permits = permits}, {.max_keys = most, .idle = 1min}};
  }

  // How many policies there are, of keys or waiting to be freed.
  static int policies() {
    return static_cast<int>(recorded_policy::alive.size()) - 1;
  }

  keyed_rig<recorded_policy> h{config(1)};
};

TEST_F(keyed_many, have_new_settings_when_they_need_them) {
  auto last = h.arrive(of_key(std::to_string(many - 1)));
  h.reconfigure(config(2));
  // The first thousand, and the one with a call.
  EXPECT_EQ(h.count("permits"), many + at_once + 1);
  h.finish(h.arrive(of_key(std::to_string(many - 2))));
  EXPECT_EQ(h.count("permits"), many + at_once + 2);
  h.advance(1ms);
  EXPECT_EQ(h.count("permits"), many + 2 * at_once + 2);
  h.advance(3ms);
  EXPECT_EQ(h.count("permits"), 2 * many);
  h.advance(1ms);
  EXPECT_GE(h.policy.wakeup(), h.e.now + 50s) << "nothing is left to do";
  h.finish(last);
}

TEST_F(keyed_many, follow_orders_one_after_the_other) {
  EXPECT_TRUE(h.command(operator_command::force_open));
  EXPECT_EQ(h.policy.state(), "open");
  EXPECT_EQ(h.policy.circuit(std::to_string(many - 1)), circuit::open);
  h.advance(2ms);
  EXPECT_TRUE(h.command(operator_command::force_closed));
  EXPECT_EQ(h.policy.circuit("0"), circuit::closed);
  EXPECT_EQ(h.policy.circuit(std::to_string(many - 1)), circuit::closed);
  EXPECT_TRUE(h.command(operator_command::enable));
  h.advance(15ms);
  EXPECT_EQ(h.policy.state(), "closed");
  EXPECT_EQ(h.count("state"), 0);
  EXPECT_GE(h.policy.wakeup(), h.e.now + 50s);
}

TEST_F(keyed_many, may_get_more_changes_than_they_can_follow) {
  for (int i = 0; i < 100; ++i) {
    h.command(i % 2 == 0 ? operator_command::force_open
                         : operator_command::force_closed);
    h.reconfigure(config(1 + static_cast<std::uint32_t>(i % 2)));
  }
  h.advance(20ms);
  EXPECT_EQ(h.policy.state(), "closed");
  EXPECT_EQ(h.count("permits"), 2 * many);
}

// Partitions have names of their own, and may come and go.
TEST(keyed_partitions, add_up_whatever_their_names_become) {
  keyed_config<semaphore> c{
    partitioned({{"interactive", 0.5}, {"background", 0.3}}), {}};
  c.partitions.by_call = [](const call_info& x) {
    return std::string{x.priority > 0 ? "interactive" : "background"};
  };
  rig<keyed<semaphore>> h{c};
  std::vector<call_id> ids;
  for (int i = 0; i < 100; ++i)
    ids.push_back(h.arrive(of_key(std::to_string(i))));
  c.permits += 1;
  h.reconfigure(c);
  EXPECT_EQ(h.count("in_use_background"), 100);
  EXPECT_EQ(h.count("in_use_interactive"), 0);
  c.partitions.list.erase(c.partitions.list.begin());
  h.reconfigure(c);
  EXPECT_EQ(h.count("in_use_background"), 100);
  for (auto id : ids)
    h.finish(id);
  EXPECT_EQ(h.count("in_use_background"), 0);
}

TEST_F(keyed_many, are_forgotten_at_once_and_freed_later) {
  auto stays = h.arrive(of_key("7"));
  EXPECT_EQ(policies(), many);
  EXPECT_TRUE(h.command(operator_command::reset));
  EXPECT_EQ(h.count("keys"), 1);
  EXPECT_EQ(h.count("admitted"), 0);
  EXPECT_EQ(h.count("permits"), 1);
  EXPECT_EQ(policies(), many - at_once);
  h.advance(1ms);
  EXPECT_EQ(policies(), many - 2 * at_once);
  h.finish(stays);
  h.finish(h.arrive(of_key("8")));
  h.advance(10ms);
  EXPECT_EQ(policies(), 2);
  EXPECT_EQ(h.count("good"), 2);
}

TEST_F(keyed_many, have_no_wake_up_once_they_are_forgotten) {
  for (int i = 0; i < many; ++i)
    h.fail(h.arrive(of_key(std::to_string(i))));
  h.command(operator_command::reset);
  h.finish(h.arrive(of_key("0")));
  h.advance(20ms);
  EXPECT_EQ(policies(), 1);
  EXPECT_EQ(h.policy.wakeup(), h.e.now - 20ms + 1min);
}

TEST_F(keyed_many, give_way_little_by_little) {
  h.reconfigure(config(1, 10));
  EXPECT_EQ(h.count("keys"), many - at_once);
  // A new key finds a place all the same.
  EXPECT_EQ(h.where(h.arrive(of_key("new"))), place::below);
  EXPECT_EQ(h.count("keys"), many - 2 * at_once + 1);
  h.advance(10ms);
  EXPECT_EQ(h.count("keys"), 10);
  EXPECT_EQ(h.count("keys_evicted"), many + 1 - 10);
}

TEST_F(keyed_many, expire_little_by_little) {
  h.advance(1min);
  EXPECT_EQ(h.count("keys"), many - at_once);
  h.advance(1ms);
  EXPECT_EQ(h.count("keys"), many - 2 * at_once);
  h.advance(3ms);
  EXPECT_EQ(h.count("keys"), 0);
  EXPECT_EQ(h.count("keys_expired"), many);
}

} // namespace
} // namespace caisson::test
