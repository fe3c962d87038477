#include <caisson/base/histogram.hpp>

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

histogram of(const std::vector<duration>& ds) {
  histogram h;
  for (auto d : ds)
    h.record(d);
  return h;
}

TEST(histogram, knows_no_percentile_while_it_is_empty) {
  histogram h;
  EXPECT_EQ(h.count(), 0u);
  EXPECT_EQ(h.quantile(0.5), std::nullopt);
  EXPECT_EQ(h.quantile(1), std::nullopt);
  EXPECT_EQ(h.max(), 0ns);
}

TEST(histogram, is_small) {
  EXPECT_LE(sizeof(histogram), 1100u);
}

TEST(histogram, reports_one_duration_within_its_error) {
  // Also on both sides of the powers of two, where buckets become wider.
  for (std::int64_t octave = 1024; octave < (std::int64_t{1} << 41);
       octave *= 2) {
    for (auto ns : {octave - 1, octave, octave + 1, octave + octave / 8 - 1,
                    octave + octave / 8, 2 * octave - 1}) {
      if (ns >= 15 * (std::int64_t{1} << 37))
        continue;
      // A longer one beside it, so that the maximum is not the answer.
      auto estimate = of({duration{ns}, 10h}).quantile(0.5).value();
      auto error = static_cast<double>(std::abs(estimate.count() - ns));
      EXPECT_LE(error, ns < 1024 ? 64.0 : 0.0625 * static_cast<double>(ns))
        << ns;
    }
  }
}

TEST(histogram, reports_the_shortest_durations_within_64_nanoseconds) {
  for (std::int64_t ns = 0; ns < 1024; ++ns) {
    auto estimate = of({duration{ns}, 1s}).quantile(0.5).value();
    EXPECT_LE(std::abs(estimate.count() - ns), 64) << ns;
  }
}

TEST(histogram, counts_zero_and_less_as_zero) {
  auto h = of({0ns, -1ns, duration::min()});
  EXPECT_EQ(h.count(), 3u);
  EXPECT_EQ(h.max(), 0ns);
  EXPECT_EQ(h.quantile(0.5), 0ns);
}

TEST(histogram, reports_what_is_longer_than_its_range_by_the_longest) {
  auto h = of({40min, 5h, unlimited});
  EXPECT_EQ(h.count(), 3u);
  EXPECT_EQ(h.max(), unlimited);
  EXPECT_EQ(h.quantile(0.1), unlimited);
  EXPECT_EQ(of({40min, 5h}).quantile(0.1), 5h);
}

TEST(histogram, takes_the_ranks_of_its_quantiles) {
  std::vector<duration> ds;
  for (int i = 1; i <= 100; ++i)
    ds.push_back(duration{i * 1ms});
  auto h = of(ds);
  struct {
    double q;
    std::int64_t ms;
  } const table[] = {{-1, 1},    {0, 1},       {0.01, 1},
                     {0.011, 2}, {0.5, 50},    {0.9, 90},
                     {0.99, 99}, {0.999, 100}, {std::nan(""), 1}};
  for (auto& row : table) {
    auto estimate = static_cast<double>(h.quantile(row.q).value().count())
                    / 1e6;
    EXPECT_NEAR(estimate, static_cast<double>(row.ms),
                0.0625 * static_cast<double>(row.ms))
      << row.q;
  }
  EXPECT_EQ(h.quantile(1), 100ms);
  EXPECT_EQ(h.quantile(std::numeric_limits<double>::infinity()), 100ms);
}

TEST(histogram, never_reports_more_than_the_longest) {
  auto h = of({1ms});
  for (auto q : {0.0, 0.5, 0.99, 1.0})
    EXPECT_LE(h.quantile(q).value(), 1ms);
}

TEST(histogram, is_empty_after_it_is_cleared) {
  auto h = of({1ms, 1h});
  h.clear();
  EXPECT_EQ(h, histogram{});
}

TEST(histogram, adds_its_durations_up) {
  EXPECT_EQ(histogram{}.sum(), 0.0);
  EXPECT_EQ(of({1ms, 2s, -5s, 3ns}).sum(), 2.001'000'003e9);
  // Beyond 64 bits.
  auto long_ones = of({unlimited, unlimited, unlimited});
  EXPECT_EQ(long_ones.sum(), 3 * std::ldexp(1.0, 63));
  auto more = long_ones;
  more.merge(long_ones);
  EXPECT_EQ(more.sum(), 6 * std::ldexp(1.0, 63));
}

TEST(histogram, counts_exactly_up_to_the_end_of_a_bucket) {
  // On both sides of each bound, and far from it.
  for (auto near : {1us, 20us, 1000us, 1'000'000us, 1'000'000'000us}) {
    auto bound = histogram::bucket_end(near);
    EXPECT_GE(bound, near);
    auto h = of({0ns, bound - 1ns, bound, bound + 1ns, 100 * bound});
    EXPECT_EQ(h.cumulative(std::vector{bound}), std::vector<std::uint64_t>{3});
    // A bound within a bucket leaves that bucket out.
    EXPECT_EQ(h.cumulative(std::vector{bound - 1ns}),
              std::vector<std::uint64_t>{1});
  }
}

TEST(histogram, counts_what_is_beyond_its_range_in_no_bound_but_the_last) {
  auto h = of({40min, 5h, 1s});
  std::vector<duration> bounds{33min, 300h, unlimited};
  EXPECT_EQ(h.cumulative(bounds), (std::vector<std::uint64_t>{1, 1, 3}));
  EXPECT_EQ(histogram::bucket_end(40min), unlimited);
}

TEST(histogram, may_be_wide) {
  wide_histogram h;
  h.record(1ms);
  for (int i = 0; i < 40; ++i)
    h.merge(wide_histogram{h});
  EXPECT_EQ(h.count(), std::uint64_t{1} << 40);
  EXPECT_EQ(h.quantile(0.5), of({1ms}).quantile(0.5));
}

TEST(histogram, stops_at_full_buckets) {
  auto h = of({1ms});
  for (int i = 0; i < 40; ++i)
    h.merge(histogram{h});
  EXPECT_EQ(h.count(), 0xffffffffu);
  h.record(1ms);
  EXPECT_EQ(h.count(), 0xffffffffu);
  h.record(1s);
  EXPECT_EQ(h.count(), 0x100000000u);
  EXPECT_EQ(h.quantile(0.5), of({1ms, 1s}).quantile(0.5));
}

std::vector<duration> any_durations() {
  // Spread evenly over the orders of magnitude.
  auto powers = *rc::gen::container<std::vector<double>>(
    rc::gen::map(rc::gen::inRange(0, 16'000),
                 [](int x) { return std::pow(10, x / 1000.0); }));
  std::vector<duration> out;
  for (auto x : powers)
    out.push_back(duration{static_cast<std::int64_t>(x)});
  return out;
}

RC_GTEST_PROP(histogram_property, is_close_to_the_sorted_list, ()) {
  auto ds = any_durations();
  auto h = of(ds);
  std::sort(ds.begin(), ds.end());
  RC_ASSERT(h.count() == ds.size());
  if (ds.empty())
    return;
  RC_ASSERT(h.max() == ds.back());
  auto q = *rc::gen::inRange(1, 1000) / 1000.0;
  auto rank = static_cast<std::size_t>(
    std::ceil(q * static_cast<double>(ds.size())));
  auto exact = ds[rank - 1];
  auto estimate = h.quantile(q).value();
  if (exact >= 34min) {
    RC_ASSERT(estimate >= 34min * 15 / 16 && estimate <= ds.back());
  } else {
    auto most = std::max<double>(64, static_cast<double>(exact.count()) / 16);
    RC_ASSERT(static_cast<double>(std::abs((estimate - exact).count()))
              <= most);
  }
}

RC_GTEST_PROP(histogram_property, counts_like_the_sorted_list, ()) {
  auto ds = any_durations();
  auto bounds = any_durations();
  for (auto& x : bounds)
    x = histogram::bucket_end(x);
  std::sort(bounds.begin(), bounds.end());
  auto counts = of(ds).cumulative(bounds);
  RC_ASSERT(counts.size() == bounds.size());
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    auto exact = std::count_if(ds.begin(), ds.end(),
                               [&](duration d) { return d <= bounds[i]; });
    RC_ASSERT(counts[i] == static_cast<std::uint64_t>(exact));
  }
}

RC_GTEST_PROP(histogram_property, merges_to_what_one_would_hold, ()) {
  auto a = any_durations();
  auto b = any_durations();
  auto h = of(a);
  h.merge(of(b));
  a.insert(a.end(), b.begin(), b.end());
  RC_ASSERT(h == of(a));
}

} // namespace
} // namespace caisson::test
