#include <caisson/engine/tallies.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;
using detail::share_used;
using detail::tallies;

constexpr auto begun = time_point{} + 1h;

TEST(tallies, leave_out_empty_tallies) {
  tallies t;
  EXPECT_TRUE(t.list().empty());
  t.record(tallied::limit_used, false, 1000);
  ASSERT_EQ(t.list().size(), 1u);
  EXPECT_EQ(t.list()[0].what, tallied::limit_used);
  EXPECT_FALSE(t.list()[0].ok);
  t.clear();
  EXPECT_TRUE(t.list().empty());
}

TEST(tallies, put_each_number_into_the_first_bucket_that_takes_it) {
  for (auto what : {tallied::attempts, tallied::limit_used}) {
    auto bounds = bounds_of(what);
    EXPECT_TRUE(std::is_sorted(bounds.begin(), bounds.end()));
    for (std::uint32_t n = 0; n <= bounds.back() + 2; ++n) {
      tallies t;
      t.record(what, true, n);
      auto x = t.list().at(0);
      ASSERT_EQ(x.counts.size(), bounds.size() + 1);
      for (std::size_t i = 0; i < x.counts.size(); ++i) {
        auto above = i == 0 || n > bounds[i - 1];
        auto below = i == bounds.size() || n <= bounds[i];
        EXPECT_EQ(x.counts[i], above && below ? 1u : 0u) << n << " in " << i;
      }
      EXPECT_EQ(x.count, 1u);
      EXPECT_EQ(x.sum, n);
    }
  }
}

TEST(tallies, report_quantiles_as_bounds) {
  tallies t;
  for (int i = 0; i < 90; ++i)
    t.record(tallied::attempts, true, 1);
  for (int i = 0; i < 9; ++i)
    t.record(tallied::attempts, true, 7);
  t.record(tallied::attempts, true, 99);
  auto x = t.list().at(0);
  EXPECT_EQ(x.count, 100u);
  EXPECT_EQ(x.sum, 90u + 63 + 99);
  EXPECT_EQ(x.quantile(0), 1u);
  EXPECT_EQ(x.quantile(0.9), 1u);
  EXPECT_EQ(x.quantile(0.91), 8u);
  EXPECT_EQ(x.quantile(0.99), 8u);
  EXPECT_EQ(x.quantile(1), std::nullopt);
  EXPECT_EQ(tally_summary{}.quantile(0.5), std::nullopt);
}

TEST(tallies, round_the_share_of_the_limit_up) {
  struct row {
    duration used;
    duration limit;
    std::uint64_t thousandths;
  };
  for (const auto& x : {
         row{0ns, 1s, 0},
         row{1ns, 1s, 1},
         row{100ms, 1s, 100},
         row{100ms + 1ns, 1s, 101},
         row{1s - 1ns, 1s, 1000},
         row{1s, 1s, 1000},
         row{3s, 1s, 1000},
         row{-1s, 1s, 0},
         row{0ns, 0ns, 1000},
         row{0ns, -5s, 1000},
         row{24h * 365 / 2, 24h * 365, 500},
         row{24h * 365 * 100, 24h * 365 * 200, 500},
       })
    EXPECT_EQ(share_used(begun, begun + x.used, begun + x.limit), x.thousandths)
      << x.used.count() << " of " << x.limit.count();
}

} // namespace
} // namespace caisson::test
