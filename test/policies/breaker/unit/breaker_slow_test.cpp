#include <policies/breaker/model/breaker_rig.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

// Opens if half of at least four calls take a second; failures do not matter.
breaker_config slow_only() {
  breaker_config c;
  c.trip = breaker_trips{};
  c.slow_call = 1s;
  c.minimum_calls = 4;
  c.open = schedule::constant(10s);
  return c;
}

// -- closed -------------------------------------------------------------------

TEST(slow_calls, open_a_breaker_while_they_are_still_in_flight) {
  breaker_rig r{slow_only()};
  for (int i = 0; i < 4; ++i)
    r.arrive();
  EXPECT_EQ(r.policy.wakeup(), r.e.now + 1s);
  r.advance(1s - 1ns);
  EXPECT_EQ(r.state(), "closed");
  EXPECT_EQ(r.count("slow_rate_permille"), -1);
  r.advance(1ns);
  EXPECT_EQ(r.state(), "open");
  EXPECT_EQ(r.count("slow_calls"), 4);
  EXPECT_EQ(r.count("opened"), 1);
}

TEST(slow_calls, have_a_minimum_of_their_own) {
  struct row {
    std::uint32_t minimum;
    std::uint32_t of_slow;
    int opens_at;
  };
  for (auto& x : std::vector<row>{{4, 0, 4}, {4, 2, 2}, {1, 6, 6}}) {
    auto c = slow_only();
    c.minimum_calls = x.minimum;
    c.slow_minimum_calls = x.of_slow;
    for (auto by : {breaker_trip::rate_by_time, breaker_trip::rate_by_count}) {
      c.trip = by;
      c.failure_rate = 1;
      breaker_rig r{c};
      int n = 0;
      for (; r.state() == "closed" && n < 10; ++n) {
        auto id = r.arrive();
        r.advance(1s);
        if (r.where(id) == place::below)
          r.finish(id);
      }
      EXPECT_EQ(n, x.opens_at) << x.of_slow;
    }
  }
  // More calls than fit into the window are never needed.
  auto c = slow_only();
  c.trip = breaker_trip::rate_by_count;
  c.window_calls = 3;
  c.slow_minimum_calls = 100;
  breaker_rig r{c};
  for (int i = 0; i < 3; ++i)
    r.arrive();
  r.advance(1s);
  EXPECT_EQ(r.state(), "open");
}

TEST(slow_calls, are_found_each_at_its_own_instant) {
  auto c = slow_only();
  c.minimum_calls = 1000;
  breaker_rig r{c};
  struct {
    duration at;
    std::int64_t slow;
  } const table[] = {{999ms, 0}, {1s, 1}, {1299ms, 1}, {1300ms, 2}, {5s, 2}};
  r.arrive();
  r.advance(300ms);
  r.arrive();
  for (auto& row : table) {
    r.advance_to(row.at);
    EXPECT_EQ(r.count("slow_calls"), row.slow) << row.at.count();
  }
  EXPECT_EQ(r.policy.wakeup(), r.start() + 6s); // of the window
}

TEST(slow_calls, are_not_counted_again_when_they_come_back) {
  auto c = slow_only();
  c.minimum_calls = 3;
  breaker_rig r{c};
  auto id = r.arrive();
  r.advance(2s);
  EXPECT_EQ(r.count("slow_calls"), 1);
  r.finish(id);
  EXPECT_EQ(r.count("slow_calls"), 1);
  EXPECT_EQ(r.count("successes"), 1);
  r.play("..");
  EXPECT_EQ(r.count("slow_rate_permille"), 333);
  EXPECT_EQ(r.state(), "closed");
}

TEST(slow_calls, are_slow_at_exactly_the_limit) {
  struct {
    duration took;
    std::int64_t slow;
  } const table[] = {{1s - 1ns, 0}, {1s, 1}, {1s + 1ns, 1}};
  for (auto& row : table) {
    breaker_rig r{slow_only()};
    auto id = r.arrive();
    r.advance(row.took);
    r.finish(id);
    EXPECT_EQ(r.count("slow_calls"), row.slow) << row.took.count();
  }
}

TEST(slow_calls, have_a_rate_apart_from_that_of_failures) {
  auto c = slow_only();
  c.trip = breaker_trip::rate_by_time;
  breaker_rig r{c};
  // One of four fails, one of four is slow: together they would be half.
  auto id = r.arrive();
  r.advance(1s);
  r.finish(id);
  r.play("x..");
  EXPECT_EQ(r.state(), "closed");
  EXPECT_EQ(r.count("failure_rate_permille"), 250);
  EXPECT_EQ(r.count("slow_rate_permille"), 250);
}

TEST(slow_calls, count_with_every_rule) {
  for (auto rule : {breaker_trip::consecutive, breaker_trip::without_gap,
                    breaker_trip::rate_by_count, breaker_trip::rate_by_time,
                    breaker_trip::score}) {
    auto c = slow_only();
    c.trip = rule;
    breaker_rig r{c};
    r.play("..");
    r.arrive();
    r.arrive();
    r.advance(1s);
    EXPECT_EQ(r.state(), "open") << static_cast<int>(rule);
  }
}

TEST(slow_calls, have_the_window_of_the_rule) {
  auto c = slow_only();
  c.trip = breaker_trip::rate_by_count;
  c.window_calls = 4;
  breaker_rig r{c};
  r.play("....");
  r.advance(1h);
  r.arrive();
  r.arrive();
  r.advance(1s);
  // Of the last four; after an hour no window of time would know them.
  EXPECT_EQ(r.state(), "open");
}

TEST(slow_calls, that_end_neutral_in_time_are_no_calls_at_all) {
  auto c = slow_only();
  c.minimum_calls = 1;
  breaker_rig r{c};
  auto id = r.arrive();
  r.abandon(id, errc::cancelled);
  r.advance(5s);
  EXPECT_EQ(r.count("slow_calls"), 0);
  EXPECT_EQ(r.count("slow_rate_permille"), -1);
  EXPECT_EQ(r.policy.wakeup(), never);
}

TEST(slow_calls, of_an_earlier_epoch_do_not_count) {
  auto c = slow_only();
  c.trip = breaker_trip::consecutive;
  c.threshold = 1;
  c.minimum_calls = 1;
  breaker_rig r{c};
  auto old = r.arrive();
  r.bad();
  r.advance(10s);
  EXPECT_EQ(r.count("slow_calls"), 0);
  r.good();
  EXPECT_EQ(r.state(), "closed");
  r.finish(old);
  EXPECT_EQ(r.count("late_results"), 1);
  EXPECT_EQ(r.state(), "closed");
}

TEST(slow_calls, are_all_found_if_a_hundred_thousand_hang) {
  auto c = slow_only();
  c.minimum_calls = 1'000'000;
  breaker_rig r{c};
  std::vector<call_id> ids;
  for (int i = 0; i < 100'000; ++i) {
    ids.push_back(r.arrive());
    if (i % 5000 == 0)
      r.advance(1us);
  }
  // Every other one comes back, from the middle of the list.
  for (std::size_t i = 0; i < ids.size(); i += 2)
    r.finish(ids[i]);
  r.advance(1s);
  EXPECT_EQ(r.count("slow_calls"), 50'000);
  for (std::size_t i = 1; i < ids.size(); i += 2)
    r.finish(ids[i]);
  EXPECT_EQ(r.count("slow_calls"), 50'000);
  EXPECT_EQ(r.count("successes"), 100'000);
}

TEST(slow_calls, keep_their_order_when_nobody_woke_the_breaker) {
  auto c = slow_only();
  c.window_time = 2s;
  c.window_buckets = 2;
  c.minimum_calls = 2;
  breaker_rig r{c};
  r.arrive();
  r.advance(500ms);
  r.set_clock(10s);
  // Slow at 1 s, long gone from the window at 10 s.
  r.good();
  EXPECT_EQ(r.count("slow_calls"), 1);
  EXPECT_EQ(r.count("slow_rate_permille"), -1);
}

// -- half-open ----------------------------------------------------------------

TEST(slow_calls, are_failed_probes_at_the_very_instant) {
  auto c = with_threshold(1);
  c.slow_call = 2s;
  breaker_rig r{c};
  r.bad();
  r.advance(10s);
  auto probe = r.arrive();
  EXPECT_EQ(r.policy.wakeup(), r.e.now + 2s);
  r.advance(2s - 1ns);
  EXPECT_EQ(r.state(), "half_open");
  r.advance(1ns);
  EXPECT_EQ(r.state(), "open");
  EXPECT_EQ(r.count("slow_calls"), 1);
  EXPECT_EQ(r.count("leases_expired"), 0);
  r.finish(probe);
  EXPECT_EQ(r.count("late_results"), 1);
}

TEST(slow_calls, do_not_prolong_a_lease) {
  auto c = with_threshold(1);
  c.slow_call = 30s;
  breaker_rig r{c};
  r.bad();
  r.advance(10s);
  r.arrive();
  r.advance(10s);
  EXPECT_EQ(r.state(), "open");
  EXPECT_EQ(r.count("slow_calls"), 0);
  EXPECT_EQ(r.count("leases_expired"), 1);
}

// -- other settings meanwhile -------------------------------------------------

TEST(slow_calls, are_found_at_once_by_a_shorter_limit) {
  auto c = slow_only();
  c.minimum_calls = 1000;
  breaker_rig r{c};
  auto first = r.arrive();
  r.advance(400ms);
  r.arrive();
  r.advance(100ms);
  c.slow_call = 500ms;
  r.reconfigure(c);
  EXPECT_EQ(r.count("slow_calls"), 1);
  EXPECT_EQ(r.policy.wakeup(), r.e.now + 400ms);
  // Once slow, always slow, and only once.
  c.slow_call = 10s;
  r.reconfigure(c);
  r.finish(first);
  r.advance(9s);
  EXPECT_EQ(r.count("slow_calls"), 1);
  r.advance(900ms);
  EXPECT_EQ(r.count("slow_calls"), 2);
}

TEST(slow_calls, are_in_the_window_from_when_a_shorter_limit_found_them) {
  auto c = slow_only();
  c.minimum_calls = 2;
  c.slow_call = 1h;
  breaker_rig r{c};
  r.arrive();
  r.advance(8s);
  c.slow_call = 1s;
  r.reconfigure(c);
  // By the time of the second one, the first would have left the window of 10 s
  // if it had been slow after its first second.
  r.advance(4s);
  r.arrive();
  r.advance(1s);
  EXPECT_EQ(r.count("slow_calls"), 2);
  EXPECT_EQ(r.state(), "open");
}

// Otherwise it would meet the failures of a time that is over.
TEST(slow_calls, are_slow_from_the_change_on_by_a_shorter_limit) {
  auto c = slow_only();
  c.trip = breaker_trip::without_gap;
  c.trip_if = breaker_join::all;
  c.threshold = 1;
  c.quiet_period = 1s;
  c.minimum_calls = 1;
  c.slow_call = 1h;
  c.slow_rate = 0.1;
  breaker_rig r{c};
  r.arrive();
  r.advance(1s);
  r.bad();
  r.advance(1s);
  c.slow_call = 1s;
  r.reconfigure(c);
  EXPECT_EQ(r.count("slow_calls"), 1);
  EXPECT_EQ(r.state(), "closed");
  r.bad();
  EXPECT_EQ(r.state(), "open");
}

TEST(slow_calls, from_before_there_was_a_limit_are_judged_at_their_end) {
  auto c = slow_only();
  c.slow_call = unlimited;
  c.trip = breaker_trip::consecutive;
  c.minimum_calls = 3;
  breaker_rig r{c};
  auto slow = r.arrive();
  r.advance(3s);
  auto fast = r.arrive();
  c.slow_call = 1s;
  r.reconfigure(c);
  r.advance(500ms);
  EXPECT_EQ(r.count("slow_calls"), 0);
  r.finish(slow);
  r.finish(fast);
  EXPECT_EQ(r.count("slow_calls"), 1);
  r.good();
  EXPECT_EQ(r.count("slow_rate_permille"), 333);
}

TEST(slow_calls, are_not_looked_for_without_a_limit) {
  auto c = slow_only();
  c.trip = breaker_trip::consecutive;
  breaker_rig r{c};
  auto id = r.arrive();
  c.slow_call = unlimited;
  r.reconfigure(c);
  EXPECT_EQ(r.policy.wakeup(), never);
  r.advance(1h);
  r.finish(id);
  EXPECT_EQ(r.count("slow_calls"), 0);
  EXPECT_EQ(r.count("slow_rate_permille"), -1);
}

// -- events -------------------------------------------------------------------

TEST(slow_calls, are_given_as_the_reason) {
  auto c = slow_only();
  c.minimum_calls = 1;
  breaker_rig r{c};
  r.arrive();
  r.advance(11s);
  r.arrive();
  r.advance(1s);
  EXPECT_EQ(r.e.details, (strings{"rate of slow calls", "open interval over",
                                  "probe too slow", "probe too slow"}));
  EXPECT_TRUE(r.e.reports[2].starts_with("lease_ended:"));
  EXPECT_EQ(r.changes(),
            (strings{"closed>open", "open>half_open", "half_open>open"}));
}

} // namespace
} // namespace caisson::test
