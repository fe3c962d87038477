#include "policies/limiter/model/limiter_rig.hpp"

#include <support/problem_texts.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace caisson::test {
namespace {

using texts = std::vector<std::string>;

// -- configuration ------------------------------------------------------------

TEST(limiter, refuses_settings_that_contradict_each_other) {
  EXPECT_EQ(kinds_and_keys(problems_of(some_limiter(1'000'001, 1ms, 1))),
            texts{"relation rate"});
  // What is out of range is reported once.
  EXPECT_EQ(kinds_and_keys(problems_of(some_limiter(1, 999ns, 1))),
            texts{"range per"});
  EXPECT_EQ(kinds_and_keys(problems_of(some_limiter(1, 1s, 1, 1ns, 0))),
            texts{"relation max_waiters"});
  // What has no effect with the algorithm.
  EXPECT_EQ(
    kinds_and_keys(
      problems_of(limiter_config{.burst = 11,
                                 .algorithm = rate_algorithm::fixed_window,
                                 .warm_up_time = 1s,
                                 .cold_factor = 2})),
    (texts{"relation burst", "relation warm_up_time", "relation cold_factor"}));
  EXPECT_THROW(limiter{some_limiter(1, 1s, 0)}, config_error);
  EXPECT_NO_THROW(limiter{some_limiter(1'000'000'000, 1s, 1'000'000'000)});
  EXPECT_NO_THROW(limiter{some_limiter(1, 365 * 24h, 1, unlimited, 1)});
  EXPECT_NO_THROW(limiter{some_limiter(1, 1s, 1, 0ns, 0)});
}

TEST(limiter, is_called_limiter_and_has_no_states) {
  limiter_rig h{some_limiter(3, 1s, 1)};
  EXPECT_EQ(h.policy.kind(), "limiter");
  EXPECT_EQ(h.policy.state(), "");
  EXPECT_EQ(h.policy.config().rate, 3);
  EXPECT_EQ(h.policy.wakeup(), never);
  EXPECT_FALSE(h.policy.resends());
}

// -- the rate -----------------------------------------------------------------

TEST(limiter, passes_a_burst_and_then_one_call_per_interval) {
  limiter_rig h{some_limiter(10, 1s, 3)};
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(h.where(h.arrive()), place::below);
  auto d = h.arrive();
  EXPECT_EQ(h.where(d), place::rejected);
  EXPECT_EQ(h.calls.at(d).code, errc::rate_limited);
  EXPECT_EQ(h.calls.at(d).retry_after, 100ms);
  EXPECT_EQ(h.e.reports, std::vector<std::string>{"rejected:>rate_limited"});
  h.advance_to(100ms - 1ns);
  auto e = h.arrive();
  EXPECT_EQ(h.where(e), place::rejected);
  EXPECT_EQ(h.calls.at(e).retry_after, 1ns);
  h.advance_to(100ms);
  EXPECT_EQ(h.where(h.arrive()), place::below);
  EXPECT_EQ(h.where(h.arrive()), place::rejected);
  EXPECT_EQ(h.count("passed"), 4);
  EXPECT_EQ(h.count("rate_limited"), 3);
}

TEST(limiter, stores_no_more_than_a_burst) {
  limiter_rig h{some_limiter(10, 1s, 3)};
  h.arrive(heavy(3));
  EXPECT_EQ(h.count("tokens"), 0);
  h.advance(1h);
  EXPECT_EQ(h.where(h.arrive(heavy(3))), place::below);
  EXPECT_EQ(h.where(h.arrive()), place::rejected);
}

TEST(limiter, reports_its_tokens_as_of_the_last_call) {
  limiter_rig h{some_limiter(10, 1s, 3)};
  EXPECT_EQ(h.count("tokens"), 3);
  h.arrive();
  EXPECT_EQ(h.count("tokens"), 2);
  h.advance(50ms);
  h.policy.wake(h.e);
  EXPECT_EQ(h.count("tokens"), 2);
  h.advance(50ms);
  EXPECT_EQ(h.count("tokens"), 2);
  h.policy.wake(h.e);
  EXPECT_EQ(h.count("tokens"), 3);
}

// Takes a token whenever there is one and counts how many it got by `end`.
std::int64_t greedy(limiter_config c, duration end) {
  random_source random;
  env e{limiter_rig::start(), random};
  limiter l{std::move(c)};
  std::int64_t n = 0;
  for (call_id id = 1;; ++id) {
    call_info f;
    slot notes;
    f.id = id;
    auto d = l.admit(f, notes, e);
    if (d.what == decision::kind::pass) {
      ++n;
    } else {
      e.now += d.retry_after;
      if (e.now > limiter_rig::start() + end)
        return n;
    }
  }
}

TEST(limiter, sells_exactly_burst_and_rate_times_time) {
  struct row {
    std::int64_t rate;
    duration per;
    std::uint32_t burst;
    duration time;
    std::int64_t expected;
  };
  const row table[] = {
    {3, 1s, 1, 10s, 1 + 30},
    {3, 1s, 1, 1000s, 1 + 3000},
    {3, 1s, 5, 1000s - 1ns, 5 + 2999},
    {7, minute, 1, 3600s, 1 + 420},
    {7, minute, 4, 3600s - 1ns, 4 + 419},
    {7, minute, 1'000'000, 600s, 1'000'000 + 70},
    {1000, 1s, 10, 60s, 10 + 60'000},
    {999, 1s, 1, 10s, 1 + 9990},
    {333, 7s, 2, 700s, 2 + 33'300},
    {1'000'000'000, 1s, 1, 10us, 1 + 10'000},
    {999'999'937, 1s, 1, 100us, 1 + 99'999},
    {123'456'789, 1s, 3, 10us, 3 + 1234},
    {1, 365 * 24h, 1, 10 * 365 * 24h, 1 + 10},
    {11, 365 * 24h, 2, 10 * 365 * 24h, 2 + 110},
    {1000, 1us, 1, 1us, 1 + 1000},
  };
  for (auto& r : table)
    EXPECT_EQ(greedy(some_limiter(r.rate, r.per, r.burst), r.time), r.expected)
      << r.rate << " per " << to_text(r.per) << ", burst " << r.burst;
}

TEST(limiter, sells_the_same_to_a_queue_as_to_a_greedy_source) {
  for (auto rate : {3, 7, 999}) {
    limiter_rig h{some_limiter(rate, 1s, 2, unlimited, 100'000)};
    for (int i = 0; i < 2 + 10 * rate + 5; ++i)
      h.arrive();
    h.advance_to(10s - 1ns);
    EXPECT_EQ(h.count("passed") + h.count("granted"), 2 + 10 * rate - 1);
    h.advance_to(10s);
    EXPECT_EQ(h.count("passed") + h.count("granted"), 2 + 10 * rate);
    EXPECT_EQ(h.count("waiting"), 5);
  }
}

// -- weights ------------------------------------------------------------------

TEST(limiter, weighs_calls) {
  limiter_rig h{some_limiter(10, 1s, 5)};
  EXPECT_EQ(h.where(h.arrive(heavy(4))), place::below);
  auto b = h.arrive(heavy(3));
  EXPECT_EQ(h.where(b), place::rejected);
  EXPECT_EQ(h.calls.at(b).retry_after, 200ms);
  EXPECT_EQ(h.where(h.arrive(heavy(0))), place::below);
  EXPECT_EQ(h.count("tokens"), 0);
}

TEST(limiter, refuses_a_call_that_is_heavier_than_the_burst_at_once) {
  limiter_rig h{some_limiter(10, 1s, 5, unlimited)};
  auto a = h.arrive(heavy(6));
  EXPECT_EQ(h.where(a), place::rejected);
  EXPECT_EQ(h.calls.at(a).code, errc::rate_limited);
  EXPECT_EQ(h.calls.at(a).retry_after, 0ns);
  EXPECT_EQ(h.count("too_heavy"), 1);
  EXPECT_EQ(h.where(h.arrive(heavy(5))), place::below);
  EXPECT_EQ(h.where(h.arrive(heavy(0xffffffff))), place::rejected);
}

// -- waiting ------------------------------------------------------------------

TEST(limiter, serves_waiters_at_the_instants_that_the_rate_gives) {
  limiter_rig h{some_limiter(10, 1s, 1, 250ms)};
  EXPECT_EQ(h.where(h.arrive()), place::below);
  auto b = h.arrive();
  auto c = h.arrive();
  auto d = h.arrive();
  EXPECT_EQ(h.where(b), place::held);
  EXPECT_EQ(h.where(c), place::held);
  EXPECT_EQ(h.where(d), place::rejected);
  EXPECT_EQ(h.calls.at(d).code, errc::rate_limited);
  EXPECT_EQ(h.calls.at(d).retry_after, 300ms);
  EXPECT_EQ(h.policy.wakeup(), limiter_rig::start() + 100ms);
  h.advance_to(100ms - 1ns);
  EXPECT_EQ(h.where(b), place::held);
  h.advance_to(100ms);
  EXPECT_EQ(h.where(b), place::below);
  EXPECT_EQ(h.where(c), place::held);
  h.advance_to(200ms);
  EXPECT_EQ(h.where(c), place::below);
  EXPECT_EQ(h.count("queued"), 2);
  EXPECT_EQ(h.count("granted"), 2);
  EXPECT_EQ(h.policy.wakeup(), never);
}

TEST(limiter, lets_a_call_wait_for_a_turn_at_exactly_the_end_of_max_wait) {
  limiter_rig h{some_limiter(10, 1s, 1, 100ms)};
  h.arrive();
  auto b = h.arrive();
  EXPECT_EQ(h.where(b), place::held);
  EXPECT_EQ(h.calls.at(b).until, limiter_rig::start() + 100ms);
  h.advance_to(100ms);
  EXPECT_EQ(h.where(b), place::below);
  EXPECT_EQ(h.calls.at(b).descents, 1);
  EXPECT_EQ(h.count("timed_out"), 0);
  limiter_rig tight{some_limiter(10, 1s, 1, 100ms - 1ns)};
  tight.arrive();
  EXPECT_EQ(tight.where(tight.arrive()), place::rejected);
}

TEST(limiter, refuses_a_turn_at_or_after_the_deadline_and_changes_nothing) {
  limiter_rig h{some_limiter(10, 1s, 1, 1s)};
  h.arrive();
  auto b = h.arrive(due_at(100ms));
  EXPECT_EQ(h.where(b), place::rejected);
  EXPECT_EQ(h.calls.at(b).code, errc::rate_limited);
  EXPECT_EQ(h.calls.at(b).retry_after, 100ms);
  EXPECT_EQ(h.count("past_deadline"), 1);
  EXPECT_EQ(h.where(h.arrive(due_at(100ms + 1ns))), place::held);
  auto d = h.arrive(due_at(200ms));
  EXPECT_EQ(h.where(d), place::rejected);
  EXPECT_EQ(h.calls.at(d).retry_after, 200ms);
}

TEST(limiter, refuses_when_its_queue_is_full_and_says_when_to_come_back) {
  limiter_rig h{some_limiter(10, 1s, 1, 1s, 2)};
  for (int i = 0; i < 3; ++i)
    h.arrive();
  auto d = h.arrive();
  EXPECT_EQ(h.where(d), place::rejected);
  EXPECT_EQ(h.calls.at(d).code, errc::queue_full);
  EXPECT_EQ(h.calls.at(d).retry_after, 300ms);
  EXPECT_EQ(h.count("queue_full"), 1);
}

TEST(limiter, lets_no_light_call_overtake_a_heavy_one) {
  limiter_rig h{some_limiter(10, 1s, 4, 1s)};
  h.arrive(heavy(3));
  auto b = h.arrive(heavy(3));
  auto c = h.arrive(heavy(1));
  EXPECT_EQ(h.where(b), place::held);
  EXPECT_EQ(h.where(c), place::held);
  h.advance_to(200ms);
  EXPECT_EQ(h.where(b), place::below);
  EXPECT_EQ(h.where(c), place::held);
  h.advance_to(300ms);
  EXPECT_EQ(h.where(c), place::below);
}

TEST(limiter, moves_the_others_up_when_a_waiter_gives_up) {
  limiter_rig h{some_limiter(10, 1s, 1, 1s)};
  h.arrive();
  auto b = h.arrive();
  auto c = h.arrive();
  auto d = h.arrive();
  h.advance_to(50ms);
  h.abandon(c);
  EXPECT_EQ(h.count("gave_up"), 1);
  h.advance_to(100ms);
  EXPECT_EQ(h.where(b), place::below);
  h.advance_to(200ms);
  EXPECT_EQ(h.where(d), place::below);
}

TEST(limiter, serves_a_light_call_at_once_when_the_heavy_one_before_it_goes) {
  limiter_rig h{some_limiter(10, 1s, 4, 1s)};
  h.arrive(heavy(3));
  auto b = h.arrive(heavy(4));
  auto c = h.arrive(heavy(1));
  h.abandon(b);
  EXPECT_EQ(h.where(c), place::below);
}

TEST(limiter, gives_the_tokens_to_waiters_first_if_the_wake_up_is_late) {
  limiter l{some_limiter(10, 1s, 1, 1s)};
  random_source random;
  env e{limiter_rig::start(), random};
  call_info a, b, c;
  slot na, nb, nc;
  a.id = 1, b.id = 2, c.id = 3;
  l.admit(a, na, e);
  l.admit(b, nb, e);
  e.now += 500ms;
  EXPECT_EQ(l.admit(c, nc, e).what, decision::kind::hold);
  ASSERT_EQ(e.actions.size(), 1u);
  EXPECT_EQ(e.actions[0].call, 2u);
  // Four tokens were lost to the late wake-up: the bucket holds one.
  EXPECT_EQ(l.wakeup(), limiter_rig::start() + 600ms);
}

TEST(limiter, keeps_a_grant_that_was_made_at_the_instant_of_the_timeout) {
  limiter l{some_limiter(10, 1s, 1, 100ms)};
  random_source random;
  env e{limiter_rig::start(), random};
  call_info a, b;
  slot na, nb;
  a.id = 1, b.id = 2;
  l.admit(a, na, e);
  l.admit(b, nb, e);
  e.now += 100ms;
  l.wake(e);
  ASSERT_EQ(e.actions.size(), 1u);
  EXPECT_EQ(l.expire(b, nb, e).what, decision::kind::pass);
  EXPECT_EQ(e.actions.size(), 1u);
}

TEST(limiter, gives_back_the_tokens_of_a_granted_call_that_never_went_down) {
  limiter l{some_limiter(10, 1s, 1, 1s)};
  random_source random;
  env e{limiter_rig::start(), random};
  call_info a, b, c;
  slot na, nb, nc;
  a.id = 1, b.id = 2, c.id = 3;
  l.admit(a, na, e);
  l.admit(b, nb, e);
  l.admit(c, nc, e);
  e.now += 100ms;
  l.wake(e);
  l.abandon(b, nb, outcome::failure(errc::cancelled, false), false, e);
  ASSERT_EQ(e.actions.size(), 2u);
  EXPECT_EQ(e.actions[1].call, 3u);
}

TEST(limiter, forgets_at_once_a_call_that_it_only_observes) {
  limiter_rig h{some_limiter(10, 1s, 1, 1s)};
  h.arrive();
  auto b = h.arrive();
  ASSERT_EQ(h.where(b), place::held);
  h.abandon(b);
  EXPECT_EQ(h.count("waiting"), 0);
  EXPECT_EQ(h.policy.wakeup(), never);
  auto c = h.arrive();
  EXPECT_EQ(h.policy.wakeup(), limiter_rig::start() + 100ms);
  EXPECT_EQ(h.where(c), place::held);
}

} // namespace
} // namespace caisson::test
