// Feedback to a retrier from the gate's other layers, and from it to them.
#include <policies/retrier/model/retrier_rig.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;
using namespace retrying;

// -- breakers -----------------------------------------------------------------

TEST(retrier_signals, open_breakers_end_the_retries_and_half_open_ones_soon) {
  struct {
    circuit breakers;
    bool heeds;
    int retries; // of the five that there could be
    std::string_view counter;
  } const table[] = {
    {circuit::closed, true, 5, "gave_up_attempts"},
    {circuit::half_open, true, 1, "gave_up_half_open"},
    {circuit::open, true, 0, "gave_up_open"},
    {circuit::half_open, false, 5, "gave_up_attempts"},
    {circuit::open, false, 5, "gave_up_attempts"},
  };
  for (auto& row : table) {
    auto c = simple_retrier();
    c.max_attempts = 6;
    c.heed_breakers = row.heeds;
    retrier_rig h{c};
    h.e.breakers = row.breakers;
    auto id = h.arrive();
    int retries = 0;
    for (h.finish(id, worker_failed()); h.where(id) == place::held; ++retries) {
      h.advance(10ms);
      h.finish(id, worker_failed());
    }
    EXPECT_EQ(retries, row.retries) << row.counter;
    EXPECT_EQ(h.count(row.counter), 1) << row.counter;
    EXPECT_EQ(h.where(id), place::passed);
    EXPECT_TRUE(h.calls.at(id).result.is(errc::worker_down));
  }
}

TEST(retrier_signals, are_as_they_are_at_each_failure) {
  retrier_rig h{simple_retrier()};
  auto id = h.arrive();
  h.finish(id, worker_failed());
  // What comes later does not concern a retry that was granted.
  h.e.breakers = circuit::open;
  h.advance(10ms);
  EXPECT_EQ(h.where(id), place::below);
  h.e.breakers = circuit::closed;
  h.finish(id, worker_failed());
  EXPECT_EQ(h.where(id), place::held);
}

TEST(retrier_signals, a_retry_that_is_withheld_costs_nothing) {
  auto c = simple_retrier();
  c.budget = true;
  c.budget_ratio = 0;
  c.budget_reserve = 1;
  retrier_rig h{c};
  h.e.breakers = circuit::open;
  auto id = h.arrive();
  h.fail(id);
  EXPECT_EQ(h.count("gave_up_open"), 1);
  EXPECT_EQ(h.count("budget_left"), 10);
}

TEST(retrier_signals, what_would_not_be_retried_anyway_is_not_withheld) {
  auto c = simple_retrier();
  c.max_attempts = 1;
  retrier_rig h{c};
  h.e.breakers = circuit::open;
  auto id = h.arrive();
  h.fail(id);
  EXPECT_EQ(h.count("gave_up_open"), 0);
  EXPECT_EQ(h.count("gave_up_attempts"), 1);
}

// -- rejections ---------------------------------------------------------------

TEST(retrier_signals, rejections_are_charged_to_the_budget) {
  struct {
    errc code;
    std::uint32_t cost;
    std::int64_t left; // of ten, after one rejection without a retry
    std::int64_t charged;
  } const table[] = {
    {errc::breaker_open, 1, 9, 1},  {errc::rate_limited, 1, 9, 1},
    {errc::breaker_open, 4, 6, 1},  {errc::breaker_open, 100, 0, 1},
    {errc::breaker_open, 0, 10, 0}, {errc::queue_full, 1, 10, 0},
    {errc::worker_down, 1, 10, 0},
  };
  for (auto& row : table) {
    auto c = simple_retrier();
    c.max_attempts = 1;
    c.budget = true;
    c.budget_ratio = 0;
    c.budget_reserve = 1;
    c.budget_rejection_cost = row.cost;
    retrier_rig h{c};
    auto id = h.arrive();
    h.finish(id, outcome::failure(row.code, false));
    EXPECT_EQ(h.where(id), place::passed);
    EXPECT_EQ(h.count("budget_left"), row.left) << name_of(row.code);
    EXPECT_EQ(h.count("rejections_charged"), row.charged) << name_of(row.code);
  }
}

TEST(retrier_signals, rejections_never_put_the_budget_into_debt) {
  auto c = simple_retrier();
  c.budget = true;
  c.budget_ratio = 1;
  c.budget_reserve = 1;
  retrier_rig h{c};
  for (int i = 0; i < 1000; ++i)
    h.finish(h.arrive(), outcome::failure(errc::breaker_open, false));
  EXPECT_EQ(h.count("budget_left"), 0);
  // A single first attempt pays for a retry again.
  auto id = h.arrive();
  h.fail(id);
  EXPECT_EQ(h.where(id), place::held);
}

TEST(retrier_signals, rejections_are_charged_to_a_shared_budget) {
  retry_budget::limits few{10s, 1, 0};
  auto budget = std::make_shared<shared_retry_budget>(few);
  auto c = simple_retrier();
  c.max_attempts = 1;
  c.budget = true;
  retrier_rig h{c};
  h.policy.share(budget);
  h.finish(h.arrive(), outcome::failure(errc::rate_limited, false));
  EXPECT_EQ(budget->balance(), 9);
}

// -- timeouts -----------------------------------------------------------------

TEST(retrier_signals, attempts_that_time_out_and_are_repeated_are_reported) {
  struct {
    outcome result;
    std::uint32_t attempts;
    std::size_t reports;
  } const table[] = {
    {outcome::failure(errc::deadline_exceeded, true), 2, 1},
    // The caller learns of the last one.
    {outcome::failure(errc::deadline_exceeded, true), 1, 0},
    // It waited in vain, and says nothing about the worker.
    {outcome::failure(errc::deadline_exceeded, false), 2, 0},
    {outcome::failure(errc::worker_down, true), 2, 0},
    {outcome::success(), 2, 0},
  };
  for (auto& row : table) {
    auto c = simple_retrier();
    c.max_attempts = row.attempts;
    retrier_rig h{c};
    auto id = h.arrive();
    h.finish(id, row.result);
    EXPECT_EQ(h.e.timed_out.size(), row.reports);
  }
}

} // namespace
} // namespace caisson::test
