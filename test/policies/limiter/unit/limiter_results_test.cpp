#include "policies/limiter/model/limiter_rig.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace caisson::test {
namespace {

// -- tokens given back --------------------------------------------------------

TEST(limiter, gives_back_the_tokens_of_calls_that_were_not_executed) {
  limiter_rig h{some_limiter(10, 1s, 2)};
  auto a = h.arrive(heavy(2));
  EXPECT_EQ(h.count("tokens"), 0);
  h.fail(a, errc::breaker_open, false);
  EXPECT_EQ(h.count("tokens"), 2);
  auto b = h.arrive(heavy(2));
  h.fail(b, errc::worker_down, true);
  EXPECT_EQ(h.count("tokens"), 0);
  h.advance(200ms);
  auto c = h.arrive();
  auto d = h.arrive();
  h.policy.abandon(h.calls.at(c).call, h.calls.at(c).notes,
                   outcome::failure(errc::deadline_exceeded, false), true, h.e);
  EXPECT_EQ(h.count("tokens"), 1);
  h.abandon(d);
  EXPECT_EQ(h.count("tokens"), 1);
  EXPECT_EQ(h.count("returned"), 2);
  EXPECT_EQ(h.count("finished"), 2);
  EXPECT_EQ(h.count("abandoned"), 2);
}

TEST(limiter, gives_back_no_more_than_the_bucket_holds) {
  limiter_rig h{some_limiter(10, 1s, 2)};
  auto a = h.arrive(heavy(2));
  h.advance(150ms);
  h.fail(a, errc::queue_full, false);
  EXPECT_EQ(h.count("tokens"), 2);
  h.arrive(heavy(2));
  h.advance(100ms - 1ns);
  h.policy.wake(h.e);
  EXPECT_EQ(h.count("tokens"), 0);
}

TEST(limiter, serves_a_waiter_from_tokens_that_came_back) {
  limiter_rig h{some_limiter(10, 1s, 1, 1s)};
  auto a = h.arrive();
  auto b = h.arrive();
  h.fail(a, errc::breaker_open, false);
  EXPECT_EQ(h.where(b), place::below);
}

TEST(limiter, keeps_the_price_of_a_call_that_succeeded) {
  limiter_rig h{some_limiter(10, 1s, 1)};
  auto a = h.arrive();
  h.finish(a);
  EXPECT_EQ(h.count("tokens"), 0);
  EXPECT_EQ(h.count("returned"), 0);
}

// -- drained by a result ------------------------------------------------------

TEST(limiter, is_drained_by_a_worker_that_says_when_to_come_back) {
  limiter_rig h{some_limiter(10, 1s, 5)};
  auto a = h.arrive();
  h.finish(a, error_of_worker(2s));
  EXPECT_EQ(h.count("tokens"), 0);
  EXPECT_EQ(h.count("drained"), 1);
  auto b = h.arrive();
  EXPECT_EQ(h.where(b), place::rejected);
  EXPECT_EQ(h.calls.at(b).retry_after, 2100ms);
  h.advance_to(2100ms - 1ns);
  EXPECT_EQ(h.where(h.arrive()), place::rejected);
  h.advance_to(2100ms);
  EXPECT_EQ(h.where(h.arrive()), place::below);
  EXPECT_EQ(h.where(h.arrive()), place::rejected);
}

TEST(limiter, is_drained_by_a_worker_that_says_it_is_limited) {
  limiter_rig h{some_limiter(10, 1s, 5)};
  auto a = h.arrive();
  auto b = h.arrive();
  h.finish(a, answered(outcome::failure(errc::rate_limited, true)));
  EXPECT_EQ(h.count("drained"), 1);
  EXPECT_EQ(h.calls.at(h.arrive()).retry_after, 100ms);
  h.finish(b, answered(outcome::failure(errc::rate_limited, true, 2s)));
  EXPECT_EQ(h.count("drained"), 2);
  EXPECT_EQ(h.calls.at(h.arrive()).retry_after, 2100ms);
}

// Behind a retrier an earlier attempt may have executed: that does
// not make a refusal the worker's word.
TEST(limiter, is_not_drained_by_layers_and_gates_further_in) {
  for (auto code : {errc::breaker_open, errc::rate_limited, errc::queue_full,
                    errc::wait_timeout, errc::deadline_exceeded})
    for (auto may_have_executed : {false, true}) {
      limiter_rig h{some_limiter(10, 1s, 5)};
      auto a = h.arrive();
      h.finish(a, outcome::failure(code, may_have_executed, 5s));
      EXPECT_EQ(h.count("drained"), 0) << name_of(code);
      EXPECT_EQ(h.count("tokens"), may_have_executed ? 4 : 5) << name_of(code);
    }
}

TEST(limiter, is_not_drained_by_other_results) {
  const outcome outcomes[] = {
    outcome::success(),
    error_of_worker(0ns),
    error_of_worker(-5s),
    outcome::failure(errc::worker_down, true),
  };
  for (auto& o : outcomes) {
    limiter_rig h{some_limiter(10, 1s, 5)};
    auto a = h.arrive();
    h.finish(a, o);
    EXPECT_EQ(h.count("drained"), 0);
    EXPECT_GE(h.count("tokens"), 4);
  }
  auto config = some_limiter(10, 1s, 5);
  config.drain_on_rejection = false;
  limiter_rig h{config};
  auto a = h.arrive();
  auto b = h.arrive();
  h.finish(a, error_of_worker(2s));
  h.finish(b, answered(outcome::failure(errc::rate_limited, true)));
  EXPECT_EQ(h.count("tokens"), 3);
}

TEST(limiter, is_not_drained_for_longer_than_its_cap) {
  limiter_rig by_default{some_limiter(10, 1s, 5)};
  by_default.finish(by_default.arrive(), error_of_worker(24h));
  EXPECT_EQ(by_default.calls.at(by_default.arrive()).retry_after, 1min + 100ms);
  by_default.advance_to(1min + 100ms);
  EXPECT_EQ(by_default.where(by_default.arrive()), place::below);

  auto config = some_limiter(10, 1s, 5);
  config.retry_after_cap = 3s;
  limiter_rig h{config};
  auto a = h.arrive();
  auto b = h.arrive();
  h.finish(a, error_of_worker(unlimited));
  EXPECT_EQ(h.calls.at(h.arrive()).retry_after, 3100ms);
  // Each answer counts from its own arrival.
  h.advance_to(1s);
  h.finish(b, error_of_worker(1h));
  EXPECT_EQ(h.calls.at(h.arrive()).retry_after, 3100ms);
  // A new cap is for answers from then on.
  config.retry_after_cap = unlimited;
  h.reconfigure(config);
  EXPECT_EQ(h.calls.at(h.arrive()).retry_after, 3100ms);
  h.advance_to(4100ms);
  h.finish(h.arrive(), error_of_worker(24h));
  EXPECT_EQ(h.calls.at(h.arrive()).retry_after, 24h + 100ms);
}

TEST(limiter, can_be_emptied_without_a_pause) {
  auto config = some_limiter(10, 1s, 5);
  config.retry_after_cap = 0s;
  limiter_rig h{config};
  h.finish(h.arrive(), error_of_worker(1h));
  EXPECT_EQ(h.count("tokens"), 0);
  EXPECT_EQ(h.calls.at(h.arrive()).retry_after, 100ms);
}

TEST(limiter, keeps_the_longer_of_two_drains) {
  limiter_rig h{some_limiter(10, 1s, 5)};
  auto a = h.arrive();
  auto b = h.arrive();
  auto c = h.arrive();
  h.finish(a, error_of_worker(2s));
  h.finish(b, error_of_worker(1s));
  EXPECT_EQ(h.calls.at(h.arrive()).retry_after, 2100ms);
  h.finish(c, error_of_worker(3s));
  EXPECT_EQ(h.calls.at(h.arrive()).retry_after, 3100ms);
}

TEST(limiter, gives_nothing_back_while_it_is_drained) {
  limiter_rig h{some_limiter(10, 1s, 5)};
  auto a = h.arrive();
  auto b = h.arrive();
  auto c = h.arrive();
  h.finish(a, error_of_worker(2s));
  h.advance_to(2s - 1ns);
  h.fail(b, errc::breaker_open, false);
  EXPECT_EQ(h.count("tokens"), 0);
  EXPECT_EQ(h.count("returned"), 1);
  h.advance_to(2s);
  h.fail(c, errc::breaker_open, false);
  EXPECT_EQ(h.count("tokens"), 1);
}

TEST(limiter, holds_the_bucket_empty_until_the_later_of_two_drains_ends) {
  limiter_rig h{some_limiter(10, 1s, 5)};
  auto a = h.arrive();
  auto b = h.arrive();
  auto c = h.arrive();
  h.finish(a, error_of_worker(2s));
  h.finish(b, error_of_worker(1s));
  h.advance_to(1500ms);
  h.fail(c, errc::breaker_open, false);
  EXPECT_EQ(h.count("tokens"), 0);
  EXPECT_EQ(h.where(h.arrive()), place::rejected);
}

TEST(limiter, takes_tokens_back_again_after_a_reset_ended_a_drain) {
  limiter_rig h{some_limiter(10, 1s, 5)};
  auto a = h.arrive();
  h.finish(a, error_of_worker(2s));
  h.command(operator_command::reset);
  auto b = h.arrive();
  h.fail(b, errc::breaker_open, false);
  EXPECT_EQ(h.count("tokens"), 5);
}

TEST(limiter, lets_waiters_time_out_when_a_drain_delays_their_turn) {
  limiter_rig h{some_limiter(10, 1s, 1, 200ms)};
  auto a = h.arrive();
  auto b = h.arrive();
  auto c = h.arrive();
  h.advance_to(50ms);
  h.finish(a, error_of_worker(1s));
  EXPECT_EQ(h.policy.wakeup(), limiter_rig::start() + 1150ms);
  h.advance_to(200ms - 1ns);
  EXPECT_EQ(h.where(b), place::held);
  h.advance_to(200ms);
  EXPECT_EQ(h.where(b), place::rejected);
  EXPECT_EQ(h.where(c), place::rejected);
  EXPECT_EQ(h.calls.at(b).code, errc::wait_timeout);
  // As a newcomer it would stand behind c, which was still there.
  EXPECT_EQ(h.calls.at(b).retry_after, 1050ms);
  EXPECT_EQ(h.calls.at(c).retry_after, 950ms);
  EXPECT_EQ(h.count("timed_out"), 2);
}

TEST(limiter, is_closed_for_good_by_a_worker_that_never_wants_to_be_asked) {
  auto config = some_limiter(10, 1s, 1, unlimited);
  config.retry_after_cap = unlimited;
  limiter_rig h{config};
  auto a = h.arrive();
  h.finish(a, error_of_worker(unlimited));
  auto b = h.arrive();
  EXPECT_EQ(h.where(b), place::rejected);
  EXPECT_EQ(h.calls.at(b).code, errc::rate_limited);
  EXPECT_EQ(h.calls.at(b).retry_after, 0ns);
  EXPECT_TRUE(h.command(operator_command::reset));
  EXPECT_EQ(h.where(h.arrive()), place::below);
}

// -- the clock ----------------------------------------------------------------

TEST(limiter, does_not_change_its_balance_when_the_clock_steps_back) {
  limiter_rig h{some_limiter(10, 1s, 2)};
  h.advance(10s);
  h.arrive();
  EXPECT_EQ(h.count("tokens"), 1);
  h.set_clock(5s);
  EXPECT_EQ(h.where(h.arrive()), place::below);
  auto c = h.arrive();
  EXPECT_EQ(h.where(c), place::rejected);
  EXPECT_EQ(h.calls.at(c).retry_after, 5100ms);
  h.set_clock(0s);
  EXPECT_EQ(h.where(h.arrive()), place::rejected);
  h.set_clock(10s);
  EXPECT_EQ(h.where(h.arrive()), place::rejected);
  h.set_clock(10'100ms);
  EXPECT_EQ(h.where(h.arrive()), place::below);
}

TEST(limiter, grants_nothing_for_time_that_stands_still) {
  limiter_rig h{some_limiter(1'000'000'000, 1s, 1)};
  h.arrive();
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(h.where(h.arrive()), place::rejected);
}

TEST(limiter, works_at_both_ends_of_time) {
  limiter_rig early{some_limiter(10, 1s, 1)};
  early.e.now = time_point{duration{-5s}};
  early.arrive();
  EXPECT_EQ(early.where(early.arrive()), place::rejected);
  early.e.now = time_point{};
  EXPECT_EQ(early.where(early.arrive()), place::below);
  limiter_rig late{some_limiter(1, 365 * 24h, 1, unlimited)};
  late.e.now = never - 1s;
  late.arrive();
  auto b = late.arrive();
  EXPECT_EQ(late.where(b), place::rejected);
  EXPECT_EQ(late.calls.at(b).retry_after, 0ns);
}

// -- changes in use -----------------------------------------------------------

TEST(limiter, keeps_its_tokens_when_it_is_reconfigured) {
  limiter_rig h{some_limiter(10, 1s, 5)};
  h.arrive(heavy(2));
  h.advance(50ms);
  h.reconfigure(some_limiter(7, minute, 100));
  EXPECT_EQ(h.count("tokens"), 3);
  h.arrive(heavy(3));
  // The half token that had come in counts at the new rate.
  auto half = (minute.count() + 13) / 14;
  EXPECT_EQ(h.calls.at(h.arrive()).retry_after, duration{half});
  h.reconfigure(some_limiter(10, 1s, 1));
  h.advance(1s);
  h.arrive();
  EXPECT_EQ(h.count("tokens"), 0);
}

TEST(limiter, loses_the_tokens_above_a_smaller_burst) {
  limiter_rig h{some_limiter(10, 1s, 5)};
  h.reconfigure(some_limiter(10, 1s, 2));
  EXPECT_EQ(h.count("tokens"), 2);
  h.reconfigure(some_limiter(10, 1s, 5));
  EXPECT_EQ(h.count("tokens"), 2);
}

TEST(limiter, serves_its_waiters_at_the_new_rate) {
  limiter_rig h{some_limiter(1, 1s, 1, 10s)};
  h.arrive();
  auto b = h.arrive();
  auto c = h.arrive();
  h.advance_to(500ms);
  h.reconfigure(some_limiter(10, 1s, 1));
  EXPECT_EQ(h.where(b), place::held);
  h.advance_to(550ms);
  EXPECT_EQ(h.where(b), place::below);
  h.advance_to(650ms);
  EXPECT_EQ(h.where(c), place::below);
}

TEST(limiter, rejects_waiters_that_became_too_heavy) {
  limiter_rig h{some_limiter(10, 1s, 4, 10s)};
  h.arrive(heavy(4));
  auto b = h.arrive(heavy(3));
  auto c = h.arrive(heavy(2));
  h.reconfigure(some_limiter(10, 1s, 2, 10s));
  EXPECT_EQ(h.where(b), place::rejected);
  EXPECT_EQ(h.calls.at(b).code, errc::rate_limited);
  EXPECT_EQ(h.where(c), place::held);
  EXPECT_EQ(h.count("outgrown"), 1);
  h.advance_to(200ms);
  EXPECT_EQ(h.where(c), place::below);
}

// -- commands -----------------------------------------------------------------

TEST(limiter, is_full_again_after_a_reset_and_keeps_calls) {
  limiter_rig h{some_limiter(10, 1s, 2, 1s)};
  h.arrive(heavy(2));
  auto b = h.arrive();
  auto c = h.arrive(heavy(2));
  EXPECT_TRUE(h.command(operator_command::reset));
  EXPECT_EQ(h.where(b), place::below);
  EXPECT_EQ(h.where(c), place::held);
  EXPECT_EQ(h.count("tokens"), 1);
  EXPECT_EQ(h.count("passed"), 0);
  EXPECT_EQ(h.count("queued"), 0);
  EXPECT_EQ(h.count("granted"), 1);
  h.advance_to(100ms);
  EXPECT_EQ(h.where(c), place::below);
}

TEST(limiter, knows_no_operator_states) {
  limiter_rig h{some_limiter(1, 1s, 1)};
  EXPECT_TRUE(h.command(operator_command::enable));
  EXPECT_FALSE(h.command(operator_command::force_open));
  EXPECT_FALSE(h.command(operator_command::force_closed));
  EXPECT_FALSE(h.command(operator_command::off));
  EXPECT_FALSE(h.command(operator_command::observe));
}

} // namespace
} // namespace caisson::test
