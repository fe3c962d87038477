// Limiters from which more was taken than there was.
#include <caisson/policy/rate_source.hpp>

#include <support/times.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;
using detail::rate_shape;
using detail::rate_source;
using enum rate_algorithm;

// From which `n` tokens were taken at 0 s.
rate_source indebted(const rate_shape& x, std::int64_t n) {
  rate_source s{x};
  s.advance(at(0s));
  s.take_in_any_case(n);
  return s;
}

std::int64_t tokens_at(rate_source& s, duration when) {
  s.advance(at(when));
  return s.tokens();
}

// When it has a token again, and when all of them.
void expect_paid(rate_source s, std::int64_t debt, duration one, duration all) {
  EXPECT_EQ(s.tokens(), 0);
  EXPECT_EQ(s.ready_at(0, 1), at(one));
  EXPECT_EQ(s.full_at(), at(all));
  auto later = s;
  later.advance(at(one - 1ns));
  EXPECT_FALSE(later.take(1));
  later.advance(at(one));
  EXPECT_TRUE(later.take(1));
  later = s;
  later.advance(at(all));
  EXPECT_EQ(later.full_at(), at(all));
  // What is given back is paid first.
  s.put_back(debt, at(0s), at(0s));
  EXPECT_EQ(s.full_at(), at(0s));
}

TEST(fixed_window, pays_debts_from_one_window_after_the_other) {
  rate_shape x{fixed_window, 3, 1s};
  expect_paid(indebted(x, 8), 8, 2s, 3s);
  expect_paid(indebted(x, 9), 9, 3s, 3s);
  auto s = indebted(x, 8);
  EXPECT_EQ(s.ready_at(0, 2), at(3s));
  EXPECT_EQ(s.ready_at(1, 1), at(3s));
  // However many windows pass at once.
  auto later = s;
  EXPECT_EQ(tokens_at(s, 1s), 0);
  EXPECT_EQ(tokens_at(s, 2s), 1);
  EXPECT_EQ(tokens_at(s, 3s), 3);
  EXPECT_EQ(tokens_at(later, 2500ms), 1);
}

TEST(sliding_window, pays_debts_from_one_window_after_the_other) {
  rate_shape x{sliding_window, 10, 1s};
  expect_paid(indebted(x, 25), 25, 2600ms, 4s);
  expect_paid(indebted(x, 20), 20, 2100ms, 3s);
  auto s = indebted(x, 25);
  // 10 of the window before count, and 5 of this one are gone.
  EXPECT_EQ(s.ready_at(0, 4), at(2900ms));
  // Those 5 count in the next one.
  EXPECT_EQ(s.ready_at(0, 6), at(3200ms));
  EXPECT_EQ(s.ready_at(1, 5), at(3100ms));
  auto later = s;
  EXPECT_EQ(tokens_at(s, 1s), 0);
  EXPECT_EQ(tokens_at(s, 2s), 0);
  EXPECT_EQ(tokens_at(s, 2900ms), 4);
  EXPECT_EQ(tokens_at(s, 3200ms), 6);
  EXPECT_EQ(tokens_at(later, 3200ms), 6);
}

TEST(fixed_window, pays_debts_after_a_drain_and_at_another_rate) {
  auto s = indebted({fixed_window, 3, 1s}, 8);
  auto larger = s;
  s.drain(at(5s));
  EXPECT_EQ(s.ready_at(0, 1), at(6s));
  auto drained = s;
  EXPECT_EQ(tokens_at(drained, 5s), 0);
  EXPECT_EQ(tokens_at(drained, 6s), 1);
  s.fill(at(1s));
  EXPECT_EQ(s.ready_at(0, 3), at(1s));
  // The larger window has room for all of it.
  larger.reshape({fixed_window, 10, 1s}, at(0s));
  EXPECT_EQ(larger.tokens(), 2);
}

TEST(fixed_window, does_not_pay_debts_with_what_is_lost) {
  auto s = indebted({fixed_window, 3, 1s}, 8);
  s.advance(at(1s));
  auto draining = s;
  s.put_back(3, at(0s), at(1s));
  EXPECT_EQ(s.ready_at(0, 1), at(2s));
  EXPECT_EQ(s.ready_at(0, 2), at(3s));
  draining.drain(at(5s));
  draining.put_back(3, at(1s), at(1s));
  EXPECT_EQ(draining.ready_at(0, 2), at(6s));
  draining.put_back(2, at(5s), at(5s));
  EXPECT_EQ(draining.ready_at(0, 2), at(5s));
}

TEST(sliding_window, does_not_pay_debts_with_what_is_lost) {
  auto s = indebted({sliding_window, 10, 1s}, 45);
  s.advance(at(2s));
  auto full = s.full_at();
  auto draining = s;
  s.put_back(10, at(0s), at(2s));
  EXPECT_EQ(s.full_at(), full);
  // The window before counts, and so does what was taken in it.
  s.put_back(10, at(1s), at(2s));
  EXPECT_EQ(s.full_at(), full - 1s);
  draining.drain(at(5s));
  full = draining.full_at();
  draining.put_back(10, at(2s), at(2s));
  EXPECT_EQ(draining.full_at(), full);
}

TEST(token_bucket, pays_debts_after_a_drain) {
  auto s = indebted({token_bucket, 1, 1s}, 3);
  s.drain(at(5s));
  EXPECT_EQ(s.ready_at(0, 1), at(8s));
}

} // namespace
} // namespace caisson::test
