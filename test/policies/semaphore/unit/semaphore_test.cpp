#include <caisson/policies/semaphore.hpp>

#include <support/rig.hpp>

#include <support/problem_texts.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

using texts = std::vector<std::string>;
using semaphore_rig = rig<semaphore>;

semaphore_config some_semaphore(std::uint32_t permits,
                                std::uint32_t max_waiters = 0,
                                duration max_wait = unlimited,
                                wait_order order = wait_order::fifo) {
  semaphore_config c;
  c.permits = permits;
  c.max_waiters = max_waiters;
  c.max_wait = max_wait;
  c.order = order;
  return c;
}

// -- configuration ------------------------------------------------------------

TEST(semaphore, refuses_settings_that_contradict_each_other) {
  auto lifo = some_semaphore(1);
  lifo.order = wait_order::lifo;
  EXPECT_EQ(kinds_and_keys(problems_of(lifo)), texts{"relation order"});
  EXPECT_EQ(kinds_and_keys(problems_of(some_semaphore(1, 0, 200ms))),
            texts{"relation max_wait"});
  EXPECT_EQ(kinds_and_keys(problems_of(some_semaphore(1, 5, 0ns))),
            texts{"relation max_wait"});
  EXPECT_THROW(semaphore{some_semaphore(0)}, config_error);
  EXPECT_NO_THROW(semaphore{some_semaphore(1)});
  EXPECT_NO_THROW(semaphore{some_semaphore(1'000'000, 1'000'000, 1ns)});
  EXPECT_NO_THROW(semaphore{some_semaphore(1, 0, 0ns)});
}

TEST(semaphore, is_called_semaphore_and_has_no_states) {
  semaphore_rig h{some_semaphore(3)};
  EXPECT_EQ(h.policy.kind(), "semaphore");
  EXPECT_EQ(h.policy.state(), "");
  EXPECT_EQ(h.policy.config().permits, 3u);
  EXPECT_EQ(h.policy.wakeup(), never);
  EXPECT_FALSE(h.policy.resends());
}

// -- without a queue ----------------------------------------------------------

TEST(semaphore, passes_as_many_calls_as_it_has_permits) {
  semaphore_rig h{some_semaphore(2)};
  auto a = h.arrive();
  auto b = h.arrive();
  auto c = h.arrive();
  EXPECT_EQ(h.where(a), place::below);
  EXPECT_EQ(h.where(b), place::below);
  EXPECT_EQ(h.where(c), place::rejected);
  EXPECT_EQ(h.calls.at(c).code, errc::queue_full);
  EXPECT_EQ(h.calls.at(c).retry_after, 0ns);
  EXPECT_EQ(h.count("in_use"), 2);
  h.finish(a);
  EXPECT_EQ(h.count("in_use"), 1);
  EXPECT_EQ(h.where(h.arrive()), place::below);
  EXPECT_EQ(h.count("passed"), 3);
  EXPECT_EQ(h.count("queue_full"), 1);
  EXPECT_EQ(h.count("finished"), 1);
  EXPECT_EQ(h.e.reports, std::vector<std::string>{"rejected:>queue_full"});
}

TEST(semaphore, gets_its_permits_back_however_a_call_completes) {
  semaphore_rig h{some_semaphore(1)};
  auto a = h.arrive();
  h.fail(a, errc::worker_down);
  EXPECT_EQ(h.count("in_use"), 0);
  EXPECT_TRUE(h.calls.at(a).result.is(errc::worker_down));
  auto b = h.arrive();
  h.fail(b, errc::breaker_open, false);
  EXPECT_EQ(h.count("in_use"), 0);
  auto c = h.arrive();
  h.abandon(c);
  EXPECT_EQ(h.count("in_use"), 0);
  EXPECT_EQ(h.count("finished"), 2);
  EXPECT_EQ(h.count("abandoned"), 1);
}

TEST(semaphore, weighs_calls) {
  semaphore_rig h{some_semaphore(5)};
  auto a = h.arrive(heavy(3));
  EXPECT_EQ(h.where(h.arrive(heavy(3))), place::rejected);
  auto b = h.arrive(heavy(2));
  EXPECT_EQ(h.where(b), place::below);
  EXPECT_EQ(h.count("in_use"), 5);
  h.finish(a);
  EXPECT_EQ(h.count("in_use"), 2);
}

TEST(semaphore, takes_a_weight_of_zero_for_one) {
  semaphore_rig h{some_semaphore(1)};
  EXPECT_EQ(h.where(h.arrive(heavy(0))), place::below);
  EXPECT_EQ(h.count("in_use"), 1);
}

TEST(semaphore, refuses_a_call_that_is_heavier_than_all_permits_at_once) {
  semaphore_rig h{some_semaphore(5, 10)};
  auto a = h.arrive(heavy(6));
  EXPECT_EQ(h.where(a), place::rejected);
  EXPECT_EQ(h.calls.at(a).code, errc::queue_full);
  EXPECT_EQ(h.calls.at(a).retry_after, 0ns);
  EXPECT_EQ(h.count("too_heavy"), 1);
  EXPECT_EQ(h.where(h.arrive(heavy(5))), place::below);
  EXPECT_EQ(h.where(h.arrive(heavy(0xffffffff))), place::rejected);
}

// -- waiting in order ---------------------------------------------------------

TEST(semaphore, serves_waiters_in_the_order_of_their_arrival) {
  semaphore_rig h{some_semaphore(1, 3)};
  auto a = h.arrive();
  auto b = h.arrive();
  auto c = h.arrive();
  EXPECT_EQ(h.where(b), place::held);
  EXPECT_EQ(h.where(c), place::held);
  EXPECT_EQ(h.calls.at(b).until, never);
  EXPECT_EQ(h.count("waiting"), 2);
  h.finish(a);
  EXPECT_EQ(h.where(b), place::below);
  EXPECT_EQ(h.where(c), place::held);
  h.finish(b);
  EXPECT_EQ(h.where(c), place::below);
  EXPECT_EQ(h.count("queued"), 2);
  EXPECT_EQ(h.count("granted"), 2);
  EXPECT_EQ(h.count("passed"), 1);
}

TEST(semaphore, turns_the_newcomer_away_from_a_full_fifo_queue) {
  semaphore_rig h{some_semaphore(1, 2)};
  h.arrive();
  auto b = h.arrive();
  auto c = h.arrive();
  auto d = h.arrive();
  EXPECT_EQ(h.where(b), place::held);
  EXPECT_EQ(h.where(c), place::held);
  EXPECT_EQ(h.where(d), place::rejected);
  EXPECT_EQ(h.calls.at(d).code, errc::queue_full);
  EXPECT_EQ(h.count("queue_full"), 1);
}

TEST(semaphore, lets_no_light_call_overtake_a_heavy_one_at_the_head) {
  semaphore_rig h{some_semaphore(4, 10)};
  auto a = h.arrive(heavy(3));
  auto b = h.arrive(heavy(2));
  // One permit is free, but it is kept for b.
  auto c = h.arrive(heavy(1));
  EXPECT_EQ(h.where(b), place::held);
  EXPECT_EQ(h.where(c), place::held);
  h.finish(a);
  EXPECT_EQ(h.where(b), place::below);
  EXPECT_EQ(h.where(c), place::below);
}

TEST(semaphore, serves_those_behind_a_heavy_call_when_it_gives_up) {
  semaphore_rig h{some_semaphore(4, 10)};
  h.arrive(heavy(3));
  auto b = h.arrive(heavy(2));
  auto c = h.arrive(heavy(1));
  h.abandon(b);
  EXPECT_EQ(h.where(c), place::below);
  EXPECT_EQ(h.count("gave_up"), 1);
  EXPECT_EQ(h.count("in_use"), 4);
}

TEST(semaphore, serves_the_newest_first_in_lifo_order) {
  semaphore_rig h{some_semaphore(1, 3, unlimited, wait_order::lifo)};
  auto a = h.arrive();
  auto b = h.arrive();
  auto c = h.arrive();
  h.finish(a);
  EXPECT_EQ(h.where(c), place::below);
  EXPECT_EQ(h.where(b), place::held);
  h.finish(c);
  EXPECT_EQ(h.where(b), place::below);
}

TEST(semaphore, reports_how_long_a_call_waited) {
  semaphore_rig h{some_semaphore(1, 2)};
  auto a = h.arrive();
  auto b = h.arrive();
  h.arrive();
  h.advance(30ms);
  h.finish(a);
  EXPECT_EQ(h.e.reports, std::vector<std::string>{"granted:>"});
  EXPECT_EQ(h.e.delays, std::vector<duration>{30ms});
  h.advance(5ms);
  h.finish(b);
  EXPECT_EQ(h.e.delays.back(), 35ms);
}

TEST(semaphore, turns_the_oldest_away_from_a_full_lifo_queue) {
  semaphore_rig h{some_semaphore(1, 2, unlimited, wait_order::lifo)};
  h.arrive();
  auto b = h.arrive();
  auto c = h.arrive();
  auto d = h.arrive();
  EXPECT_EQ(h.where(b), place::rejected);
  EXPECT_EQ(h.calls.at(b).code, errc::queue_full);
  EXPECT_EQ(h.where(c), place::held);
  EXPECT_EQ(h.where(d), place::held);
  EXPECT_EQ(h.count("evicted"), 1);
  EXPECT_EQ(h.count("waiting"), 2);
  EXPECT_EQ(h.e.reports, std::vector<std::string>{"rejected:>queue_full"});
}

TEST(semaphore, passes_a_newcomer_that_fits_before_lifo_waiters) {
  semaphore_rig h{some_semaphore(4, 10, unlimited, wait_order::lifo)};
  h.arrive(heavy(3));
  auto b = h.arrive(heavy(2));
  auto c = h.arrive(heavy(1));
  EXPECT_EQ(h.where(b), place::held);
  EXPECT_EQ(h.where(c), place::below);
}

// -- the end of waiting -------------------------------------------------------

TEST(semaphore, rejects_a_waiter_at_exactly_the_end_of_max_wait) {
  semaphore_rig h{some_semaphore(1, 10, 100ms)};
  h.arrive();
  h.advance(5ms);
  auto b = h.arrive();
  EXPECT_EQ(h.calls.at(b).until, semaphore_rig::start() + 105ms);
  h.advance_to(105ms - 1ns);
  EXPECT_EQ(h.where(b), place::held);
  h.advance_to(105ms);
  EXPECT_EQ(h.where(b), place::rejected);
  EXPECT_EQ(h.calls.at(b).code, errc::wait_timeout);
  EXPECT_EQ(h.calls.at(b).retry_after, 0ns);
  EXPECT_EQ(h.count("timed_out"), 1);
  EXPECT_EQ(h.count("waiting"), 0);
}

TEST(semaphore, serves_those_behind_a_heavy_call_that_timed_out) {
  semaphore_rig h{some_semaphore(4, 10, 100ms)};
  h.arrive(heavy(3));
  auto b = h.arrive(heavy(2));
  h.advance(50ms);
  auto c = h.arrive(heavy(1));
  h.advance(50ms);
  EXPECT_EQ(h.where(b), place::rejected);
  EXPECT_EQ(h.where(c), place::below);
}

TEST(semaphore, never_loses_against_a_free_permit_with_a_max_wait_of_zero) {
  semaphore_rig h{some_semaphore(1, 0, 0ns)};
  auto a = h.arrive();
  EXPECT_EQ(h.where(a), place::below);
  auto b = h.arrive();
  EXPECT_EQ(h.where(b), place::rejected);
  EXPECT_EQ(h.calls.at(b).code, errc::queue_full);
  EXPECT_EQ(h.count("queue_full"), 1);
  EXPECT_EQ(h.count("timed_out"), 0);
  h.finish(a);
  EXPECT_EQ(h.where(h.arrive()), place::below);
}

TEST(semaphore, keeps_a_grant_that_was_made_at_the_instant_of_the_timeout) {
  semaphore s{some_semaphore(1, 10, 100ms)};
  random_source random;
  env e{semaphore_rig::start(), random};
  call_info a, b;
  slot na, nb;
  a.id = 1, b.id = 2;
  outcome ok;
  s.admit(a, na, e);
  s.admit(b, nb, e);
  e.now += 100ms;
  s.complete(a, na, ok, e);
  ASSERT_EQ(e.actions.size(), 1u);
  EXPECT_EQ(e.actions[0].what, env::action::kind::resume);
  EXPECT_EQ(e.actions[0].call, 2u);
  // The host has not carried out the resume yet.
  EXPECT_EQ(s.expire(b, nb, e).what, decision::kind::pass);
  s.complete(b, nb, ok, e);
  std::vector<metric> ms;
  s.list_metrics(ms);
  auto expect_none = [&](std::string_view name) {
    auto i = std::find_if(ms.begin(), ms.end(),
                          [&](auto& m) { return m.name == name; });
    ASSERT_NE(i, ms.end());
    EXPECT_EQ(i->value, 0) << name;
  };
  expect_none("in_use");
  expect_none("timed_out");
}

TEST(semaphore, leaks_nothing_if_a_granted_call_is_abandoned_before_it_goes) {
  semaphore s{some_semaphore(1, 10)};
  random_source random;
  env e{semaphore_rig::start(), random};
  call_info a, b, c;
  slot na, nb, nc;
  a.id = 1, b.id = 2, c.id = 3;
  outcome ok;
  s.admit(a, na, e);
  s.admit(b, nb, e);
  s.admit(c, nc, e);
  s.complete(a, na, ok, e);
  s.abandon(b, nb, outcome::failure(errc::cancelled, false), false, e);
  ASSERT_EQ(e.actions.size(), 2u);
  EXPECT_EQ(e.actions[1].call, 3u);
  // The place in the queue that was b's is used again by another call.
  call_info d;
  slot nd;
  d.id = 4;
  EXPECT_EQ(s.admit(d, nd, e).what, decision::kind::hold);
  EXPECT_EQ(s.expire(c, nc, e).what, decision::kind::pass);
  s.complete(c, nc, ok, e);
  EXPECT_EQ(e.actions.back().call, 4u);
}

TEST(semaphore, forgets_at_once_a_call_that_it_only_observes) {
  semaphore_rig h{some_semaphore(1, 10)};
  auto a = h.arrive();
  auto b = h.arrive();
  ASSERT_EQ(h.where(b), place::held);
  h.abandon(b);
  EXPECT_EQ(h.count("waiting"), 0);
  EXPECT_EQ(h.count("in_use"), 1);
  h.finish(a);
  EXPECT_EQ(h.count("in_use"), 0);
  EXPECT_EQ(h.count("granted"), 0);
}

TEST(semaphore, does_not_mind_a_clock_that_steps_back) {
  semaphore_rig h{some_semaphore(1, 10, 100ms)};
  h.advance(1s);
  auto a = h.arrive();
  auto b = h.arrive();
  h.set_clock(500ms);
  auto c = h.arrive();
  EXPECT_EQ(h.calls.at(b).until, semaphore_rig::start() + 1100ms);
  EXPECT_EQ(h.calls.at(c).until, semaphore_rig::start() + 600ms);
  h.advance_to(600ms);
  EXPECT_EQ(h.where(c), place::rejected);
  EXPECT_EQ(h.where(b), place::held);
  h.finish(a);
  EXPECT_EQ(h.where(b), place::below);
}

// -- changes in use -----------------------------------------------------------

TEST(semaphore, wakes_waiters_at_once_when_it_grows) {
  semaphore_rig h{some_semaphore(1, 10)};
  h.arrive();
  auto b = h.arrive();
  auto c = h.arrive();
  auto d = h.arrive();
  h.reconfigure(some_semaphore(3, 10));
  EXPECT_EQ(h.where(b), place::below);
  EXPECT_EQ(h.where(c), place::below);
  EXPECT_EQ(h.where(d), place::held);
  EXPECT_EQ(h.count("permits"), 3);
  EXPECT_EQ(h.count("in_use"), 3);
}

TEST(semaphore, lets_permits_run_down_when_it_shrinks) {
  semaphore_rig h{some_semaphore(4, 10)};
  call_id below[4];
  for (auto& id : below)
    id = h.arrive();
  auto waiting = h.arrive();
  h.reconfigure(some_semaphore(2, 10));
  EXPECT_EQ(h.count("in_use"), 4);
  h.finish(below[0]);
  h.finish(below[1]);
  EXPECT_EQ(h.where(waiting), place::held);
  EXPECT_EQ(h.count("in_use"), 2);
  h.finish(below[2]);
  EXPECT_EQ(h.where(waiting), place::below);
  EXPECT_EQ(h.count("in_use"), 2);
}

TEST(semaphore, rejects_waiters_that_became_too_heavy) {
  semaphore_rig h{some_semaphore(4, 10)};
  auto a = h.arrive(heavy(4));
  auto b = h.arrive(heavy(3));
  auto c = h.arrive(heavy(2));
  auto d = h.arrive(heavy(3));
  h.reconfigure(some_semaphore(2, 10));
  EXPECT_EQ(h.where(b), place::rejected);
  EXPECT_EQ(h.calls.at(b).code, errc::queue_full);
  EXPECT_EQ(h.where(c), place::held);
  EXPECT_EQ(h.where(d), place::rejected);
  EXPECT_EQ(h.count("outgrown"), 2);
  h.finish(a);
  EXPECT_EQ(h.where(c), place::below);
}

TEST(semaphore, keeps_its_waiters_when_the_queue_is_made_shorter) {
  semaphore_rig h{some_semaphore(1, 10, 100ms)};
  auto a = h.arrive();
  auto b = h.arrive();
  auto c = h.arrive();
  h.reconfigure(some_semaphore(1, 1, 10ms));
  EXPECT_EQ(h.where(b), place::held);
  EXPECT_EQ(h.where(c), place::held);
  EXPECT_EQ(h.where(h.arrive()), place::rejected);
  h.advance(20ms);
  EXPECT_EQ(h.where(b), place::held);
  h.finish(a);
  h.finish(b);
  EXPECT_EQ(h.where(c), place::below);
}

TEST(semaphore, takes_one_in_for_one_out_where_a_lifo_queue_is_too_long) {
  semaphore_rig h{some_semaphore(1, 3, unlimited, wait_order::lifo)};
  h.arrive();
  auto b = h.arrive();
  auto c = h.arrive();
  auto d = h.arrive();
  h.reconfigure(some_semaphore(1, 1, unlimited, wait_order::lifo));
  EXPECT_EQ(h.count("waiting"), 3);
  auto f = h.arrive();
  EXPECT_EQ(h.where(b), place::rejected);
  EXPECT_EQ(h.where(c), place::held);
  EXPECT_EQ(h.where(d), place::held);
  EXPECT_EQ(h.where(f), place::held);
  EXPECT_EQ(h.count("waiting"), 3);
}

TEST(semaphore, follows_a_change_of_order) {
  semaphore_rig h{some_semaphore(1, 10)};
  auto a = h.arrive();
  auto b = h.arrive();
  auto c = h.arrive();
  h.reconfigure(some_semaphore(1, 10, unlimited, wait_order::lifo));
  h.finish(a);
  EXPECT_EQ(h.where(b), place::held);
  EXPECT_EQ(h.where(c), place::below);
}

// -- commands -----------------------------------------------------------------

TEST(semaphore, clears_its_counters_on_reset_and_keeps_calls) {
  semaphore_rig h{some_semaphore(1, 10)};
  auto a = h.arrive();
  auto b = h.arrive();
  EXPECT_TRUE(h.command(operator_command::reset));
  EXPECT_EQ(h.count("passed"), 0);
  EXPECT_EQ(h.count("queued"), 0);
  EXPECT_EQ(h.count("in_use"), 1);
  EXPECT_EQ(h.count("waiting"), 1);
  h.finish(a);
  EXPECT_EQ(h.where(b), place::below);
}

TEST(semaphore, knows_no_operator_states) {
  semaphore_rig h{some_semaphore(1)};
  EXPECT_TRUE(h.command(operator_command::enable));
  EXPECT_FALSE(h.command(operator_command::force_open));
  EXPECT_FALSE(h.command(operator_command::force_closed));
  EXPECT_FALSE(h.command(operator_command::off));
  EXPECT_FALSE(h.command(operator_command::observe));
}

} // namespace
} // namespace caisson::test
