// Limiters that count in other ways than by a bucket of tokens.
#include "policies/limiter/model/limiter_rig.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace caisson::test {
namespace {

limiter_config by(rate_algorithm algorithm, std::int64_t rate, duration per,
                  duration max_wait = 0ns) {
  limiter_config c;
  c.algorithm = algorithm;
  c.rate = rate;
  c.per = per;
  c.max_wait = max_wait;
  return c;
}

TEST(limiter_algorithms, a_fixed_window_refuses_until_its_end) {
  limiter_rig h{by(rate_algorithm::fixed_window, 2, 1s)};
  EXPECT_EQ(h.where(h.arrive()), place::below);
  h.advance_to(400ms);
  EXPECT_EQ(h.where(h.arrive()), place::below);
  auto c = h.arrive();
  EXPECT_EQ(h.where(c), place::rejected);
  EXPECT_EQ(h.calls.at(c).code, errc::rate_limited);
  EXPECT_EQ(h.calls.at(c).retry_after, 600ms);
  h.advance_to(1s);
  EXPECT_EQ(h.where(h.arrive()), place::below);
  // More than a window ever has.
  auto never_fits = h.arrive(heavy(3));
  EXPECT_EQ(h.where(never_fits), place::rejected);
  EXPECT_EQ(h.calls.at(never_fits).retry_after, 0ns);
  EXPECT_EQ(h.count("too_heavy"), 1);
}

TEST(limiter_algorithms, waiting_calls_go_when_a_window_begins) {
  limiter_rig h{by(rate_algorithm::fixed_window, 2, 1s, 10s)};
  auto all = h.arrive_together(7);
  auto below = [&] {
    std::string out;
    for (auto id : all)
      out += h.where(id) == place::below ? '+' : '.';
    return out;
  };
  EXPECT_EQ(below(), "++.....");
  h.advance_to(1s);
  EXPECT_EQ(below(), "++++...");
  h.advance_to(3s - 1ns);
  EXPECT_EQ(below(), "++++++.");
  h.advance_to(3s);
  EXPECT_EQ(below(), "+++++++");
  EXPECT_EQ(h.policy.wakeup(), never);
}

TEST(limiter_algorithms, a_leaky_bucket_spaces_waiting_calls) {
  limiter_rig h{by(rate_algorithm::leaky_bucket, 10, 1s, 250ms)};
  EXPECT_EQ(h.where(h.arrive()), place::below);
  auto b = h.arrive();
  auto c = h.arrive();
  auto d = h.arrive();
  EXPECT_EQ(h.where(c), place::held);
  EXPECT_EQ(h.where(d), place::rejected);
  EXPECT_EQ(h.calls.at(d).retry_after, 300ms);
  h.advance_to(100ms);
  EXPECT_EQ(h.where(b), place::below);
  EXPECT_EQ(h.where(c), place::held);
  h.advance_to(200ms);
  EXPECT_EQ(h.where(c), place::below);
  // Heavy ones go, and delay those behind them.
  h.advance_to(1s);
  EXPECT_EQ(h.where(h.arrive(heavy(1000))), place::below);
  auto late = h.arrive();
  EXPECT_EQ(h.calls.at(late).retry_after, 100s);
}

TEST(limiter_algorithms, gives_back_what_was_taken_in_the_same_window) {
  limiter_rig h{by(rate_algorithm::fixed_window, 1, 1s)};
  auto a = h.arrive();
  h.finish(a, outcome::failure(errc::breaker_open, false));
  EXPECT_EQ(h.count("returned"), 1);
  auto b = h.arrive();
  EXPECT_EQ(h.where(b), place::below);
  h.advance_to(1s);
  EXPECT_EQ(h.where(h.arrive()), place::below);
  h.finish(b, outcome::failure(errc::breaker_open, false));
  EXPECT_EQ(h.where(h.arrive()), place::rejected);
}

TEST(limiter_algorithms, another_algorithm_applies_to_waiting_calls) {
  limiter_rig h{by(rate_algorithm::leaky_bucket, 1, 1s, 10s)};
  h.arrive();
  auto b = h.arrive();
  auto c = h.arrive(heavy(7));
  EXPECT_EQ(h.where(c), place::held);
  h.reconfigure(by(rate_algorithm::fixed_window, 5, 1s, 10s));
  EXPECT_EQ(h.where(b), place::below);
  // It would never fit.
  EXPECT_EQ(h.where(c), place::rejected);
  EXPECT_EQ(h.count("outgrown"), 1);
}

TEST(limiter_algorithms, a_shorter_window_applies_to_waiting_calls) {
  for (auto algorithm :
       {rate_algorithm::fixed_window, rate_algorithm::sliding_window}) {
    limiter_rig h{by(algorithm, 2, 10s, 1h)};
    h.arrive();
    h.arrive();
    auto c = h.arrive();
    h.advance_to(1500ms);
    h.reconfigure(by(algorithm, 2, 1s, 1h));
    h.advance_to(3s);
    EXPECT_EQ(h.where(c), place::below);
    EXPECT_EQ(h.where(h.arrive()), place::below);
  }
}

TEST(limiter_algorithms, is_cold_after_a_reset) {
  auto config = by(rate_algorithm::warm_up, 10, 1s);
  config.warm_up_time = 4s;
  limiter_rig h{config};
  h.arrive();
  auto b = h.arrive();
  EXPECT_EQ(h.calls.at(b).retry_after, 295ms);
  h.advance_to(295ms);
  EXPECT_EQ(h.where(h.arrive()), place::below);
  h.command(operator_command::reset);
  EXPECT_EQ(h.where(h.arrive()), place::below);
  EXPECT_EQ(h.calls.at(h.arrive()).retry_after, 295ms);
  EXPECT_FALSE(h.policy.is_idle(h.e.now));
  EXPECT_TRUE(h.policy.is_idle(h.e.now + 4s));
}

TEST(limiter_algorithms, a_worker_that_asks_for_a_pause_gets_it) {
  for (auto algorithm :
       {rate_algorithm::fixed_window, rate_algorithm::sliding_window,
        rate_algorithm::leaky_bucket, rate_algorithm::warm_up}) {
    limiter_rig h{by(algorithm, 10, 1s)};
    auto a = h.arrive();
    h.advance_to(500ms);
    h.finish(a, error_of_worker(2s));
    h.advance_to(2500ms - 1ns);
    EXPECT_EQ(h.where(h.arrive()), place::rejected);
    h.advance_to(3s);
    EXPECT_EQ(h.where(h.arrive()), place::below);
  }
}

} // namespace
} // namespace caisson::test
