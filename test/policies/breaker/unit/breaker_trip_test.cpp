#include <policies/breaker/model/breaker_rig.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <string_view>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

// -- closed: consecutive failures ---------------------------------------------

TEST(breaker, opens_with_the_last_of_so_many_failures_in_a_row) {
  breaker_rig r{with_threshold(3)};
  EXPECT_EQ(r.state(), "closed");
  r.play("xx");
  EXPECT_EQ(r.state(), "closed");
  EXPECT_EQ(r.count("failure_streak"), 2);
  r.play("x");
  EXPECT_EQ(r.state(), "open");
  EXPECT_EQ(r.count("opened"), 1);
  EXPECT_EQ(r.changes(), strings{"closed>open"});
}

TEST(breaker, starts_to_count_again_after_a_success) {
  breaker_rig r{with_threshold(3)};
  r.play("xx.xx");
  EXPECT_EQ(r.state(), "closed");
  EXPECT_EQ(r.count("failure_streak"), 2);
  EXPECT_EQ(r.count("successes"), 1);
  EXPECT_EQ(r.count("failures"), 4);
  EXPECT_EQ(r.count("admitted"), 5);
}

TEST(breaker, does_not_let_neutral_and_refused_results_reset_the_count) {
  breaker_rig r{with_threshold(3)};
  r.play("xx");
  r.call(outcome::failure(errc::cancelled, true));
  r.call(outcome::failure(errc::rate_limited, false));
  EXPECT_EQ(r.count("neutral"), 1);
  EXPECT_EQ(r.count("refused"), 1);
  EXPECT_EQ(r.state(), "closed");
  r.play("x");
  EXPECT_EQ(r.state(), "open");
}

TEST(breaker, has_no_failure_rate_without_a_window) {
  breaker_rig r{with_threshold(3)};
  r.play("x.");
  EXPECT_EQ(r.count("failure_rate_permille"), -1);
  EXPECT_EQ(r.count("window_total"), 0);
}

// -- closed: what counts as a failure -----------------------------------------

TEST(breaker, counts_what_the_classifier_calls_a_failure) {
  struct {
    outcome result;
    std::string_view counted_as;
  } const table[] = {
    {outcome::success(), "successes"},
    {app_error(1), "failures"},
    {outcome::failure(errc::worker_down, true), "failures"},
    {outcome::failure(errc::worker_down, false), "refused"},
    {outcome::failure(errc::deadline_exceeded, true), "failures"},
    {outcome::failure(errc::deadline_exceeded, false), "refused"},
    {outcome::failure(errc::breaker_open, false), "refused"},
    {outcome::failure(errc::queue_full, false), "refused"},
    {outcome::failure(errc::cancelled, true), "neutral"},
    {outcome::failure(errc::shed, false), "neutral"},
  };
  for (auto& row : table) {
    breaker_rig r{with_threshold(2)};
    auto id = r.call(row.result);
    EXPECT_EQ(r.count(row.counted_as), 1) << row.counted_as;
    EXPECT_EQ(r.count("successes") + r.count("failures") + r.count("neutral")
                + r.count("refused"),
              1);
    EXPECT_EQ(r.where(id), place::passed);
    EXPECT_EQ(r.calls.at(id).result.ok, row.result.ok);
    EXPECT_EQ(r.calls.at(id).result.code, row.result.code);
  }
}

TEST(breaker, counts_only_the_configured_errors) {
  auto c = with_threshold(2);
  c.classify.allow = {"app:1"};
  breaker_rig r{c};
  r.call(app_error(2));
  r.call(outcome::failure(errc::worker_down, true));
  EXPECT_EQ(r.count("neutral"), 2);
  r.call(app_error(1));
  EXPECT_EQ(r.count("failures"), 1);
}

TEST(breaker, ignores_the_errors_configured_as_ignored) {
  auto c = with_threshold(2);
  c.classify.allow = {"app:*"};
  c.classify.deny = {"app:2"};
  breaker_rig r{c};
  r.call(app_error(2));
  EXPECT_EQ(r.count("neutral"), 1);
  r.call(app_error(3));
  EXPECT_EQ(r.count("failures"), 1);
}

TEST(breaker, lets_a_function_judge_values_too) {
  auto c = with_threshold(1);
  c.classify.by_value = [](const outcome& o) {
    return o.ok ? verdict::failure : verdict::success;
  };
  breaker_rig r{c};
  r.bad();
  EXPECT_EQ(r.count("successes"), 1);
  r.good();
  EXPECT_EQ(r.state(), "open");
}

TEST(breaker, counts_a_call_that_was_cut_off_by_its_deadline_as_failed) {
  breaker_rig r{with_threshold(1)};
  r.abandon(r.arrive(), errc::deadline_exceeded);
  EXPECT_EQ(r.state(), "open");
  EXPECT_EQ(r.count("failures"), 1);
}

TEST(breaker, takes_a_cancelled_call_as_neutral) {
  breaker_rig r{with_threshold(1)};
  r.abandon(r.arrive(), errc::cancelled);
  EXPECT_EQ(r.state(), "closed");
  EXPECT_EQ(r.count("neutral"), 1);
}

TEST(breaker, takes_a_deadline_before_execution_as_refused) {
  breaker_rig r{with_threshold(1)};
  auto id = r.arrive();
  auto& x = r.calls.at(id);
  r.policy.abandon(x.call, x.notes,
                   outcome::failure(errc::deadline_exceeded, false), true, r.e);
  EXPECT_EQ(r.count("refused"), 1);
  EXPECT_EQ(r.state(), "closed");
}

TEST(breaker, takes_a_call_that_never_went_down_as_neutral) {
  breaker_rig r{with_threshold(1)};
  auto id = r.arrive();
  auto& x = r.calls.at(id);
  r.policy.abandon(x.call, x.notes,
                   outcome::failure(errc::deadline_exceeded, true), false, r.e);
  EXPECT_EQ(r.count("neutral"), 1);
  EXPECT_EQ(r.state(), "closed");
}

// -- closed: failures without a quiet period ----------------------------------

breaker_config until_a_gap() {
  auto c = with_threshold(3);
  c.trip = breaker_trip::without_gap;
  c.quiet_period = 5s;
  return c;
}

TEST(breaker, without_gap_does_not_let_a_success_reset_the_count) {
  breaker_rig r{until_a_gap()};
  r.play("x..x.");
  EXPECT_EQ(r.count("failure_streak"), 2);
  r.play("x");
  EXPECT_EQ(r.state(), "open");
}

TEST(breaker, without_gap_resets_the_count_after_exactly_the_quiet_period) {
  struct {
    duration gap;
    std::string_view state;
  } const table[] = {{4999999999ns, "open"}, {5s, "closed"}, {6s, "closed"}};
  for (auto& row : table) {
    breaker_rig r{until_a_gap()};
    r.play("xx");
    r.advance(row.gap);
    r.play("x");
    EXPECT_EQ(r.state(), row.state) << row.gap.count();
    // The third failure is the first of a new count.
    EXPECT_EQ(r.count("failure_streak"), row.state == "open" ? 0 : 1);
  }
}

TEST(breaker, without_gap_measures_the_gap_from_the_last_failure) {
  breaker_rig r{until_a_gap()};
  r.bad();
  r.advance(4s);
  r.bad();
  r.advance(4s);
  r.bad();
  EXPECT_EQ(r.state(), "open");
}

TEST(breaker, without_gap_shows_a_count_of_zero_when_nobody_calls) {
  breaker_rig r{until_a_gap()};
  r.play("xx");
  EXPECT_EQ(r.policy.wakeup(), r.e.now + 5s);
  r.advance(5s);
  EXPECT_EQ(r.count("failure_streak"), 0);
  EXPECT_EQ(r.policy.wakeup(), never);
}

TEST(breaker, without_gap_never_forgets_if_the_quiet_period_is_unlimited) {
  auto c = until_a_gap();
  c.quiet_period = unlimited;
  breaker_rig r{c};
  r.play("xx");
  EXPECT_EQ(r.policy.wakeup(), never);
  r.advance(1000h);
  r.play("x");
  EXPECT_EQ(r.state(), "open");
}

TEST(trip_history, forgets_by_itself_when_a_result_comes) {
  auto c = until_a_gap();
  detail::trip_history h{c};
  auto t = time_point{} + 1h;
  random_source random;
  env e{t, random};
  h.add(true, 0s, t);
  h.add(true, 0s, t);
  h.add(true, 0s, t + 5s);
  EXPECT_EQ(h.streak(), 1);
  EXPECT_EQ(h.verdict(c, e), "");
}

// -- closed: failure rates ----------------------------------------------------

breaker_config by_count(std::uint32_t window, std::uint32_t minimum) {
  auto c = with_threshold(1);
  c.trip = breaker_trip::rate_by_count;
  c.window_calls = window;
  c.minimum_calls = minimum;
  return c;
}

TEST(breaker, by_count_does_not_know_the_rate_below_the_minimum_of_calls) {
  breaker_rig r{by_count(10, 4)};
  r.play("xxx");
  EXPECT_EQ(r.state(), "closed");
  EXPECT_EQ(r.count("failure_rate_permille"), -1);
  EXPECT_EQ(r.count("window_total"), 3);
  EXPECT_EQ(r.count("failure_streak"), 0);
}

TEST(breaker, by_count_opens_at_exactly_the_rate) {
  breaker_rig r{by_count(10, 4)};
  r.play("..xx");
  EXPECT_EQ(r.state(), "open");
  breaker_rig s{by_count(10, 4)};
  s.play("...x");
  EXPECT_EQ(s.state(), "closed");
  EXPECT_EQ(s.count("failure_rate_permille"), 250);
}

TEST(breaker, by_count_may_open_with_a_success_that_makes_the_rate_known) {
  breaker_rig r{by_count(10, 4)};
  r.play("xxx.");
  EXPECT_EQ(r.state(), "open");
}

TEST(breaker, by_count_compares_decimal_rates_exactly) {
  for (auto percent : {7, 14, 28, 29, 57, 58, 3, 33}) {
    auto c = by_count(100, 100);
    c.failure_rate = std::stod("0." + std::string(percent < 10 ? "0" : "")
                               + std::to_string(percent));
    breaker_rig r{c};
    for (int i = 0; i < 100; ++i)
      r.play(i < percent - 1 ? "x" : ".");
    EXPECT_EQ(r.state(), "closed") << percent;
    EXPECT_EQ(r.count("failure_rate_permille"), 10 * (percent - 1));
    // The oldest failure leaves with the first of these, the last one trips.
    r.play("x");
    EXPECT_EQ(r.state(), "closed") << percent;
    breaker_rig s{c};
    for (int i = 0; i < 100; ++i)
      s.play(i < percent ? "x" : ".");
    EXPECT_EQ(s.state(), "open") << percent;
  }
}

TEST(breaker, by_count_forgets_calls_beyond_the_window) {
  breaker_rig r{by_count(4, 4)};
  r.play("x...");
  EXPECT_EQ(r.count("failure_rate_permille"), 250);
  r.play(".");
  EXPECT_EQ(r.count("failure_rate_permille"), 0);
  r.play("x.x");
  EXPECT_EQ(r.state(), "open");
}

breaker_config by_time() {
  auto c = with_threshold(1);
  c.trip = breaker_trip::rate_by_time;
  c.minimum_calls = 4;
  return c;
}

TEST(breaker, by_time_forgets_results_that_came_before_the_window) {
  breaker_rig r{by_time()};
  r.play("xxx");
  r.advance(10s);
  EXPECT_EQ(r.count("window_total"), 0);
  EXPECT_EQ(r.policy.wakeup(), never);
  r.play("x..x");
  EXPECT_EQ(r.state(), "open");
}

TEST(breaker, by_time_opens_for_a_worker_that_hangs_longer_than_the_window) {
  breaker_rig r{by_time()};
  std::vector<call_id> ids;
  for (int i = 0; i < 4; ++i) {
    ids.push_back(r.arrive());
    r.advance(1s);
  }
  // Each is given up after 30 seconds; the window is one of ten.
  for (auto id : ids) {
    EXPECT_EQ(r.state(), "closed");
    r.advance_to(30s + (id - ids.front()) * 1s);
    r.abandon(id);
  }
  EXPECT_EQ(r.state(), "open");
  EXPECT_EQ(r.count("failures"), 4);
  EXPECT_EQ(r.count("late_results"), 0);
}

TEST(breaker, by_time_counts_a_call_when_its_result_comes) {
  breaker_rig r{by_time()};
  auto slow = r.arrive();
  r.advance(8s);
  EXPECT_EQ(r.count("window_total"), 0);
  r.fail(slow);
  r.advance(9s);
  EXPECT_EQ(r.count("window_total"), 1);
  r.advance(1s);
  EXPECT_EQ(r.count("window_total"), 0);
}

TEST(breaker, by_time_shows_the_rate_of_the_present_when_nobody_calls) {
  breaker_rig r{by_time()};
  r.play("x...");
  r.advance(5s);
  r.play(".");
  EXPECT_EQ(r.count("failure_rate_permille"), 200);
  r.advance_to(10s);
  EXPECT_EQ(r.count("failure_rate_permille"), -1);
  EXPECT_EQ(r.count("window_total"), 1);
}

} // namespace
} // namespace caisson::test
