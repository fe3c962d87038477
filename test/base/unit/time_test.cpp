#include <caisson/base/time.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace caisson {
namespace {

using namespace std::chrono_literals;

constexpr time_point noon{12h};

TEST(time_point, after_adds_and_stops_at_never) {
  EXPECT_EQ(time_after(noon, 5s), noon + 5s);
  EXPECT_EQ(time_after(noon, 0s), noon);
  EXPECT_EQ(time_after(noon, unlimited), never);
  EXPECT_EQ(time_after(never - 1s, 1s), never);
  EXPECT_EQ(time_after(never - 1s, 2s), never);
  EXPECT_EQ(time_after(never, 1s), never);
  EXPECT_EQ(time_after(never, 0s), never);
}

TEST(time_point, after_takes_a_negative_duration_for_zero) {
  EXPECT_EQ(time_after(noon, -5s), noon);
  EXPECT_EQ(time_after(noon, duration::min()), noon);
}

TEST(time_point, until_is_never_negative) {
  EXPECT_EQ(time_until(noon + 5s, noon), 5s);
  EXPECT_EQ(time_until(noon, noon), 0s);
  EXPECT_EQ(time_until(noon, noon + 5s), 0s);
  EXPECT_EQ(time_until(never, noon), unlimited);
}

TEST(duration_sum, stops_at_unlimited) {
  EXPECT_EQ(duration_sum(1s, 2s), 3s);
  EXPECT_EQ(duration_sum(unlimited, 0s), unlimited);
  EXPECT_EQ(duration_sum(unlimited, 1ns), unlimited);
  EXPECT_EQ(duration_sum(unlimited - 1s, 2s), unlimited);
  EXPECT_EQ(duration_sum(unlimited, unlimited), unlimited);
}

TEST(duration_product, is_clamped_to_zero_and_unlimited) {
  constexpr auto inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(duration_times(10ms, 1.5), 15ms);
  EXPECT_EQ(duration_times(10ms, 0), 0s);
  EXPECT_EQ(duration_times(10ms, -1), 0s);
  EXPECT_EQ(duration_times(10ms, std::nan("")), 0s);
  EXPECT_EQ(duration_times(10ms, inf), unlimited);
  EXPECT_EQ(duration_times(0ms, inf), 0s);
  EXPECT_EQ(duration_times(10ms, 1e300), unlimited);
  EXPECT_EQ(duration_times(unlimited, 0.5), unlimited);
  EXPECT_EQ(duration_times(unlimited, 0), 0s);
  EXPECT_EQ(duration_times(unlimited - 1ns, 1), unlimited - 1ns);
}

TEST(duration_from_seconds, is_clamped_to_zero_and_unlimited) {
  EXPECT_EQ(from_seconds(0.25), 250ms);
  EXPECT_EQ(from_seconds(1e-9), 1ns);
  EXPECT_EQ(from_seconds(-1), 0s);
  EXPECT_EQ(from_seconds(1e10), unlimited);
  EXPECT_EQ(from_seconds(std::nan("")), 0s);
  EXPECT_EQ(to_seconds(250ms), 0.25);
}

struct reading_case {
  std::string_view text;
  std::optional<duration> value;
};

TEST(duration_text, is_read_with_every_unit) {
  const reading_case cases[] = {
    {"0", 0s},
    {"0s", 0s},
    {"7ns", 7ns},
    {"7us", 7us},
    {"250ms", 250ms},
    {"1.5s", 1500ms},
    {"0.0000000006s", 1ns}, // rounded to the nearest nanosecond
    {"0.0000000004s", 0ns},
    {"3min", 3min},
    {"3m", 3min},
    {"2h", 2h},
    {"1d", 24h},
    {"2h30min", 150min},
    {"1m30s5ms", 90s + 5ms},
    {"unlimited", unlimited},
    {"9223372036854775806ns", unlimited - 1ns},
    {"106751d", 106751 * 24h},
  };
  for (const auto& x : cases)
    EXPECT_EQ(parse_duration(x.text), x.value) << x.text;
}

TEST(duration_text, that_is_none_is_refused) {
  for (auto text : {"",           " ",
                    "5",          "s",
                    "5 s",        " 5s",
                    "5s ",        "-5s",
                    "-0s",        "5 parsecs",
                    "5sec",       "1e3s",
                    "5S",         "1.5.5s",
                    "infs",       "nans",
                    "inf",        "+5s",
                    "0x5s",       "5s,",
                    "unlimiteds", "9223372036854775807ns",
                    "106752d",    "300000d",
                    "1e400s",     "200000d200000d"})
    EXPECT_EQ(parse_duration(text), std::nullopt) << text;
}

TEST(duration_text, uses_the_largest_unit_that_is_exact) {
  EXPECT_EQ(to_text(duration{0}), "0s");
  EXPECT_EQ(to_text(duration{1}), "1ns");
  EXPECT_EQ(to_text(1500us), "1500us");
  EXPECT_EQ(to_text(1500ms), "1500ms");
  EXPECT_EQ(to_text(90s), "90s");
  EXPECT_EQ(to_text(120s), "2min");
  EXPECT_EQ(to_text(60min), "1h");
  EXPECT_EQ(to_text(48h), "2d");
  EXPECT_EQ(to_text(unlimited), "unlimited");
}

TEST(duration_text, reads_back_to_the_same_value) {
  for (std::int64_t n = 1; n > 0 && n < unlimited.count() / 3; n = n * 3 + 1)
    EXPECT_EQ(parse_duration(to_text(duration{n})), duration{n}) << n;
  for (auto d : {unlimited, unlimited - 1ns, unlimited - 2ns})
    EXPECT_EQ(parse_duration(to_text(d)), d);
}

TEST(rounded_duration, has_three_digits_or_is_short_and_exact) {
  struct {
    duration d;
    std::string_view text;
  } const table[] = {
    {0s, "0 s"},
    {7ns, "7 ns"},
    {999ns, "999 ns"},
    {1000ns, "1 us"},
    {1234ns, "1.23 us"},
    {1500us, "1.5 ms"},
    {999'499ns, "999 us"},
    {999'500ns, "1.00 ms"},
    {48'882'255ns, "48.9 ms"},
    {200ms, "200 ms"},
    {9'994'999ns, "9.99 ms"},
    {9'995'000ns, "10.0 ms"},
    {99'949'999ns, "99.9 ms"},
    {99'950'001ns, "100 ms"},
    {999'499'999ns, "999 ms"},
    {999'500'000ns, "1.00 s"},
    {1'999'632'911ns, "2.00 s"},
    {2'999'706'264ns, "3.00 s"},
    {4s, "4 s"},
    {1500ms, "1.5 s"},
    {61'234ms, "61.2 s"},
    {90s, "90 s"},
    {119'999ms, "120 s"},
    {120'001ms, "2.00 min"},
    {1000s, "16.7 min"},
    {7260s, "121 min"},
    {7261s, "2.02 h"},
    {36h, "36 h"},
    {50h + 1s, "2.08 d"},
    {1000h, "41.7 d"},
    {2000 * 24h, "2000 d"},
    {unlimited - 1ns, "106752 d"},
    {unlimited, "unlimited"},
    {-1'999'632'911ns, "-2.00 s"},
    {duration::min(), "-106752 d"},
  };
  for (const auto& row : table)
    EXPECT_EQ(rounded_text(row.d), row.text) << row.d.count();
}

TEST(rounded_duration, is_near_the_exact_one) {
  constexpr auto last = 999 * 24h;
  for (std::int64_t n = 1; n < last / 1ns; n += n / 97 + 1) {
    auto text = rounded_text(duration{n});
    auto together = text;
    std::erase(together, ' ');
    auto read = parse_duration(together);
    ASSERT_TRUE(read) << text;
    EXPECT_LE(std::abs(read->count() - n), n / 190) << text;
    EXPECT_LE(
      std::ranges::count_if(text, [](char c) { return c >= '0' && c <= '9'; }),
      3)
      << text;
  }
}

} // namespace
} // namespace caisson
