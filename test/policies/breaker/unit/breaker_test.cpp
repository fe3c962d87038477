#include <policies/breaker/model/breaker_rig.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <string_view>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

// -- the golden run -----------------------------------------------------------

// A call every 100 ms from 0.05 s on, for 180 s; the callee answers at once and
// is down in [30 s, 120 s).
TEST(breaker, gives_the_golden_run) {
  struct {
    std::uint32_t threshold;
    duration open;
    int succeeded, failed, rejected;
    duration opened, closed;
  } const table[] = {
    {5, 9970ms, 896, 13, 891, 30450ms, 120450ms},
    {5, 4970ms, 896, 22, 882, 30450ms, 120450ms},
    {1, 9970ms, 900, 9, 891, 30050ms, 120050ms},
    {10, 29970ms, 891, 12, 897, 30950ms, 120950ms},
  };
  for (auto& row : table) {
    auto c = with_threshold(row.threshold);
    c.open = schedule::constant(row.open);
    breaker_rig r{c};
    int succeeded = 0, failed = 0, rejected = 0;
    auto opened = -1ns, closed = -1ns;
    for (int k = 0; k < 1800; ++k) {
      r.advance_to(50ms + k * 100ms);
      auto before = r.state();
      auto down = r.now() >= 30s && r.now() < 120s;
      auto id = down ? r.bad() : r.good();
      ++(r.where(id) == place::rejected ? rejected : down ? failed : succeeded);
      if (before == "closed" && r.state() == "open")
        opened = r.now();
      if (before != "closed" && r.state() == "closed")
        closed = r.now();
    }
    EXPECT_EQ(succeeded, row.succeeded);
    EXPECT_EQ(failed, row.failed);
    EXPECT_EQ(rejected, row.rejected);
    EXPECT_EQ(opened, row.opened);
    EXPECT_EQ(closed, row.closed);
    EXPECT_EQ(r.count("opened"), 1);
    EXPECT_EQ(r.count("closed"), 1);
  }
}

// -- open ---------------------------------------------------------------------

TEST(breaker, rejects_with_the_time_until_it_may_change) {
  breaker_rig r{with_threshold(1)};
  r.bad();
  r.advance(4s);
  auto id = r.arrive();
  EXPECT_EQ(r.where(id), place::rejected);
  EXPECT_EQ(r.calls.at(id).code, errc::breaker_open);
  EXPECT_EQ(r.calls.at(id).retry_after, 6s);
  EXPECT_EQ(r.count("rejected_open"), 1);
  EXPECT_EQ(r.e.reports.back(), "rejected:>breaker_open");
}

TEST(breaker, admits_at_exactly_the_end_of_the_open_interval) {
  breaker_rig r{with_threshold(1)};
  r.bad();
  r.advance(10s - 1ns);
  auto early = r.arrive();
  EXPECT_EQ(r.where(early), place::rejected);
  EXPECT_EQ(r.calls.at(early).retry_after, 1ns);
  r.advance(1ns);
  EXPECT_EQ(r.where(r.arrive()), place::below);
  EXPECT_EQ(r.state(), "half_open");
  EXPECT_EQ(r.count("half_opened"), 1);
  EXPECT_EQ(r.count("probes"), 1);
}

TEST(breaker, stays_open_without_calls_unless_it_is_eager) {
  auto c = with_threshold(1);
  breaker_rig lazy{c};
  lazy.bad();
  EXPECT_EQ(lazy.policy.wakeup(), never);
  lazy.advance(1h);
  EXPECT_EQ(lazy.state(), "open");
  c.eager_half_open = true;
  breaker_rig eager{c};
  eager.bad();
  EXPECT_EQ(eager.policy.wakeup(), eager.e.now + 10s);
  eager.advance(10s - 1ns);
  EXPECT_EQ(eager.state(), "open");
  eager.advance(1ns);
  EXPECT_EQ(eager.state(), "half_open");
  // It waits for a first probe as long as it takes.
  EXPECT_EQ(eager.policy.wakeup(), never);
  eager.advance(1h);
  EXPECT_EQ(eager.state(), "half_open");
  eager.good();
  EXPECT_EQ(eager.state(), "closed");
}

TEST(breaker, takes_no_notice_of_results_from_before_it_opened) {
  breaker_rig r{with_threshold(2)};
  auto a = r.arrive();
  auto b = r.arrive();
  auto c = r.arrive();
  r.play("xx");
  EXPECT_EQ(r.state(), "open");
  r.advance(5s);
  r.finish(a);
  r.fail(b);
  r.abandon(c);
  EXPECT_EQ(r.state(), "open");
  EXPECT_EQ(r.count("late_results"), 3);
  EXPECT_EQ(r.count("successes"), 0);
  EXPECT_EQ(r.count("failures"), 2);
  // The interval is neither longer nor shorter for it.
  auto id = r.arrive();
  EXPECT_EQ(r.calls.at(id).retry_after, 5s);
  EXPECT_EQ(r.changes(), strings{"closed>open"});
}

TEST(breaker, stays_open_longer_each_time_in_a_row) {
  auto c = with_threshold(1);
  c.open = schedule::exponential(1s).limit(3s);
  breaker_rig r{c};
  for (auto wait : {1s, 2s, 3s, 3s}) {
    r.bad();
    ASSERT_EQ(r.state(), "open");
    EXPECT_EQ(r.calls.at(r.arrive()).retry_after, wait);
    r.advance(wait);
  }
  EXPECT_EQ(r.count("openings_in_a_row"), 4);
  r.good();
  EXPECT_EQ(r.state(), "closed");
  EXPECT_EQ(r.count("openings_in_a_row"), 0);
  r.bad();
  EXPECT_EQ(r.calls.at(r.arrive()).retry_after, 1s);
}

TEST(breaker, repeats_the_last_delay_of_a_finite_schedule) {
  auto c = with_threshold(1);
  c.open = schedule::constant(1s).take(1).then(schedule::constant(4s).take(1));
  breaker_rig r{c};
  for (auto wait : {1s, 4s, 4s, 4s}) {
    r.bad();
    EXPECT_EQ(r.calls.at(r.arrive()).retry_after, wait);
    r.advance(wait);
  }
}

TEST(breaker, takes_five_seconds_if_the_schedule_gives_no_delay_at_all) {
  auto c = with_threshold(1);
  c.open = schedule::custom([](std::uint32_t) { return std::nullopt; });
  breaker_rig r{c};
  r.bad();
  EXPECT_EQ(r.calls.at(r.arrive()).retry_after, 5s);
}

TEST(breaker, probes_with_the_next_call_if_the_interval_is_zero) {
  auto c = with_threshold(1);
  c.open = schedule::constant(0s);
  breaker_rig r{c};
  r.bad();
  EXPECT_EQ(r.state(), "open");
  r.good();
  EXPECT_EQ(r.state(), "closed");
}

TEST(breaker, stays_open_for_ever_if_the_interval_is_unlimited) {
  auto c = with_threshold(1);
  c.open = schedule::constant(unlimited);
  c.eager_half_open = true;
  breaker_rig r{c};
  r.bad();
  EXPECT_EQ(r.policy.wakeup(), never);
  r.advance(100'000h);
  EXPECT_EQ(r.calls.at(r.arrive()).retry_after, unlimited);
}

TEST(breaker, counts_the_interval_from_the_latest_instant_it_has_seen) {
  breaker_rig r{with_threshold(1)};
  r.advance_to(100s);
  auto id = r.arrive();
  r.set_clock(50s);
  r.fail(id);
  EXPECT_EQ(r.calls.at(r.arrive()).retry_after, 60s);
  r.advance_to(110s - 1ns);
  EXPECT_EQ(r.where(r.arrive()), place::rejected);
  r.advance_to(110s);
  EXPECT_EQ(r.where(r.arrive()), place::below);
}

TEST(breaker, does_not_open_sooner_or_later_because_time_goes_backwards) {
  auto c = with_threshold(1);
  c.half_open_retry_after = 1h;
  breaker_rig r{c};
  r.advance_to(100s);
  r.bad(); // open until 110
  r.set_clock(50s);
  auto id = r.arrive();
  EXPECT_EQ(r.where(id), place::rejected);
  EXPECT_EQ(r.calls.at(id).retry_after, 60s);
  r.advance_to(109s);
  EXPECT_EQ(r.where(r.arrive()), place::rejected);
  r.advance_to(110s);
  r.set_clock(20s);
  EXPECT_EQ(r.where(r.arrive()), place::rejected);
  r.advance_to(110s);
  EXPECT_EQ(r.where(r.arrive()), place::below);
  // A clock that steps back does not take the probe's time away, nor add to it.
  r.set_clock(0s);
  id = r.arrive();
  EXPECT_EQ(r.where(id), place::rejected);
  EXPECT_EQ(r.calls.at(id).retry_after, 120s);
  r.advance_to(120s);
  EXPECT_EQ(r.state(), "open");
}

} // namespace
} // namespace caisson::test
