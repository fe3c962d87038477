#include <caisson/policy/retry_budget.hpp>

#include <support/times.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;
using limits = retry_budget::limits;

// Withdraws until nothing is left.
int drain(retry_budget& b, time_point now) {
  int n = 0;
  while (b.try_withdraw(now))
    ++n;
  return n;
}

TEST(retry_budget, starts_with_the_reserve_of_a_whole_ttl) {
  struct row {
    limits settings;
    int retries;
  };
  for (auto& x : std::vector<row>{{{10s, 10, 0.2}, 100},
                                  {{1s, 1, 0.0}, 1},
                                  {{1500ms, 1, 0.0}, 1},
                                  {{1999ms, 1, 0.0}, 1},
                                  {{2s, 1, 0.0}, 2},
                                  {{60s, 7, 1.0}, 420},
                                  {{10s, 0, 0.2}, 0}}) {
    retry_budget b{x.settings};
    EXPECT_EQ(b.balance(), x.retries);
    EXPECT_EQ(b.balance(start), x.retries);
    EXPECT_EQ(drain(b, start), x.retries);
    EXPECT_EQ(b.balance(), 0);
  }
}

TEST(retry_budget, a_first_attempt_pays_for_its_ratio_exactly) {
  struct row {
    double ratio;
    int deposits;
    int retries;
  };
  for (auto& x : std::vector<row>{{0.2, 4, 0},
                                  {0.2, 5, 1},
                                  {0.2, 99, 19},
                                  {0.1, 9, 0},
                                  {0.1, 10, 1},
                                  {0.3, 10, 3},
                                  {1.0, 7, 7},
                                  {0.000001, 999'999, 0},
                                  {0.000001, 1'000'000, 1},
                                  {0.0000004, 5'000'000, 0},
                                  {0.0, 1'000'000, 0}}) {
    retry_budget b{{10s, 0, x.ratio}};
    for (int i = 0; i < x.deposits; ++i)
      b.deposit(start);
    EXPECT_EQ(drain(b, start), x.retries) << x.ratio << " × " << x.deposits;
  }
}

TEST(retry_budget, a_refused_retry_changes_nothing) {
  retry_budget b{{10s, 0, 0.5}};
  b.deposit(start);
  for (int i = 0; i < 10; ++i)
    EXPECT_FALSE(b.try_withdraw(start));
  b.deposit(start);
  EXPECT_TRUE(b.try_withdraw(start));
}

TEST(retry_budget, a_charge_takes_at_most_the_balance) {
  struct {
    std::uint32_t cost;
    std::int64_t left; // of ten
  } const table[] = {{0, 10}, {1, 9}, {10, 0}, {11, 0}, {100, 0}};
  for (auto& row : table) {
    retry_budget b{{.ttl = 10s, .reserve = 1, .ratio = 1}};
    b.charge(time_point{} + 1h, row.cost);
    EXPECT_EQ(b.balance(), row.left);
    // There is no debt to pay off first.
    b.deposit(time_point{} + 1h);
    EXPECT_EQ(b.balance(), row.left + 1);
  }
}

TEST(retry_budget, forgets_a_slice_at_a_time) {
  // Slices of one second from the first booking on.
  struct row {
    duration booked;
    duration last_kept;
    duration forgotten;
  };
  for (auto& x : std::vector<row>{{0s, 10s - 1ns, 10s},
                                  {500ms, 10s - 1ns, 10s},
                                  {1s - 1ns, 10s - 1ns, 10s},
                                  {1s, 11s - 1ns, 11s},
                                  {9s, 19s - 1ns, 19s},
                                  {1h, 1h + 10s - 1ns, 1h + 10s}}) {
    retry_budget b{{10s, 0, 1.0}};
    EXPECT_EQ(b.balance(start), 0);
    b.deposit(start + x.booked);
    EXPECT_EQ(b.balance(start + x.last_kept), 1) << to_text(x.booked);
    EXPECT_EQ(b.balance(start + x.forgotten), 0) << to_text(x.booked);
  }
}

TEST(retry_budget, forgets_withdrawals_too) {
  retry_budget b{{1s, 3, 0.0}};
  EXPECT_EQ(drain(b, start), 3);
  EXPECT_EQ(drain(b, start + 1s - 1ns), 0);
  EXPECT_EQ(drain(b, start + 1s), 3);
}

TEST(retry_budget, forgets_deposits_before_what_they_paid_for) {
  retry_budget b{{10s, 1, 1.0}};
  for (int i = 0; i < 10; ++i)
    b.deposit(start);
  EXPECT_EQ(drain(b, start + 9s), 20);
  // The deposits are gone, the withdrawals are not: less than nothing is left.
  EXPECT_EQ(b.balance(start + 10s), 0);
  EXPECT_FALSE(b.try_withdraw(start + 10s));
  EXPECT_EQ(b.balance(start + 19s), 10);
}

TEST(retry_budget, forgets_nothing_while_the_clock_stands_or_steps_back) {
  retry_budget b{{1s, 2, 0.0}};
  EXPECT_EQ(drain(b, start), 2);
  for (auto t : {start, start - 1ns, start - 1s, start - 1h, time_point{}}) {
    EXPECT_EQ(b.balance(t), 0);
    EXPECT_FALSE(b.try_withdraw(t));
  }
  EXPECT_FALSE(b.try_withdraw(start + 1s - 1ns));
  EXPECT_TRUE(b.try_withdraw(start + 1s));
}

TEST(retry_budget, supports_the_ends_of_time) {
  retry_budget b{{60s, 1'000'000, 1.0}};
  b.deposit(start);
  b.deposit(never - 1ns);
  b.deposit(never);
  EXPECT_EQ(b.balance(never), 60'000'002);
  EXPECT_TRUE(b.try_withdraw(never));
}

TEST(retry_budget, clear_makes_it_new) {
  retry_budget b{{1s, 2, 1.0}};
  b.deposit(start);
  EXPECT_EQ(drain(b, start), 3);
  b.clear();
  EXPECT_EQ(b.balance(), 2);
  // Slices begin with the next booking.
  EXPECT_EQ(drain(b, start + 50ms), 2);
  EXPECT_EQ(b.balance(start + 1050ms - 1ns), 0);
  EXPECT_EQ(b.balance(start + 1050ms), 2);
}

} // namespace
} // namespace caisson::test
