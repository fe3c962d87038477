// The limit of calls in flight of a breaker before it opens.
#include <policies/breaker/model/breaker_rig.hpp>
#include <support/problem_texts.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;
using by_hand = operator_command;

// Opens at 10 failures of the last 20 calls, and limits from 5 of them on.
breaker_config limiting(std::uint32_t floor = 2) {
  auto c = with_threshold(1);
  c.trip = breaker_trip::rate_by_count;
  c.failure_rate = 0.5;
  c.window_calls = 20;
  c.minimum_calls = 10;
  c.limit_at = 0.5;
  c.limit_floor = floor;
  return c;
}

struct limiting_rig : breaker_rig {
  using breaker_rig::breaker_rig;

  // So many calls go down at once; returns those that passed.
  std::vector<call_id> burst(int n) {
    std::vector<call_id> out;
    for (int i = 0; i < n; ++i)
      if (auto id = arrive(); where(id) == place::below)
        out.push_back(id);
    return out;
  }

  void end(const std::vector<call_id>& calls) {
    for (auto id : calls)
      finish(id);
  }

  // Twenty results of which so many are bad, after ten calls at once.
  void see(int bad_ones) {
    end(burst(10));
    for (int i = 0; i < 10 - bad_ones; ++i)
      good();
    for (int i = 0; i < bad_ones; ++i)
      bad();
  }

  std::int64_t limit() const { return count("in_flight_limit"); }
};

TEST(breaker_limit, refuses_settings_without_effect) {
  breaker_config c;
  c.limit_at = 0.5;
  EXPECT_EQ(kinds_and_keys(problems_of(c)), strings{"relation limit_at"});
  c.slow_call = 1s;
  EXPECT_EQ(kinds_and_keys(problems_of(c)), strings{});
  c.slow_call = unlimited;
  for (auto trip : {breaker_trip::rate_by_count, breaker_trip::rate_by_time}) {
    c.trip = trip;
    EXPECT_EQ(kinds_and_keys(problems_of(c)), strings{});
  }
  c.limit_floor = 2;
  EXPECT_EQ(kinds_and_keys(problems_of(c)), strings{});
  c.limit_at = 1;
  EXPECT_EQ(kinds_and_keys(problems_of(c)), strings{"relation limit_floor"});
  c.limit_floor = 0;
  EXPECT_EQ(kinds_and_keys(problems_of(c)), strings{"range limit_floor"});
  c.limit_floor = 1;
  for (auto x : {0.0, 1.01}) {
    c.limit_at = x;
    EXPECT_EQ(kinds_and_keys(problems_of(c)), strings{"range limit_at"});
  }
}

TEST(breaker_limit, shrinks_with_the_rate_from_what_was_seen_to_the_floor) {
  struct row {
    int bad;
    std::int64_t limit;
    std::int64_t with_floor_of_ten;
  };
  // 2 + ⌊8 · (1 - bad / 10) / 0.5⌋
  const std::vector<row> rows = {{0, 0, 0},  {4, 0, 0},  {5, 10, 10},
                                 {6, 8, 10}, {7, 6, 10}, {8, 5, 10},
                                 {9, 3, 10}};
  for (auto& x : rows) {
    limiting_rig r{limiting()};
    r.see(x.bad);
    EXPECT_EQ(r.limit(), x.limit) << x.bad;
    EXPECT_EQ(r.state(), "closed");
    auto passed = r.burst(40);
    EXPECT_EQ(passed.size(), x.limit > 0 ? x.limit : 40) << x.bad;
    EXPECT_EQ(r.count("in_flight"), static_cast<std::int64_t>(passed.size()));
    EXPECT_EQ(r.count("rejected_limit"), x.limit > 0 ? 40 - x.limit : 0);
    limiting_rig high{limiting(10)};
    high.see(x.bad);
    EXPECT_EQ(high.limit(), x.with_floor_of_ten) << x.bad;
  }
}

// In doubles, 6 / 20 / 0.4 is less than 0.75, and 9 · (1 - 10 / 20 / 0.6) / 0.5
// less than 3.
TEST(breaker_limit, is_exact_where_shares_of_shares_are_rounded) {
  struct row {
    double failure_rate, limit_at;
    int bad;
    std::uint32_t floor;
    std::int64_t limit;
  };
  for (auto& x : {row{0.4, 0.75, 6, 2, 10}, row{0.4, 0.75, 5, 2, 0},
                  row{0.6, 0.5, 10, 1, 4}}) {
    auto c = limiting(x.floor);
    c.failure_rate = x.failure_rate;
    c.limit_at = x.limit_at;
    limiting_rig r{c};
    r.see(x.bad);
    ASSERT_EQ(r.state(), "closed");
    EXPECT_EQ(r.limit(), x.limit) << x.failure_rate << ", " << x.bad;
  }
}

TEST(breaker_limit, rejects_with_a_short_wait_and_stays_closed) {
  auto c = limiting();
  c.half_open_retry_after = 70ms;
  limiting_rig r{c};
  r.see(9);
  auto passed = r.burst(3);
  ASSERT_EQ(passed.size(), 3u);
  auto id = r.arrive();
  EXPECT_EQ(r.where(id), place::rejected);
  EXPECT_EQ(r.calls.at(id).code, errc::breaker_open);
  EXPECT_EQ(r.calls.at(id).retry_after, 70ms);
  EXPECT_EQ(r.e.reports.back(), "rejected:>breaker_open");
  EXPECT_EQ(r.changes(), strings{});
  EXPECT_EQ(r.policy.circuit({}), circuit::closed);
  // One that has left makes room for one, whatever became of it.
  r.abandon(passed[0], errc::cancelled);
  EXPECT_EQ(r.count("in_flight"), 2);
  EXPECT_EQ(r.burst(2).size(), 1u);
}

TEST(breaker_limit, gives_back_as_the_rate_falls) {
  limiting_rig r{limiting()};
  r.see(9);
  auto before = r.limit();
  std::vector<std::int64_t> limits;
  while (r.limit() > 0) {
    r.good();
    if (r.limit() != before)
      limits.push_back(before = r.limit());
  }
  // The last twenty begin with the ten good ones.
  EXPECT_EQ(limits, (std::vector<std::int64_t>{5, 6, 8, 10, 0}));
  EXPECT_EQ(r.burst(40).size(), 40u);
}

TEST(breaker_limit, lets_a_call_pass_if_none_is_in_flight) {
  auto c = limiting(1);
  // It does not open, however bad the rate is.
  c.trip = {breaker_trip::rate_by_count, breaker_trip::consecutive};
  c.trip_if = breaker_join::all;
  c.threshold = 1000;
  limiting_rig r{c};
  r.end(r.burst(10));
  for (int i = 0; i < 50; ++i)
    EXPECT_EQ(r.where(r.bad()), place::passed);
  EXPECT_EQ(r.limit(), 1);
  EXPECT_EQ(r.state(), "closed");
  EXPECT_EQ(r.burst(3).size(), 1u);
}

TEST(breaker_limit, goes_by_the_rate_nearest_to_its_own_or_the_farthest) {
  for (auto join : {breaker_join::any, breaker_join::all}) {
    auto c = limiting();
    c.slow_call = 1s;
    c.slow_rate = 1;
    c.trip_if = join;
    limiting_rig r{c};
    // 0.8 of the rate of failures, nothing of that of slow calls.
    r.see(8);
    EXPECT_EQ(r.limit(), join == breaker_join::any ? 5 : 0);
    // Fifteen at once, of which all become slow: 0.75 of the last twenty.
    auto passed = r.burst(15);
    r.advance(1s);
    if (join == breaker_join::any)
      EXPECT_EQ(passed.size(), 5u);
    else
      EXPECT_EQ(r.limit(), 8);
  }
}

TEST(breaker_limit, goes_by_slow_calls_alone) {
  auto c = with_threshold(1000);
  c.slow_call = 1s;
  c.slow_minimum_calls = 4;
  c.limit_at = 0.25;
  limiting_rig r{c};
  auto passed = r.burst(5);
  r.finish(passed[4]);
  EXPECT_EQ(r.limit(), 0);
  // Four of five would open it.
  r.finish(passed[3]);
  r.finish(passed[2]);
  r.finish(passed[1]);
  r.advance(1s);
  // 0.2 of 0.5 is 0.4: 1 + ⌊4 · 0.6 / 0.75⌋
  EXPECT_EQ(r.limit(), 4);
  EXPECT_EQ(r.count("in_flight"), 1);
}

TEST(breaker_limit, knows_the_most_in_flight_of_the_last_two_windows) {
  auto c = limiting();
  c.window_time = 10s;
  limiting_rig r{c};
  r.end(r.burst(10));
  r.advance(10s);
  r.end(r.burst(6));
  r.advance(10s - 1ns);
  // Within the window after that of the ten.
  r.play("xxxxx");
  EXPECT_EQ(r.limit(), 10);
  r.play("x");
  EXPECT_EQ(r.limit(), 8);
  // While it limits, what it has seen before stays.
  r.advance(1h);
  r.good();
  EXPECT_EQ(r.limit(), 8);
  while (r.limit() > 0)
    r.good();
  while (r.limit() == 0)
    r.bad();
  EXPECT_EQ(r.limit(), 10);
}

TEST(breaker_limit, forgets_the_most_in_flight_after_two_windows) {
  for (auto pause : {20s - 1ns, duration{20s}}) {
    auto c = limiting(1);
    c.window_time = 10s;
    limiting_rig r{c};
    r.end(r.burst(10));
    r.advance(pause);
    // Nobody came in between, and two are there now.
    r.end(r.burst(2));
    r.play("ggg");
    r.play("xxxxx");
    EXPECT_EQ(r.limit(), pause < 20s ? 10 : 2);
  }
}

// The pressure rises through results, while nobody comes.
TEST(breaker_limit, forgets_it_also_if_the_next_call_is_limited) {
  auto c = limiting(1);
  c.window_time = 10s;
  limiting_rig r{c};
  auto all = r.burst(20);
  r.end({all.begin(), all.begin() + 10});
  r.advance(1h);
  for (auto n = 10; n < 16; ++n)
    r.fail(all[n]);
  r.good();
  EXPECT_EQ(r.count("in_flight"), 4);
  EXPECT_LE(r.limit(), 4);
  EXPECT_GE(r.limit(), 1);
}

TEST(breaker_limit, does_not_concern_other_states) {
  limiting_rig r{limiting()};
  r.see(9);
  auto old = r.burst(3);
  r.fail(old[0]);
  EXPECT_EQ(r.state(), "open");
  EXPECT_EQ(r.limit(), 0);
  EXPECT_EQ(r.count("in_flight"), 0);
  r.advance(10s);
  EXPECT_EQ(r.where(r.good()), place::passed);
  EXPECT_EQ(r.state(), "closed");
  // Those from before are not in flight any more, as far as it counts.
  r.burst(2);
  r.finish(old[1]);
  EXPECT_EQ(r.count("late_results"), 1);
  EXPECT_EQ(r.count("in_flight"), 2);
  r.command(by_hand::reset);
  EXPECT_EQ(r.count("in_flight"), 0);
  r.finish(old[2]);
  EXPECT_EQ(r.count("in_flight"), 0);
}

TEST(breaker_limit, lets_calls_pass_that_are_forced_through) {
  limiting_rig r{limiting()};
  r.see(9);
  r.command(by_hand::force_closed);
  auto passed = r.burst(5);
  EXPECT_EQ(passed.size(), 5u);
  EXPECT_EQ(r.count("forced_through"), 2);
  EXPECT_EQ(r.count("in_flight"), 3);
  EXPECT_EQ(r.count("rejected_limit"), 0);
  r.end(passed);
  EXPECT_EQ(r.count("in_flight"), 0);
  r.command(by_hand::force_open);
  r.arrive();
  EXPECT_EQ(r.count("rejected_forced"), 1);
}

TEST(breaker_limit, can_be_switched_while_calls_are_in_flight) {
  auto on = limiting();
  auto off = limiting(1);
  off.limit_at = 1;
  limiting_rig r{off};
  r.see(9);
  EXPECT_EQ(r.limit(), 0);
  auto uncounted = r.burst(4);
  r.reconfigure(on);
  EXPECT_EQ(r.limit(), 2);
  auto counted = r.burst(4);
  EXPECT_EQ(counted.size(), 2u);
  r.finish(uncounted[0]);
  EXPECT_EQ(r.count("in_flight"), 2);
  r.reconfigure(off);
  EXPECT_EQ(r.limit(), 0);
  auto more = r.burst(9);
  EXPECT_EQ(more.size(), 9u);
  r.finish(counted[0]);
  EXPECT_EQ(r.count("in_flight"), 1);
  r.finish(more[0]);
  EXPECT_EQ(r.count("in_flight"), 1);
}

TEST(breaker_limit, comes_after_the_ramp) {
  auto c = limiting();
  c.ramp = 20ms;
  c.ramp_from = 1;
  c.initial = breaker_start::half_open;
  limiting_rig r{c};
  r.good();
  r.end(r.burst(10));
  r.play("xxxxxx");
  r.play("xxx");
  EXPECT_EQ(r.limit(), 2);
  r.burst(2);
  EXPECT_EQ(r.calls.at(r.arrive()).retry_after, 20ms);
  EXPECT_EQ(r.count("rejected_limit"), 1);
  EXPECT_EQ(r.count("rejected_ramp"), 0);
  r.advance(20ms);
  EXPECT_EQ(r.calls.at(r.arrive()).retry_after, 50ms);
  c.ramp = 1h;
  c.ramp_from = 0;
  limiting_rig none{c};
  none.good();
  none.arrive();
  EXPECT_EQ(none.count("rejected_ramp"), 1);
  EXPECT_EQ(none.count("rejected_limit"), 0);
}

TEST(breaker_limit, and_the_ramp_each_count_their_own_rejections) {
  auto c = limiting();
  c.ramp = 1h;
  c.ramp_from = 1;
  c.initial = breaker_start::half_open;
  limiting_rig r{c};
  r.good();
  r.end(r.burst(10));
  r.play("xxxxxxxxx");
  r.burst(3);
  EXPECT_EQ(r.count("rejected_limit"), 1);
  c.ramp_from = 0;
  r.reconfigure(c);
  r.arrive();
  EXPECT_EQ(r.count("rejected_limit"), 1);
  EXPECT_EQ(r.count("rejected_ramp"), 1);
}

} // namespace
} // namespace caisson::test
