// The workers of a supervision group that stop and start together.
#include <caisson/gate/detail/group_plan.hpp>
#include <caisson/settings/problem.hpp>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

using namespace std::chrono_literals;

namespace caisson::detail {
namespace {

using member_id = group_plan::member_id;

constexpr auto all_strategies = {group_strategy::one_for_one,
                                 group_strategy::one_for_all,
                                 group_strategy::rest_for_one};

/// A group of members with the ranks 0, 1, 2 …, and the orders that they got.
class group_plan_test : public testing::Test {
protected:
  void make(group_strategy s, std::size_t n, std::uint32_t max_restarts = 5) {
    plan.emplace(supervision_group_config{s, max_restarts, 30s});
    for (std::size_t i = 0; i < n; ++i)
      join(static_cast<std::uint32_t>(i));
  }

  /// A member whose worker has started.
  member_id join(std::uint32_t rank) {
    auto id = plan->join(rank);
    plan->on_up(id, 0);
    return id;
  }

  /// The orders since the last call, such as `stop 2`. They are carried out.
  std::vector<std::string> orders() {
    std::vector<std::string> out;
    for (auto& x : plan->take_orders()) {
      out.push_back(fmt::format("{} {}", name_of(x.what), x.to));
      carried_out[x.to] = x.number;
    }
    return out;
  }

  void down(member_id id) { plan->on_down(id, carried_out[id], now, ""); }
  void up(member_id id) { plan->on_up(id, carried_out[id]); }

  using list = std::vector<std::string>;

  std::optional<group_plan> plan;
  std::map<member_id, std::uint64_t> carried_out;
  time_point now{1h};
};

TEST_F(group_plan_test, one_for_one_leaves_other_workers_alone) {
  make(group_strategy::one_for_one, 3);
  down(1);
  EXPECT_EQ(orders(), list{});
  plan->on_due(1);
  EXPECT_EQ(orders(), list{"start 1"});
  up(1);
  EXPECT_EQ(orders(), list{});
}

TEST_F(group_plan_test, one_for_all_stops_from_the_last_and_starts_in_order) {
  make(group_strategy::one_for_all, 4);
  down(1);
  EXPECT_EQ(orders(), (list{"stop 3", "stop 2", "stop 0"}));
  plan->on_due(1);
  EXPECT_EQ(orders(), list{"start 0"});
  up(0);
  EXPECT_EQ(orders(), list{"start 1"});
  up(1);
  EXPECT_EQ(orders(), list{"start 2"});
  up(2);
  EXPECT_EQ(orders(), list{"start 3"});
  up(3);
  EXPECT_EQ(orders(), list{});
}

TEST_F(group_plan_test, rest_for_one_leaves_lower_ranks_alone) {
  make(group_strategy::rest_for_one, 4);
  down(1);
  EXPECT_EQ(orders(), (list{"stop 3", "stop 2"}));
  // 2 and 3 may need 1, which waits for its delay.
  plan->on_due(1);
  EXPECT_EQ(orders(), list{"start 1"});
  up(1);
  EXPECT_EQ(orders(), list{"start 2"});
  up(2);
  EXPECT_EQ(orders(), list{"start 3"});
}

TEST_F(group_plan_test, an_ended_worker_starts_again_only_with_its_group) {
  make(group_strategy::one_for_all, 3);
  plan->on_ended(0, 0, true);
  plan->on_ended(2, 0, false);
  EXPECT_EQ(orders(), list{});
  EXPECT_EQ(plan->ended(), 2u);
  EXPECT_EQ(plan->pending(), 0u);
  EXPECT_EQ(plan->losses(), 0u);
  down(1);
  EXPECT_EQ(orders(), list{"stop 0"});
  EXPECT_EQ(plan->ended(), 1u);
  plan->on_due(1);
  EXPECT_EQ(orders(), list{"start 0"});
  up(0);
  EXPECT_EQ(orders(), list{"start 1"});
}

TEST_F(group_plan_test, one_for_one_leaves_ended_workers_alone) {
  make(group_strategy::one_for_one, 2);
  plan->on_ended(0, 0, true);
  down(1);
  plan->on_due(1);
  EXPECT_EQ(orders(), list{"start 1"});
}

TEST_F(group_plan_test, lower_ranks_that_have_ended_stay_so) {
  make(group_strategy::rest_for_one, 3);
  for (member_id x : {0, 2})
    plan->on_ended(x, 0, true);
  down(1);
  EXPECT_EQ(orders(), list{"stop 2"});
}

TEST_F(group_plan_test, stops_from_the_last_also_ended_workers) {
  make(group_strategy::one_for_all, 4);
  plan->on_ended(2, 0, true);
  down(0);
  EXPECT_EQ(orders(), (list{"stop 3", "stop 2", "stop 1"}));
}

TEST_F(group_plan_test, a_worker_that_ends_when_stopped_is_not_waited_for) {
  make(group_strategy::one_for_all, 3);
  down(1);
  EXPECT_EQ(orders(), (list{"stop 2", "stop 0"}));
  // From before the order.
  plan->on_ended(0, 0, false);
  plan->on_due(1);
  EXPECT_EQ(orders(), list{"start 0"});
  plan->on_ended(0, 1, false);
  EXPECT_EQ(orders(), list{});
  plan->on_ended(0, carried_out[0], false);
  EXPECT_EQ(orders(), list{"start 1"});
}

TEST_F(group_plan_test, a_worker_that_ends_meanwhile_does_not_start_the_rest) {
  make(group_strategy::one_for_all, 3);
  down(1);
  EXPECT_EQ(orders(), (list{"stop 2", "stop 0"}));
  plan->on_ended(2, carried_out[2], false);
  EXPECT_EQ(orders(), list{}) << "1 has not waited yet";
  plan->on_due(1);
  EXPECT_EQ(orders(), list{"start 0"});
}

TEST_F(group_plan_test, ended_workers_are_given_up_with_the_group) {
  make(group_strategy::one_for_one, 3, 0);
  plan->on_ended(0, 0, true);
  plan->on_ended(2, 0, false);
  down(1);
  EXPECT_EQ(orders(), (list{"give_up 2", "give_up 1", "give_up 0"}));
  plan->on_ended(0, carried_out[0], true);
  for (member_id x : {0, 1, 2})
    plan->leave(x);
  EXPECT_EQ(plan->ended(), 0u);
  EXPECT_FALSE(plan->is_over());
}

TEST_F(group_plan_test, another_lifetime_changes_an_ended_worker) {
  make(group_strategy::one_for_all, 2);
  plan->on_ended(0, 0, false);
  plan->on_ended(0, 0, true);
  EXPECT_EQ(plan->ended(), 1u);
  down(1);
  EXPECT_EQ(orders(), list{"stop 0"});
}

TEST_F(group_plan_test, equal_ranks_are_not_the_rest) {
  plan.emplace(supervision_group_config{group_strategy::rest_for_one, 5, 30s});
  for (auto rank : {7u, 7u, 8u})
    join(rank);
  down(0);
  EXPECT_EQ(orders(), list{"stop 2"});
}

TEST_F(group_plan_test, a_second_loss_meanwhile_joins_the_same_restart) {
  make(group_strategy::one_for_all, 3);
  down(0);
  EXPECT_EQ(orders(), (list{"stop 2", "stop 1"}));
  // Its own reports crossed the order on their way.
  plan->on_down(2, 0, now, "");
  plan->on_due(2);
  EXPECT_EQ(orders(), list{});
  plan->on_due(0);
  EXPECT_EQ(orders(), list{"start 0"});
  up(0);
  EXPECT_EQ(orders(), list{"start 1"});
  up(1);
  EXPECT_EQ(orders(), list{"start 2"});
}

TEST_F(group_plan_test, a_loss_that_crossed_a_stop_does_not_count) {
  make(group_strategy::one_for_all, 2, 1);
  down(0);
  EXPECT_EQ(orders(), list{"stop 1"});
  plan->on_down(1, 0, now, "");
  EXPECT_FALSE(plan->is_over());
}

TEST_F(group_plan_test, a_worker_that_dies_while_starting_holds_up_the_group) {
  make(group_strategy::one_for_all, 3);
  down(0);
  plan->on_due(0);
  orders();
  down(0);
  EXPECT_EQ(orders(), list{});
  plan->on_due(0);
  EXPECT_EQ(orders(), list{"start 0"});
}

TEST_F(group_plan_test, a_starting_worker_stops_with_the_group) {
  make(group_strategy::rest_for_one, 2);
  down(1);
  plan->on_due(1);
  EXPECT_EQ(orders(), list{"start 1"});
  down(0);
  EXPECT_EQ(orders(), list{"stop 1"});
  // That it is up was on its way when it was asked to stop.
  plan->on_up(1, 1);
  plan->on_due(0);
  EXPECT_EQ(orders(), list{"start 0"});
  up(0);
  EXPECT_EQ(orders(), list{"start 1"});
}

TEST_F(group_plan_test, a_worker_that_ends_is_not_waited_for) {
  make(group_strategy::one_for_all, 3);
  down(0);
  orders();
  plan->leave(0);
  EXPECT_EQ(orders(), list{"start 1"});
  plan->leave(1);
  EXPECT_EQ(orders(), list{"start 2"});
}

TEST_F(group_plan_test, too_many_losses_give_all_up) {
  make(group_strategy::one_for_one, 2, 2);
  for (auto i = 0; i < 2; ++i) {
    down(0);
    plan->on_due(0);
    orders();
    up(0);
  }
  now += 30s;
  down(1);
  EXPECT_EQ(orders(), (list{"give_up 1", "give_up 0"}));
  EXPECT_TRUE(plan->is_over());
  plan->on_due(1);
  up(0);
  EXPECT_EQ(orders(), list{});
  plan->join(9);
  EXPECT_EQ(orders(), list{"give_up 2"});
}

TEST_F(group_plan_test, losses_are_forgotten_after_the_period) {
  make(group_strategy::one_for_one, 1, 1);
  down(0);
  plan->on_due(0);
  orders();
  up(0);
  now += 30s + 1ns;
  down(0);
  EXPECT_FALSE(plan->is_over());
}

TEST_F(group_plan_test, a_worker_that_is_given_up_takes_the_group_along) {
  make(group_strategy::one_for_all, 3);
  down(1);
  orders();
  plan->on_gave_up("");
  EXPECT_EQ(orders(), (list{"give_up 2", "give_up 1", "give_up 0"}));
  plan->on_gave_up("");
  EXPECT_EQ(orders(), list{});
}

TEST_F(group_plan_test, the_first_start_of_a_member_is_waited_for) {
  make(group_strategy::rest_for_one, 0);
  auto first = plan->join(1);
  auto second = join(2);
  EXPECT_EQ(plan->pending(), 1u);
  down(second);
  plan->on_due(second);
  EXPECT_EQ(orders(), list{});
  up(first);
  EXPECT_EQ(orders(), (list{fmt::format("start {}", second)}));
  // One that cannot start is lost like any other.
  auto third = plan->join(3);
  plan->on_down(third, 0, now, "");
  EXPECT_EQ(plan->losses(), 2u);
}

TEST_F(group_plan_test, begins_anew_when_all_have_ended) {
  make(group_strategy::one_for_all, 2, 1);
  down(0);
  down(0);
  EXPECT_TRUE(plan->is_over());
  static_cast<void>(plan->take_orders());
  plan->leave(0);
  EXPECT_TRUE(plan->is_over());
  // One that comes meanwhile is given up, too.
  auto third = plan->join(7);
  EXPECT_EQ(orders(), (list{fmt::format("give_up {}", third)}));
  plan->leave(third);
  plan->leave(1);
  EXPECT_FALSE(plan->is_over());
  auto next = join(0);
  EXPECT_EQ(plan->members(), 1u);
  carried_out.clear();
  // The losses of before do not count.
  down(next);
  EXPECT_FALSE(plan->is_over());
  EXPECT_EQ(plan->pending(), 1u);
  EXPECT_EQ(plan->losses(), 3u);
}

TEST_F(group_plan_test, settings_are_checked) {
  EXPECT_THROW(make(group_strategy::one_for_all, 1, 1'001), config_error);
}

/// Plays gates that obey, at random speed. In the end all are up, whatever
/// happened, and no two start at once that may need each other.
TEST_F(group_plan_test, a_strategy_can_change_between_losses) {
  make(group_strategy::one_for_one, 3);
  plan->reconfigure({group_strategy::rest_for_one, 5, 30s});
  down(1);
  EXPECT_EQ(orders(), list{"stop 2"});
  plan->on_due(1);
  EXPECT_EQ(orders(), list{"start 1"});
}

TEST_F(group_plan_test, waiting_workers_start_when_turns_are_abolished) {
  make(group_strategy::one_for_all, 4);
  down(1);
  EXPECT_EQ(orders(), (list{"stop 3", "stop 2", "stop 0"}));
  plan->on_due(1);
  EXPECT_EQ(orders(), list{"start 0"});
  plan->reconfigure({group_strategy::one_for_one, 5, 30s});
  EXPECT_EQ(orders(), (list{"start 1", "start 2", "start 3"}));
  for (member_id i = 0; i < 4; ++i)
    up(i);
  EXPECT_EQ(orders(), list{});
}

TEST_F(group_plan_test, workers_that_wait_for_their_own_delay_go_on_waiting) {
  make(group_strategy::one_for_all, 2);
  down(0);
  EXPECT_EQ(orders(), list{"stop 1"});
  plan->reconfigure({group_strategy::one_for_one, 5, 30s});
  EXPECT_EQ(orders(), list{"start 1"});
  plan->on_due(0);
  EXPECT_EQ(orders(), list{"start 0"});
}

TEST_F(group_plan_test, turns_come_back_while_workers_start) {
  make(group_strategy::one_for_one, 3);
  down(0);
  down(2);
  plan->on_due(2);
  EXPECT_EQ(orders(), list{"start 2"});
  plan->reconfigure({group_strategy::one_for_all, 5, 30s});
  up(2);
  plan->on_due(0);
  EXPECT_EQ(orders(), list{"start 0"});
  up(0);
  EXPECT_EQ(orders(), list{});
}

TEST_F(group_plan_test, a_lower_limit_counts_earlier_losses) {
  make(group_strategy::one_for_one, 2);
  for (auto i = 0; i < 3; ++i) {
    down(0);
    plan->on_due(0);
    orders();
    up(0);
  }
  plan->reconfigure({group_strategy::one_for_one, 3, 30s});
  down(1);
  EXPECT_EQ(orders(), (list{"give_up 1", "give_up 0"}));
  EXPECT_TRUE(plan->is_over());
}

RC_GTEST_PROP(group_plan_property, all_workers_come_back, ()) {
  auto strategy = *rc::gen::elementOf(std::vector(all_strategies));
  auto n = *rc::gen::inRange<std::size_t>(1, 6);
  group_plan plan{{strategy, 1'000, 1h}};
  enum class life { up, delayed, waiting, starting };
  std::vector<life> lives;
  std::vector<std::uint32_t> ranks;
  std::vector<std::uint64_t> carried_out(n);
  for (std::size_t i = 0; i < n; ++i) {
    ranks.push_back(*rc::gen::inRange(0u, 3u));
    plan.on_up(plan.join(ranks.back()), 0);
    lives.push_back(life::up);
  }
  auto obey = [&] {
    for (auto& x : plan.take_orders()) {
      carried_out[x.to] = x.number;
      if (x.what == member_order::stop) {
        lives[x.to] = life::waiting;
      } else {
        RC_ASSERT(x.what == member_order::start);
        RC_ASSERT(lives[x.to] == life::waiting);
        lives[x.to] = life::starting;
      }
    }
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t k = 0; k < i; ++k)
        if (lives[i] == life::starting && lives[k] == life::starting)
          RC_ASSERT(strategy == group_strategy::one_for_one
                    || (strategy == group_strategy::rest_for_one
                        && ranks[i] == ranks[k]));
  };
  auto go_on = [&](std::size_t i) {
    if (lives[i] == life::delayed) {
      lives[i] = life::waiting;
      plan.on_due(i);
    } else if (lives[i] == life::starting) {
      lives[i] = life::up;
      plan.on_up(i, carried_out[i]);
    }
  };
  auto steps = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 100));
  for (auto step : steps) {
    auto i = static_cast<std::size_t>(step) % n;
    if (step < 30 && (lives[i] == life::up || lives[i] == life::starting)) {
      lives[i] = life::delayed;
      plan.on_down(i, carried_out[i], time_point{1s}, "");
    } else {
      go_on(i);
    }
    obey();
  }
  for (std::size_t round = 0; round < 4 * n; ++round)
    for (std::size_t i = 0; i < n; ++i) {
      go_on(i);
      obey();
    }
  for (auto x : lives)
    RC_ASSERT(x == life::up);
}

} // namespace
} // namespace caisson::detail
