#include <policies/breaker/model/breaker_rig.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string_view>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

breaker_config probing(std::uint32_t probes, std::uint32_t successes) {
  auto c = with_threshold(1);
  c.probes = probes;
  c.successes_to_close = successes;
  return c;
}

// A breaker that opened at 0s and whose interval is over, at 10s.
struct due : breaker_rig {
  explicit due(breaker_config c) : breaker_rig(std::move(c)) {
    bad();
    advance(10s);
  }
};

// -- what may enter -----------------------------------------------------------

TEST(half_open_breaker, admits_its_probes_and_rejects_all_other_calls) {
  due r{probing(3, 0)};
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(r.where(r.arrive()), place::below);
  EXPECT_EQ(r.count("probes_in_flight"), 3);
  auto id = r.arrive();
  EXPECT_EQ(r.where(id), place::rejected);
  EXPECT_EQ(r.calls.at(id).code, errc::breaker_open);
  EXPECT_EQ(r.count("rejected_half_open"), 1);
  EXPECT_EQ(r.count("rejected_open"), 0);
  EXPECT_EQ(r.count("probes"), 3);
}

TEST(half_open_breaker, does_not_issue_a_judged_probe_again) {
  due r{probing(3, 2)};
  auto a = r.arrive();
  r.arrive();
  r.finish(a);
  EXPECT_EQ(r.where(r.arrive()), place::below);
  EXPECT_EQ(r.where(r.arrive()), place::rejected);
  EXPECT_EQ(r.count("probes"), 3);
}

TEST(half_open_breaker, sets_a_short_retry_after) {
  due r{probing(1, 0)};
  auto probe = r.arrive();
  EXPECT_EQ(r.calls.at(r.arrive()).retry_after, 50ms);
  r.advance(9s);
  EXPECT_EQ(r.calls.at(r.arrive()).retry_after, 50ms);
  r.finish(probe);
  EXPECT_EQ(r.where(r.arrive()), place::below);
}

TEST(half_open_breaker, has_callers_wait_for_the_end_of_a_lease_at_most) {
  due r{probing(1, 0)};
  r.arrive();
  r.advance(10s - 30ms);
  EXPECT_EQ(r.calls.at(r.arrive()).retry_after, 30ms);
  r.advance(30ms - 1ns);
  EXPECT_EQ(r.calls.at(r.arrive()).retry_after, 1ns);
}

TEST(half_open_breaker, reports_when_the_next_probe_must_have_ended) {
  auto c = probing(2, 0);
  c.half_open_retry_after = 1h;
  due r{c};
  r.arrive();
  r.advance(3s);
  auto second = r.arrive();
  r.advance(1s);
  auto id = r.arrive();
  EXPECT_EQ(r.calls.at(id).retry_after, 6s);
  // Giving a later lease back does not change the first one's end.
  r.fail(second, errc::cancelled);
  r.arrive();
  EXPECT_EQ(r.calls.at(r.arrive()).retry_after, 6s);
}

TEST(half_open_breaker, reports_its_own_end_if_that_comes_first) {
  auto c = probing(1, 0);
  c.probe_timeout = 4s;
  c.half_open_max = 4s;
  c.half_open_retry_after = 1h;
  due r{c};
  r.call(outcome::failure(errc::cancelled, true));
  r.advance(1s);
  r.arrive();
  r.advance(1s);
  EXPECT_EQ(r.calls.at(r.arrive()).retry_after, 2s);
}

// -- decisions ----------------------------------------------------------------

TEST(half_open_breaker, decides_as_soon_as_the_verdict_is_certain) {
  struct {
    std::uint32_t probes;
    std::uint32_t successes;
    std::string_view results;
    std::string_view state;
  } const table[] = {
    {1, 0, ".", "closed"},     {1, 0, "x", "open"},
    {1, 1, ".", "closed"},     {3, 0, "..", "half_open"},
    {3, 0, "...", "closed"},   {3, 0, "x", "open"},
    {3, 3, "..x", "open"},     {3, 1, ".", "closed"},
    {3, 1, "xx", "half_open"}, {3, 1, "xxx", "open"},
    {3, 1, "xx.", "closed"},   {5, 3, "xx..", "half_open"},
    {5, 3, "x.x..", "closed"}, {5, 3, "..xxx", "open"},
    {5, 3, "...", "closed"},   {5, 3, "xxx", "open"},
  };
  for (auto& row : table) {
    due r{probing(row.probes, row.successes)};
    r.play(row.results);
    EXPECT_EQ(r.state(), row.state) << row.probes << row.results;
    EXPECT_EQ(r.count("closed"), row.state == "closed");
    EXPECT_EQ(r.count("reopened"), row.state == "open");
    EXPECT_EQ(r.count("late_results"), 0);
  }
}

TEST(half_open_breaker, takes_the_probes_left_over_by_a_decision_as_late) {
  due r{probing(3, 1)};
  auto a = r.arrive();
  auto b = r.arrive();
  auto c = r.arrive();
  r.finish(a);
  EXPECT_EQ(r.state(), "closed");
  r.fail(b);
  r.abandon(c);
  EXPECT_EQ(r.state(), "closed");
  EXPECT_EQ(r.count("late_results"), 2);
  EXPECT_EQ(r.count("failure_streak"), 0);
}

TEST(half_open_breaker, takes_a_result_from_the_last_half_open_epoch_as_late) {
  due r{probing(2, 0)};
  auto a = r.arrive();
  auto b = r.arrive();
  r.fail(a);
  r.advance(10s);
  auto c = r.arrive();
  EXPECT_EQ(r.state(), "half_open");
  r.finish(b);
  EXPECT_EQ(r.count("late_results"), 1);
  EXPECT_EQ(r.count("probes_in_flight"), 1);
  r.finish(c);
  EXPECT_EQ(r.state(), "half_open");
  r.good();
  EXPECT_EQ(r.state(), "closed");
}

TEST(half_open_breaker, takes_a_result_from_the_closed_epoch_as_late) {
  breaker_rig r{with_threshold(1)};
  auto old = r.arrive();
  r.bad();
  r.advance(10s);
  r.arrive();
  r.finish(old);
  EXPECT_EQ(r.state(), "half_open");
  EXPECT_EQ(r.count("late_results"), 1);
}

// -- neutral outcomes ---------------------------------------------------------

TEST(half_open_breaker, gets_its_probe_back_from_a_neutral_outcome) {
  due r{probing(1, 0)};
  auto give_back = [&](auto end) {
    auto id = r.arrive();
    EXPECT_EQ(r.where(id), place::below);
    EXPECT_EQ(r.where(r.arrive()), place::rejected);
    end(id);
    EXPECT_EQ(r.state(), "half_open");
    EXPECT_EQ(r.count("probes_in_flight"), 0);
  };
  give_back([&](call_id id) { r.fail(id, errc::cancelled); });
  give_back([&](call_id id) { r.fail(id, errc::queue_full, false); });
  give_back([&](call_id id) { r.abandon(id, errc::cancelled); });
  EXPECT_EQ(r.count("probes_returned"), 3);
  EXPECT_EQ(r.count("neutral"), 2);
  EXPECT_EQ(r.count("refused"), 1);
  r.good();
  EXPECT_EQ(r.state(), "closed");
}

TEST(half_open_breaker, does_not_stay_so_if_all_outcomes_are_neutral) {
  auto c = probing(1, 0);
  c.probe_timeout = 5s;
  c.half_open_max = 5s;
  due r{c};
  for (int i = 0; i < 4; ++i) {
    r.call(outcome::failure(errc::cancelled, true));
    r.advance(1s);
  }
  EXPECT_EQ(r.state(), "half_open");
  r.advance(1s - 1ns);
  EXPECT_EQ(r.state(), "half_open");
  r.advance(1ns);
  EXPECT_EQ(r.state(), "closed");
  EXPECT_EQ(r.count("half_open_timeouts"), 1);
}

// -- leases -------------------------------------------------------------------

TEST(half_open_breaker, counts_a_probe_that_does_not_end_as_failed) {
  due r{probing(1, 0)};
  auto id = r.arrive();
  EXPECT_EQ(r.policy.wakeup(), r.e.now + 10s);
  r.advance(10s - 1ns);
  EXPECT_EQ(r.state(), "half_open");
  r.advance(1ns);
  EXPECT_EQ(r.state(), "open");
  EXPECT_EQ(r.count("leases_expired"), 1);
  EXPECT_EQ(r.count("reopened"), 1);
  EXPECT_EQ(r.count("failures"), 1); // the one that opened it
  EXPECT_EQ(r.e.reports.at(r.e.reports.size() - 2), "lease_ended:>");
  EXPECT_EQ(r.e.reports.back(), "state_changed:half_open>open");
  r.finish(id);
  EXPECT_EQ(r.state(), "open");
  EXPECT_EQ(r.count("late_results"), 1);
}

TEST(half_open_breaker, takes_a_result_at_exactly_the_leases_end_as_late) {
  due r{probing(1, 0)};
  auto id = r.arrive();
  r.set_clock(20s); // no wake-up before the result
  r.finish(id);
  EXPECT_EQ(r.count("late_results"), 1);
  EXPECT_EQ(r.state(), "open");
  due s{probing(1, 0)};
  id = s.arrive();
  s.set_clock(20s - 1ns);
  s.finish(id);
  EXPECT_EQ(s.state(), "closed");
}

TEST(half_open_breaker, does_not_take_one_probes_late_result_for_another) {
  due r{probing(3, 1)};
  auto hung = r.arrive();
  r.advance(10s);
  EXPECT_EQ(r.state(), "half_open");
  auto next = r.arrive();
  r.finish(hung);
  EXPECT_EQ(r.state(), "half_open");
  EXPECT_EQ(r.count("late_results"), 1);
  EXPECT_EQ(r.count("probes_in_flight"), 1);
  r.finish(next);
  EXPECT_EQ(r.state(), "closed");
}

TEST(half_open_breaker, ends_each_lease_at_its_own_time) {
  due r{probing(3, 1)};
  r.arrive();
  r.advance(4s);
  r.arrive();
  r.advance(6s);
  EXPECT_EQ(r.count("leases_expired"), 1);
  EXPECT_EQ(r.count("probes_in_flight"), 1);
  r.advance(4s);
  EXPECT_EQ(r.count("leases_expired"), 2);
  EXPECT_EQ(r.state(), "half_open");
  r.bad();
  EXPECT_EQ(r.state(), "open");
}

TEST(half_open_breaker, catches_up_with_leases_when_nobody_woke_it) {
  due r{probing(2, 2)};
  r.arrive();
  r.set_clock(1h);
  EXPECT_EQ(r.where(r.arrive()), place::rejected);
  EXPECT_EQ(r.state(), "open");
  EXPECT_EQ(r.count("leases_expired"), 1);
}

// -- the limit of the state ---------------------------------------------------

// One of two probes has failed, of which one is enough, and then nothing comes.
breaker_config undecided() {
  auto c = probing(2, 1);
  c.probe_timeout = 2s;
  c.half_open_max = 2s;
  return c;
}

TEST(half_open_breaker, goes_to_the_configured_state_when_it_took_too_long) {
  struct {
    breaker_verdict then;
    std::string_view state;
  } const table[] = {{breaker_verdict::open, "open"},
                     {breaker_verdict::closed, "closed"}};
  for (auto& row : table) {
    auto c = undecided();
    c.after_half_open_max = row.then;
    due r{c};
    r.bad();
    r.advance(1s);
    auto id = r.arrive();
    r.advance(1s - 1ns);
    EXPECT_EQ(r.state(), "half_open");
    r.advance(1ns);
    EXPECT_EQ(r.state(), row.state);
    EXPECT_EQ(r.count("half_open_timeouts"), 1);
    EXPECT_EQ(r.count("leases_expired"), 0);
    EXPECT_EQ(r.count("reopened") + r.count("closed"), 0);
    r.fail(id);
    EXPECT_EQ(r.state(), row.state);
    EXPECT_EQ(r.count("late_results"), 1);
  }
}

TEST(half_open_breaker, closes_for_a_healthy_worker_that_has_few_calls) {
  auto c = probing(5, 0);
  c.half_open_max = 1min;
  due r{c};
  for (int i = 0; i < 3; ++i) {
    r.good();
    EXPECT_EQ(r.state(), "half_open");
    r.advance(20s);
  }
  EXPECT_EQ(r.state(), "closed");
  EXPECT_EQ(r.count("openings_in_a_row"), 0);
  EXPECT_EQ(r.count("half_open_timeouts"), 1);
  EXPECT_EQ(r.count("closed"), 0);
}

// A probe that began when others had come back neutral has not failed yet.
TEST(half_open_breaker, closes_with_a_probe_out_that_came_late) {
  auto c = probing(1, 0);
  c.half_open_max = 10s;
  due r{c};
  r.call(outcome::failure(errc::cancelled, true));
  r.advance(1s);
  auto id = r.arrive();
  r.advance(9s);
  EXPECT_EQ(r.state(), "closed");
  r.fail(id);
  EXPECT_EQ(r.state(), "closed");
  EXPECT_EQ(r.count("late_results"), 1);
}

TEST(half_open_breaker, counts_its_limit_from_the_first_probe) {
  auto c = undecided();
  c.eager_half_open = true;
  breaker_rig r{c};
  r.bad();
  r.advance_to(60s);
  r.bad();
  r.advance_to(62s - 1ns);
  EXPECT_EQ(r.state(), "half_open");
  r.advance_to(62s);
  EXPECT_EQ(r.state(), "open");
}

TEST(half_open_breaker, has_no_limit_if_it_is_unlimited) {
  auto c = probing(1, 0);
  c.half_open_max = unlimited;
  due r{c};
  r.call(outcome::failure(errc::cancelled, true));
  EXPECT_EQ(r.policy.wakeup(), never);
  r.advance(1000h);
  EXPECT_EQ(r.state(), "half_open");
}

TEST(half_open_breaker, ends_a_lease_before_the_limit_at_the_same_instant) {
  auto c = probing(1, 0);
  c.half_open_max = 10s;
  c.after_half_open_max = breaker_verdict::closed;
  due r{c};
  r.arrive();
  r.advance(10s);
  EXPECT_EQ(r.state(), "open");
  EXPECT_EQ(r.count("leases_expired"), 1);
  EXPECT_EQ(r.count("half_open_timeouts"), 0);
}

TEST(half_open_breaker, keeps_the_order_of_ends_when_it_is_woken_too_late) {
  auto c = undecided();
  c.after_half_open_max = breaker_verdict::closed;
  due r{c};
  r.bad();
  r.advance(1s);
  r.arrive();
  r.set_clock(1h);
  r.policy.wake(r.e);
  EXPECT_EQ(r.state(), "closed");
  EXPECT_EQ(r.count("leases_expired"), 0);
}

} // namespace
} // namespace caisson::test
