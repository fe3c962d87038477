// Settings of a retrier without a pause, and without a limit.
#include <caisson/policies/retrier/retrier.hpp>

#include <policies/retrier/model/retrier_rig.hpp>
#include <support/problem_texts.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

namespace caisson::test {
namespace {

using namespace retrying;
using namespace std::chrono_literals;

using strings = std::vector<std::string>;

// -- pauses -------------------------------------------------------------------

TEST(retrier_safety, counts_the_retries_without_a_pause) {
  struct row {
    schedule delays;
    std::uint32_t hasty;
  };
  auto zero = [](std::uint32_t) { return std::optional<duration>{0s}; };
  for (auto& x : std::vector<row>{
         {schedule{}, 0},
         {schedule::constant(0s), 99},
         {schedule::constant(1ms), 0},
         {schedule::constant(1ms - 1ns), 99},
         {schedule::constant(0s).take(2), 2},
         {schedule::constant(0s).take(2).then(schedule::constant(1s)), 2},
         {schedule::constant(1s).take(7).then(schedule::constant(0s)), 92},
         {schedule::linear(0s, 1ms), 1},
         {schedule::exponential(1us), 10},
         {schedule::exponential(1us).limit(500us), 99},
         {schedule::fibonacci(1s).limit(0s), 99},
         {schedule::list({0s, 1s, 0s, 2s, 999us}), 3},
         // A jitter that can come down to nothing is a pause on average.
         {schedule::constant(1s).jittered(jitter::full), 0},
         {schedule::constant(1ms).jittered(jitter::full), 0},
         {schedule::constant(1s).jittered(jitter::factor, 1), 0},
         {schedule::constant(0s).jittered(jitter::full), 99},
         {schedule::decorrelated(1ms, 1s), 0},
         {schedule::decorrelated(1us, 1s), 99},
         // A sum ends what it ends for certain only.
         {schedule::constant(500us).until(1ms), 2},
         {schedule::constant(500us).until(1ms).jittered(jitter::full), 99},
         {schedule::constant(0s).until(1s), 99},
         // Functions are believed, and may have no delay at all.
         {schedule::custom(zero), 0},
         {schedule::custom(zero).take(5).then(schedule::constant(0s)), 99},
       }) {
    EXPECT_EQ(hasty_retries(x.delays, 99, 1'000), x.hasty) << to_text(x.delays);
    EXPECT_EQ(hasty_retries(x.delays, 99, 2), std::min(x.hasty, 2u));
    EXPECT_EQ(hasty_retries(x.delays, 0, 1'000), 0u);
  }
}

TEST(retrier_safety, many_attempts_at_once_need_a_permission) {
  struct row {
    std::uint32_t attempts;
    schedule backoff;
    bool budget;
    bool refused;
  };
  auto never_pauses = schedule::constant(0s);
  auto pauses_later = schedule::constant(0s).take(2).then(
    schedule::constant(10ms));
  for (auto& x :
       std::vector<row>{{1, never_pauses, false, false},
                        {3, never_pauses, false, false},
                        {4, never_pauses, false, true},
                        {4, never_pauses, true, false},
                        {1'000, never_pauses, false, true},
                        {0, never_pauses, false, true},
                        {0, never_pauses, true, false},
                        {4, never_pauses.take(3), false, true},
                        {9, never_pauses.take(2), false, false},
                        {1'000, pauses_later, false, false},
                        {0, pauses_later, false, false},
                        {4, schedule::list({0s, 0s, 0s}), false, true},
                        {9, schedule{}, false, false}})
    for (bool unsafe : {false, true}) {
      retrier_config c;
      c.max_attempts = x.attempts;
      c.backoff = x.backoff;
      c.budget = x.budget;
      c.unsafe = unsafe;
      EXPECT_EQ(kinds_and_keys(problems_of(c, "s")),
                x.refused && !unsafe ? strings{"relation s.backoff"}
                                     : strings{})
        << x.attempts << " " << to_text(x.backoff);
    }
}

TEST(retrier_safety, says_what_would_be_allowed) {
  retrier_config c;
  c.max_attempts = 4;
  c.backoff = schedule::constant(0s);
  c.budget = false;
  EXPECT_EQ(to_text(problems_of(c, "s")),
            "s.backoff: allows more than 3 attempts without a pause of 1ms and "
            "without a budget, which multiply the load of a worker that fails, "
            "allowed: longer delays, budget = true, max_attempts of 1 to 3, or "
            "unsafe = true");
}

// -- no limit -----------------------------------------------------------------

retrier_config without_limit() {
  auto c = simple_retrier();
  c.max_attempts = 0;
  return c;
}

TEST(retrier_safety, without_a_limit_only_the_deadline_ends_the_attempts) {
  retrier_rig h{without_limit()};
  auto id = h.arrive_with(30s + 1ns);
  for (int i = 0; i < 3'000; ++i)
    EXPECT_EQ(backoff_after(h, id), 10ms);
  h.fail(id);
  EXPECT_EQ(h.where(id), place::passed);
  EXPECT_EQ(h.count("gave_up_deadline"), 1);
  EXPECT_EQ(h.calls.at(id).descents, 3'001);
}

TEST(retrier_safety, a_call_without_a_deadline_has_a_limit_all_the_same) {
  retrier_rig h{without_limit()};
  auto id = h.arrive();
  for (std::uint32_t i = 1; i < most_attempts; ++i)
    backoff_after(h, id);
  h.fail(id);
  EXPECT_EQ(h.where(id), place::passed);
  EXPECT_EQ(h.count("gave_up_attempts"), 1);
}

TEST(retrier_safety, without_a_limit_every_wait_takes_time) {
  for (auto delay : {duration{0ns}, duration{1ns}, duration{999us}}) {
    auto c = without_limit();
    c.unsafe = true;
    c.backoff = schedule::constant(delay);
    retrier_rig h{c};
    EXPECT_EQ(backoff_after(h, h.arrive()), 1ms);
    c.backoff = schedule::constant(1s);
    c.delay_of = [=](const outcome&) { return std::optional{delay}; };
    retrier_rig g{c};
    EXPECT_EQ(backoff_after(g, g.arrive()), 1ms);
  }
}

TEST(retrier_safety, without_a_limit_a_schedule_may_be_of_any_length) {
  auto c = without_limit();
  c.backoff = schedule::constant(1s).take(1'000'000).then(
    schedule::constant(2s));
  EXPECT_EQ(problems_of(c), problems{});
}

// -- costs --------------------------------------------------------------------

TEST(retrier_safety, a_retry_after_a_timeout_may_cost_more) {
  struct row {
    errc code;
    std::int64_t left;
  };
  for (auto& x : std::vector<row>{{errc::deadline_exceeded, 5},
                                  {errc::worker_down, 7},
                                  {errc::internal_error, 7},
                                  {errc::breaker_open, 7},
                                  {errc::queue_full, 6},
                                  {errc::wait_timeout, 6},
                                  {errc::rate_limited, 6}}) {
    auto c = simple_retrier();
    c.budget = true;
    c.budget_ratio = 0;
    c.budget_reserve = 1;
    c.budget_rejection_cost = 0;
    c.budget_cost = 3;
    c.budget_overload_cost = 4;
    c.budget_timeout_cost = 5;
    retrier_rig h{c};
    auto id = h.arrive();
    h.fail(id, x.code);
    EXPECT_EQ(h.where(id), place::held);
    EXPECT_EQ(h.count("budget_left"), x.left) << name_of(x.code);
  }
}

TEST(retrier_safety, a_retry_that_is_too_dear_is_not_made) {
  auto c = simple_retrier();
  c.budget = true;
  c.budget_ratio = 0.5;
  c.budget_reserve = 0;
  c.budget_timeout_cost = 2;
  retrier_rig h{c};
  auto a = h.arrive();
  auto b = h.arrive();
  h.arrive();
  h.fail(a, errc::deadline_exceeded);
  EXPECT_EQ(h.count("gave_up_budget"), 1);
  h.fail(b);
  EXPECT_EQ(h.where(b), place::held);
}

} // namespace
} // namespace caisson::test
