#include <caisson/policies/retrier/retrier.hpp>

#include <policies/retrier/model/retrier_rig.hpp>

#include <support/problem_texts.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace caisson::test {
namespace {

using namespace retrying;
using namespace std::chrono_literals;

using strings = std::vector<std::string>;

// -- configuration ------------------------------------------------------------

TEST(retrier, has_these_defaults) {
  retrier_config c;
  EXPECT_EQ(c.max_attempts, 3u);
  EXPECT_EQ(c.backoff,
            schedule::exponential(50ms).limit(2s).jittered(jitter::full));
  EXPECT_FALSE(c.idempotent);
  EXPECT_FALSE(c.idempotency_keys);
  EXPECT_TRUE(c.budget);
  EXPECT_EQ(c.budget_ratio, 0.2);
  EXPECT_EQ(c.budget_reserve, 10u);
  EXPECT_EQ(c.budget_ttl, 10s);
  EXPECT_EQ(c.budget_cost, 1u);
  EXPECT_EQ(c.budget_timeout_cost, 1u);
  EXPECT_EQ(c.budget_overload_cost, 1u);
  EXPECT_EQ(c.overload_factor, 1);
  EXPECT_EQ(c.retry_after_margin, unlimited);
  EXPECT_EQ(c.budget_name, "");
  EXPECT_FALSE(c.unsafe);
  EXPECT_EQ(c.verify_timeout, 1s);
  EXPECT_EQ(c.verify_attempts, 3u);
  EXPECT_EQ(c.verify_pause, 100ms);
  EXPECT_EQ(c.alarm_first_try, 0.8);
  EXPECT_EQ(c.alarm_window, 10s);
  EXPECT_EQ(c.alarm_minimum_calls, 100u);
  EXPECT_TRUE(problems_of(c).empty());
}

TEST(retrier, refuses_what_is_out_of_range) {
  auto c = simple_retrier();
  c.max_attempts = 1'001;
  EXPECT_THROW(retrier{c}, config_error);
}

TEST(retrier, refuses_settings_that_contradict_each_other) {
  struct row {
    void (*spoil)(retrier_config&);
    std::string expected;
  };
  for (auto& x : std::vector<row>{
         {[](auto& c) { c.backoff = schedule::constant(1s).take(10); },
          "relation backoff"},
         {[](auto& c) {
            c.backoff = schedule::list({1s, 1s, 1s});
          },
          "relation backoff"},
         {[](auto& c) {
            c.backoff = schedule::constant(0s).take(2).then(
              schedule::constant(1s));
          },
          "relation backoff"},
         {[](auto& c) {
            c.budget_ratio = 0;
            c.budget_reserve = 0;
          },
          "relation budget_ratio"},
         {[](auto& c) {
            c.budget_ratio = 0;
            c.budget_reserve = 4;
            c.budget_ttl = 2s;
            c.budget_timeout_cost = 9;
          },
          "relation budget_timeout_cost"},
         {[](auto& c) {
            c.budget_ratio = 0;
            c.budget_reserve = 1;
            c.budget_ttl = 2s;
            c.budget_cost = 3;
          },
          "relation budget_cost"},
         {[](auto& c) {
            c.budget_ratio = 0;
            c.budget_reserve = 1;
            c.budget_ttl = 2s;
            c.budget_overload_cost = 3;
          },
          "relation budget_overload_cost"},
         {[](auto& c) {
            c.classify.allow = {"shed"};
            c.classify.deny = {"shed"};
          },
          "relation retry_on"}}) {
    retrier_config c;
    x.spoil(c);
    EXPECT_EQ(kinds_and_keys(problems_of(c)), strings{x.expected});
  }
}

// Tests of relations see values that are out of range, too.
TEST(retrier, refuses_an_unlimited_time_without_a_ratio) {
  retrier_config c;
  c.budget_ratio = 0;
  c.budget_ttl = unlimited;
  EXPECT_EQ(kinds_and_keys(problems_of(c)), strings{"range budget_ttl"});
}

TEST(retrier, accepts_schedules_that_may_end_in_time) {
  for (auto& s :
       {schedule::constant(1s).take(2), schedule::constant(1s).take(1),
        schedule::constant(1s), schedule{},
        schedule::constant(1s).take(10).until(2s), schedule::list({0s, 0s}),
        schedule::list({0s, 0s, 0s}).take(2),
        schedule::constant(1s).until(2s).then(schedule::constant(2s).take(2)),
        schedule::custom([](std::uint32_t) {
          return std::nullopt;
        }).take(10)}) {
    retrier_config c;
    c.backoff = s;
    EXPECT_EQ(problems_of(c), problems{}) << to_text(s);
  }
  // Retries are switched off, and their settings wait for better days.
  retrier_config c;
  c.max_attempts = 1;
  c.backoff = schedule::constant(1s).take(10);
  c.budget_ratio = 0;
  c.budget_reserve = 0;
  EXPECT_EQ(problems_of(c), problems{});
}

TEST(retrier, refuses_names_that_are_no_errors) {
  auto c = simple_retrier();
  c.classify.allow = {"deadline_exceeded", "tired"};
  c.classify.deny = {"app:0"};
  EXPECT_EQ(kinds_and_keys(problems_of(c, "stack.db")),
            (strings{"range stack.db.retry_on", "range stack.db.fail_on"}));
}

TEST(retrier, refuses_a_broken_schedule) {
  auto c = simple_retrier();
  c.backoff = schedule::constant(-1ms);
  EXPECT_THROW(retrier{c}, config_error);
}

// -- attempts -----------------------------------------------------------------

TEST(retrier, passes_a_success_up) {
  retrier_rig h{simple_retrier()};
  auto id = h.arrive();
  EXPECT_EQ(h.where(id), place::below);
  h.finish(id);
  EXPECT_EQ(h.where(id), place::passed);
  EXPECT_TRUE(h.calls.at(id).result.ok);
  EXPECT_EQ(h.count("calls"), 1);
  EXPECT_EQ(h.count("succeeded"), 1);
  EXPECT_EQ(h.count("recovered"), 0);
}

TEST(retrier, sends_a_failed_call_down_again_when_its_backoff_is_over) {
  retrier_rig h{simple_retrier()};
  auto id = h.arrive();
  h.fail(id);
  EXPECT_EQ(h.count("waiting"), 1);
  EXPECT_EQ(h.count("retried"), 1);
  h.advance(10ms - 1ns);
  EXPECT_EQ(h.where(id), place::held);
  EXPECT_EQ(h.count("resent"), 0);
  EXPECT_EQ(h.calls.at(id).call.attempt, 1u);
  h.advance(1ns);
  EXPECT_EQ(h.where(id), place::below);
  EXPECT_EQ(h.count("resent"), 1);
  EXPECT_EQ(h.count("waiting"), 0);
  EXPECT_EQ(h.calls.at(id).call.attempt, 2u);
  h.finish(id);
  EXPECT_EQ(h.count("recovered"), 1);
  EXPECT_EQ(h.count("succeeded"), 0);
}

TEST(retrier, retries_without_delay_through_a_hold_that_is_over_at_once) {
  auto c = simple_retrier();
  c.unsafe = true;
  c.backoff = schedule::constant(0ns);
  retrier_rig h{c};
  auto id = h.arrive();
  h.fail(id);
  EXPECT_EQ(wait_of(h, id), 0ns);
  h.advance(0ns);
  EXPECT_EQ(h.where(id), place::below);
}

TEST(retrier, counts_attempts_and_not_retries) {
  for (std::uint32_t max : {1u, 2u, 3u, 7u}) {
    auto c = simple_retrier();
    c.max_attempts = max;
    retrier_rig h{c};
    auto id = h.arrive();
    for (std::uint32_t i = 1; i < max; ++i)
      backoff_after(h, id);
    h.fail(id);
    EXPECT_EQ(h.where(id), place::passed);
    EXPECT_EQ(h.calls.at(id).descents, static_cast<int>(max));
    EXPECT_EQ(h.count("gave_up_attempts"), 1);
  }
}

TEST(retrier, gives_up_with_the_last_real_outcome) {
  auto c = simple_retrier();
  c.max_attempts = 2;
  retrier_rig h{c};
  auto id = h.arrive();
  backoff_after(h, id);
  h.finish(id, outcome::failure(errc::breaker_open, true, 3s));
  auto& o = h.calls.at(id).result;
  EXPECT_TRUE(o.is(errc::breaker_open));
  EXPECT_EQ(o.retry_after, 3s);
}

TEST(retrier, reports_each_retry) {
  retrier_rig h{simple_retrier()};
  auto id = h.arrive();
  backoff_after(h, id);
  h.finish(id);
  EXPECT_EQ(h.e.reports, (strings{"retried:>"}));
}

TEST(retrier, does_not_let_the_number_of_attempts_wrap) {
  constexpr auto most = std::numeric_limits<std::uint32_t>::max();
  retrier_rig h{simple_retrier()};
  call_info call;
  call.attempt = most;
  auto id = h.arrive(call);
  backoff_after(h, id);
  EXPECT_EQ(h.calls.at(id).call.attempt, most);
}

TEST(retrier, wants_the_content_of_calls_to_be_kept) {
  retrier r{simple_retrier()};
  EXPECT_TRUE(r.resends());
  EXPECT_EQ(r.kind(), "retrier");
  EXPECT_EQ(r.state(), "");
}

// -- idempotency keys ---------------------------------------------------------

TEST(retrier, gives_calls_without_an_idempotency_key_one_of_their_own) {
  auto c = simple_retrier();
  c.idempotency_keys = true;
  retrier_rig h{c};
  auto a = h.arrive();
  auto key = h.calls.at(a).call.idempotency_key;
  EXPECT_EQ(key.size(), 32u);
  backoff_after(h, a);
  EXPECT_EQ(h.calls.at(a).call.idempotency_key, key);
  EXPECT_NE(h.calls.at(h.arrive()).call.idempotency_key, key);
  call_info named;
  named.idempotency_key = "order 7";
  EXPECT_EQ(h.calls.at(h.arrive(named)).call.idempotency_key, "order 7");
  retrier_rig without{simple_retrier()};
  EXPECT_EQ(without.calls.at(without.arrive()).call.idempotency_key, "");
}

TEST(retrier, gives_the_same_idempotency_keys_again_with_the_same_seed) {
  auto c = simple_retrier();
  c.idempotency_keys = true;
  retrier_rig a{c};
  retrier_rig b{c};
  EXPECT_EQ(a.calls.at(a.arrive()).call.idempotency_key,
            b.calls.at(b.arrive()).call.idempotency_key);
}

// -- calls that go away -------------------------------------------------------

TEST(retrier, forgets_a_call_that_is_taken_away) {
  retrier_rig h{simple_retrier()};
  auto below = h.arrive();
  auto waiting = h.arrive();
  h.fail(waiting);
  h.abandon(below);
  EXPECT_EQ(h.count("abandoned"), 1);
  EXPECT_EQ(h.count("waiting"), 1);
  h.abandon(waiting);
  EXPECT_EQ(h.count("abandoned_waiting"), 1);
  EXPECT_EQ(h.count("waiting"), 0);
  h.advance(1s);
  EXPECT_EQ(h.count("resent"), 0);
}

TEST(retrier, waits_the_whole_backoff_when_the_clock_steps_back) {
  retrier_rig h{simple_retrier()};
  auto id = h.arrive();
  h.set_clock(-1s);
  h.fail(id);
  EXPECT_EQ(wait_of(h, id), 10ms);
  h.set_clock(-2s);
  h.advance_to(-1s);
  EXPECT_EQ(h.where(id), place::held);
  h.advance_to(-990ms);
  EXPECT_EQ(h.where(id), place::below);
}

// -- operation ----------------------------------------------------------------

TEST(retrier, reconfigured_it_keeps_calls_and_their_delays) {
  retrier_rig h{simple_retrier()};
  auto id = h.arrive();
  h.fail(id);
  auto c = simple_retrier();
  c.max_attempts = 2;
  c.backoff = schedule::constant(1s);
  h.reconfigure(c);
  EXPECT_EQ(h.policy.config().max_attempts, 2u);
  EXPECT_EQ(wait_of(h, id), 10ms);
  EXPECT_EQ(h.count("waiting"), 1);
  h.advance(10ms);
  EXPECT_EQ(h.where(id), place::below);
  h.fail(id);
  EXPECT_EQ(h.where(id), place::passed);
  EXPECT_EQ(h.count("gave_up_attempts"), 1);
}

TEST(retrier, begins_a_new_schedule_at_its_start) {
  auto c = simple_retrier();
  c.backoff = schedule::exponential(10ms);
  retrier_rig h{c};
  auto id = h.arrive();
  backoff_after(h, id);
  backoff_after(h, id);
  c.max_attempts = 500;
  h.reconfigure(c);
  EXPECT_EQ(backoff_after(h, id), 40ms);
  c.backoff = schedule::exponential(1ms);
  h.reconfigure(c);
  EXPECT_EQ(backoff_after(h, id), 1ms);
  EXPECT_EQ(backoff_after(h, id), 2ms);
}

TEST(retrier, keeps_its_budget_unless_its_settings_change) {
  auto c = simple_retrier();
  c.budget = true;
  c.budget_ratio = 0;
  c.budget_reserve = 2;
  c.budget_ttl = 1s;
  retrier_rig h{c};
  h.fail(h.arrive());
  EXPECT_EQ(h.count("budget_left"), 1);
  c.max_attempts = 7;
  h.reconfigure(c);
  EXPECT_EQ(h.count("budget_left"), 1);
  c.budget_reserve = 3;
  h.reconfigure(c);
  EXPECT_EQ(h.count("budget_left"), 3);
  h.fail(h.arrive());
  c.budget = false;
  h.reconfigure(c);
  EXPECT_EQ(h.count("budget_left"), 0);
  c.budget = true;
  h.reconfigure(c);
  EXPECT_EQ(h.count("budget_left"), 3);
}

TEST(retrier, obeys_the_commands_that_it_knows) {
  using enum operator_command;
  retrier_rig h{simple_retrier()};
  for (auto [c, known] :
       std::vector<std::pair<operator_command, bool>>{{force_open, false},
                                                      {force_closed, false},
                                                      {off, false},
                                                      {enable, true},
                                                      {observe, false},
                                                      {reset, true}})
    EXPECT_EQ(h.command(c), known) << name_of(c);
}

TEST(retrier, reset_clears_counters_and_budget_but_keeps_calls) {
  auto c = simple_retrier();
  c.budget = true;
  c.budget_ratio = 1;
  c.budget_reserve = 1;
  c.budget_ttl = 1s;
  retrier_rig h{c};
  auto id = h.arrive();
  h.fail(id);
  EXPECT_TRUE(h.command(operator_command::reset));
  EXPECT_EQ(h.count("calls"), 0);
  EXPECT_EQ(h.count("retried"), 0);
  EXPECT_EQ(h.count("budget_left"), 1);
  EXPECT_EQ(h.count("waiting"), 1);
  h.advance(10ms);
  EXPECT_EQ(h.where(id), place::below);
  EXPECT_EQ(h.count("waiting"), 0);
}

} // namespace
} // namespace caisson::test
