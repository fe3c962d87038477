#include <policies/breaker/model/breaker_rig.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <map>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;
using by_hand = operator_command;

// -- operators ----------------------------------------------------------------

TEST(breaker_operator, refuses_all_calls_while_it_is_forced_open) {
  breaker_rig r{with_threshold(1)};
  EXPECT_TRUE(r.command(by_hand::force_open));
  EXPECT_EQ(r.state(), "forced_open");
  auto id = r.arrive();
  EXPECT_EQ(r.where(id), place::rejected);
  EXPECT_EQ(r.calls.at(id).code, errc::breaker_open);
  EXPECT_EQ(r.calls.at(id).retry_after, 0s);
  EXPECT_EQ(r.count("rejected_forced"), 1);
  r.advance(1h);
  EXPECT_EQ(r.where(r.arrive()), place::rejected);
  EXPECT_TRUE(r.command(by_hand::enable));
  EXPECT_EQ(r.state(), "closed");
  EXPECT_EQ(r.where(r.arrive()), place::below);
  EXPECT_EQ(r.changes(), (strings{"closed>forced_open", "forced_open>closed"}));
}

TEST(breaker_operator, passes_all_calls_while_it_is_forced_closed) {
  breaker_rig r{with_threshold(1)};
  r.command(by_hand::force_closed);
  r.play("xxx");
  EXPECT_EQ(r.state(), "forced_closed");
  EXPECT_EQ(r.count("admitted"), 1);
  EXPECT_EQ(r.count("forced_through"), 2);
  EXPECT_EQ(r.count("unjudged_results"), 2);
  EXPECT_EQ(r.count("automatic_state"), 1);
  EXPECT_EQ(r.changes(), strings{"closed>forced_closed"});
  // The automatic state opened underneath and is back when the force is gone.
  r.command(by_hand::enable);
  EXPECT_EQ(r.state(), "open");
  EXPECT_EQ(r.calls.at(r.arrive()).retry_after, 10s);
}

TEST(breaker_operator, finds_out_under_force_that_the_worker_is_back) {
  breaker_rig r{with_threshold(1)};
  r.bad();
  r.command(by_hand::force_closed);
  r.advance(10s);
  auto probe = r.arrive();
  auto other = r.arrive();
  EXPECT_EQ(r.count("automatic_state"), 2);
  EXPECT_EQ(r.where(other), place::below);
  r.fail(other); // a bystander: says nothing
  EXPECT_EQ(r.count("automatic_state"), 2);
  r.finish(probe);
  EXPECT_EQ(r.count("automatic_state"), 0);
  r.command(by_hand::enable);
  EXPECT_EQ(r.state(), "closed");
}

TEST(breaker_operator,
     leaves_nothing_behind_of_calls_that_were_forced_through) {
  breaker_rig r{with_threshold(1)};
  r.bad();
  r.command(by_hand::force_closed);
  auto a = r.arrive();
  auto b = r.arrive();
  r.command(by_hand::enable);
  r.finish(a);
  EXPECT_EQ(r.state(), "open");
  r.advance(10s);
  auto probe = r.arrive();
  r.abandon(b);
  EXPECT_EQ(r.state(), "half_open");
  EXPECT_EQ(r.count("probes_in_flight"), 1);
  EXPECT_EQ(r.count("unjudged_results"), 2);
  EXPECT_EQ(r.count("late_results"), 0);
  r.finish(probe);
  EXPECT_EQ(r.state(), "closed");
}

TEST(breaker_operator, spends_no_probe_while_it_is_forced_open) {
  breaker_rig r{with_threshold(1)};
  r.bad();
  r.command(by_hand::force_open);
  r.advance(10s);
  r.arrive();
  EXPECT_EQ(r.count("automatic_state"), 1);
  r.command(by_hand::enable);
  EXPECT_EQ(r.state(), "open");
  r.good();
  EXPECT_EQ(r.state(), "closed");
}

TEST(breaker_operator, goes_on_judging_calls_in_flight_while_forced_open) {
  breaker_rig r{with_threshold(1)};
  auto id = r.arrive();
  r.command(by_hand::force_open);
  r.fail(id);
  EXPECT_EQ(r.count("automatic_state"), 1);
  r.advance(10s);
  r.command(by_hand::enable);
  auto probe = r.arrive();
  r.command(by_hand::force_open);
  r.advance(10s);
  EXPECT_EQ(r.count("leases_expired"), 1);
  EXPECT_EQ(r.count("automatic_state"), 1);
  r.finish(probe);
  EXPECT_EQ(r.count("late_results"), 1);
}

TEST(breaker_operator, goes_from_one_force_to_the_other) {
  breaker_rig r{with_threshold(1)};
  r.command(by_hand::force_open);
  r.command(by_hand::force_open);
  r.command(by_hand::force_closed);
  r.command(by_hand::enable);
  r.command(by_hand::enable);
  EXPECT_EQ(r.changes(),
            (strings{"closed>forced_open", "forced_open>forced_closed",
                     "forced_closed>closed"}));
}

TEST(breaker_operator, leaves_the_hosts_commands_to_the_host) {
  breaker_rig r{with_threshold(1)};
  EXPECT_FALSE(r.command(by_hand::off));
  EXPECT_FALSE(r.command(by_hand::observe));
  EXPECT_EQ(r.state(), "closed");
}

TEST(breaker_operator, resets_to_a_closed_state_that_knows_nothing) {
  auto c = with_threshold(2);
  c.open = schedule::exponential(1s);
  breaker_rig r{c};
  auto old = r.arrive();
  r.play("xx");
  r.advance(1s);
  r.bad();
  EXPECT_EQ(r.count("openings_in_a_row"), 2);
  EXPECT_TRUE(r.command(by_hand::reset));
  EXPECT_EQ(r.state(), "closed");
  EXPECT_EQ(r.changes().back(), "open>closed");
  std::vector<metric> ms;
  r.policy.list_metrics(ms);
  const std::map<std::string_view, std::int64_t> nonzero = {
    {"failure_rate_permille", -1},
    {"slow_rate_permille", -1},
    {"score_permille", -1},
    {"ramp_permille", 1000},
  };
  for (auto& m : ms)
    EXPECT_EQ(m.value, nonzero.contains(m.name) ? nonzero.at(m.name) : 0)
      << m.name;
  r.fail(old);
  EXPECT_EQ(r.count("late_results"), 1);
  r.play("x");
  EXPECT_EQ(r.state(), "closed");
  r.play("x");
  EXPECT_EQ(r.calls.at(r.arrive()).retry_after, 1s);
}

TEST(breaker_operator, starts_a_new_epoch_with_a_reset_while_closed) {
  breaker_rig r{with_threshold(2)};
  auto old = r.arrive();
  r.bad();
  r.command(by_hand::reset);
  EXPECT_EQ(r.changes(), strings{});
  r.fail(old);
  r.bad();
  EXPECT_EQ(r.state(), "closed");
}

TEST(breaker_operator, keeps_what_is_forced_over_a_reset) {
  breaker_rig r{with_threshold(1)};
  r.bad();
  r.command(by_hand::force_open);
  r.command(by_hand::reset);
  EXPECT_EQ(r.state(), "forced_open");
  r.command(by_hand::enable);
  EXPECT_EQ(r.state(), "closed");
  EXPECT_EQ(r.changes().back(), "forced_open>closed");
}

// -- reconfigure --------------------------------------------------------------

TEST(breaker_reconfigure, keeps_the_count_and_uses_the_new_threshold) {
  breaker_rig r{with_threshold(5)};
  r.play("xxx");
  r.reconfigure(with_threshold(2));
  EXPECT_EQ(r.state(), "closed");
  EXPECT_EQ(r.policy.config().threshold, 2u);
  r.play("x");
  EXPECT_EQ(r.state(), "open");
}

TEST(breaker_reconfigure, keeps_the_epoch_of_calls_in_flight) {
  breaker_rig r{with_threshold(2)};
  auto id = r.arrive();
  r.reconfigure(with_threshold(1));
  r.fail(id);
  EXPECT_EQ(r.state(), "open");
  EXPECT_EQ(r.count("late_results"), 0);
}

TEST(breaker_reconfigure, starts_afresh_with_another_rule) {
  auto c = with_threshold(3);
  breaker_rig r{c};
  r.play("xx");
  c.trip = breaker_trip::without_gap;
  r.reconfigure(c);
  EXPECT_EQ(r.count("failure_streak"), 0);
  r.play("xx");
  EXPECT_EQ(r.state(), "closed");
}

TEST(breaker_reconfigure, keeps_a_count_without_gap) {
  auto c = with_threshold(5);
  c.trip = breaker_trip::without_gap;
  breaker_rig r{c};
  r.play("xx");
  c.threshold = 3;
  c.quiet_period = 2s;
  r.reconfigure(c);
  EXPECT_EQ(r.count("failure_streak"), 2);
  r.advance(2s);
  EXPECT_EQ(r.count("failure_streak"), 0);
}

TEST(breaker_reconfigure, keeps_what_fits_into_the_windows) {
  auto c = with_threshold(1);
  c.trip = breaker_trip::rate_by_count;
  c.window_calls = 8;
  c.minimum_calls = 8;
  breaker_rig r{c};
  r.play("xx...");
  c.window_calls = 4;
  c.minimum_calls = 4;
  r.reconfigure(c);
  EXPECT_EQ(r.state(), "closed");
  EXPECT_EQ(r.count("failure_rate_permille"), 250); // x...
  c.trip = breaker_trip::rate_by_time;
  c.window_time = 10s;
  r.reconfigure(c);
  EXPECT_EQ(r.count("window_total"), 0);
  r.play("x");
  r.advance(5s);
  r.play("...");
  c.window_time = 2s;
  c.window_buckets = 2;
  c.minimum_calls = 3;
  r.reconfigure(c);
  EXPECT_EQ(r.count("failure_rate_permille"), 0);
  c.failure_rate = 0.25;
  r.reconfigure(c);
  r.play("x");
  EXPECT_EQ(r.state(), "open");
}

TEST(breaker_reconfigure, keeps_the_open_interval_that_runs) {
  auto c = with_threshold(1);
  breaker_rig r{c};
  r.bad();
  c.open = schedule::constant(1s).take(1).then(schedule::constant(3s));
  r.reconfigure(c);
  EXPECT_EQ(r.calls.at(r.arrive()).retry_after, 10s);
  r.advance(10s);
  r.bad();
  // The new schedule begins with its first delay.
  EXPECT_EQ(r.calls.at(r.arrive()).retry_after, 1s);
  // The same schedule goes on.
  r.reconfigure(c);
  r.advance(1s);
  r.bad();
  EXPECT_EQ(r.calls.at(r.arrive()).retry_after, 3s);
}

TEST(breaker_reconfigure, starts_the_new_schedule_from_half_open_too) {
  auto c = with_threshold(1);
  c.open = schedule::exponential(1s);
  breaker_rig r{c};
  r.bad();
  r.advance(1s);
  auto id = r.arrive();
  c.open = schedule::exponential(4s);
  r.reconfigure(c);
  r.fail(id);
  EXPECT_EQ(r.calls.at(r.arrive()).retry_after, 4s);
}

TEST(breaker_reconfigure, becomes_half_open_at_once_if_eager_now_and_due) {
  auto c = with_threshold(1);
  breaker_rig r{c};
  r.bad();
  r.advance(11s);
  c.eager_half_open = true;
  r.reconfigure(c);
  EXPECT_EQ(r.state(), "half_open");
}

TEST(breaker_reconfigure, decides_at_once_if_the_probes_suffice_now) {
  auto c = with_threshold(1);
  c.probes = 4;
  breaker_rig r{c};
  r.bad();
  r.advance(10s);
  r.play("..");
  c.probes = 2;
  r.reconfigure(c);
  EXPECT_EQ(r.state(), "closed");
  EXPECT_EQ(r.count("closed"), 1);
}

TEST(breaker_reconfigure, prefers_to_open_if_both_verdicts_hold) {
  auto c = with_threshold(1);
  c.probes = 4;
  c.successes_to_close = 3;
  breaker_rig r{c};
  r.bad();
  r.advance(10s);
  r.play(".x");
  c.probes = 1;
  c.successes_to_close = 1;
  r.reconfigure(c);
  EXPECT_EQ(r.state(), "open");
}

TEST(breaker_reconfigure, applies_new_limits_to_the_probes_in_flight) {
  auto c = with_threshold(1);
  c.probes = 3;
  c.successes_to_close = 1;
  breaker_rig r{c};
  r.bad();
  r.advance(10s);
  r.arrive();
  r.advance(5s);
  r.arrive();
  c.probes = 1;
  c.probe_timeout = 7s;
  r.reconfigure(c);
  EXPECT_EQ(r.count("probes_in_flight"), 2);
  EXPECT_EQ(r.where(r.arrive()), place::rejected);
  EXPECT_EQ(r.policy.wakeup(), r.e.now + 2s);
  c.probe_timeout = 5s;
  r.reconfigure(c);
  EXPECT_EQ(r.state(), "open");
  EXPECT_EQ(r.count("leases_expired"), 1);
}

TEST(breaker_reconfigure, keeps_what_is_forced) {
  breaker_rig r{with_threshold(1)};
  r.command(by_hand::force_open);
  r.reconfigure(with_threshold(2));
  EXPECT_EQ(r.state(), "forced_open");
}

} // namespace
} // namespace caisson::test
