// Numbers and sentences in results for people.
#include <support/sim_results.hpp>

#include <simulator/report/numbers.hpp>
#include <simulator/report/wrapping.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstddef>
#include <sstream>
#include <string>
#include <vector>

namespace caisson::sim {
namespace {

using namespace std::chrono_literals;

TEST(report_numbers, group_thousands) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(1234567), "1,234,567");
}

TEST(report_numbers, round_a_share_but_not_to_all_nor_to_nothing) {
  EXPECT_EQ(percent(0, 0), "-");
  EXPECT_EQ(percent(1, 1), "100.00 %");
  EXPECT_EQ(percent(999'999, 1'000'000), "99.99 %");
  EXPECT_EQ(percent(1, 200), "0.50 %");
  EXPECT_EQ(percent(0.29), "29.00 %");
  EXPECT_EQ(percent(0.99999), "99.99 %");
  EXPECT_EQ(percent(0.95189), "95.19 %");
  EXPECT_EQ(percent(0.00001), "0.01 %");
  EXPECT_EQ(percent(0.0), "0.00 %");
  EXPECT_EQ(percent(1, 1'000'000), "0.01 %");
  EXPECT_EQ(percent(2, 3), "66.67 %");
  EXPECT_EQ(percent(1.5), "150.00 %");
  EXPECT_EQ(percent_to(0.9519, 1), "95.2 %");
  EXPECT_EQ(percent_to(0.95, 1), "95.0 %");
  EXPECT_EQ(percent_to(0.9996, 1), "99.9 %");
  EXPECT_EQ(percent_to(0.0004, 1), "0.1 %");
  EXPECT_EQ(percent_to(0.996, 0), "99 %");
  EXPECT_EQ(percent_to(0.004, 0), "1 %");
  EXPECT_EQ(percent_to(1, 0), "100 %");
  EXPECT_EQ(percent_to(0, 0), "0 %");
  // Halves in decimals, whatever they are in binary.
  EXPECT_EQ(percent(0.00015), "0.02 %");
  EXPECT_EQ(percent_to(0.285, 0), "29 %");
  EXPECT_EQ(short_percent(1, 2), "50 %");
  EXPECT_EQ(short_percent(1, 3), "33.33 %");
  EXPECT_EQ(short_percent(99'999, 100'000), "99.99 %");
  EXPECT_EQ(short_percent(0, 7), "0 %");
  EXPECT_EQ(short_percent(7, 7), "100 %");
  EXPECT_EQ(short_percent(0, 0), "-");
  EXPECT_EQ(percent(std::nan("")), "-");
}

TEST(report_numbers, give_times_three_digits) {
  EXPECT_EQ(short_time(0s), "0 s");
  EXPECT_EQ(short_time(7ns), "7 ns");
  EXPECT_EQ(short_time(999ns), "999 ns");
  EXPECT_EQ(short_time(1500ns), "1.50 us");
  EXPECT_EQ(short_time(12'345us), "12.3 ms");
  EXPECT_EQ(short_time(9'996us), "10.0 ms");
  EXPECT_EQ(short_time(99'960us), "100 ms");
  EXPECT_EQ(short_time(999'400us), "999 ms");
  EXPECT_EQ(short_time(999'600us), "1.00 s");
  EXPECT_EQ(short_time(1234s), "1234 s");
}

TEST(report_numbers, give_seconds_as_few_digits_as_they_need) {
  EXPECT_EQ(short_seconds(0s), "0 s");
  EXPECT_EQ(short_seconds(52'999ms), "53 s");
  EXPECT_EQ(short_seconds(500ms), "0.5 s");
  EXPECT_EQ(short_seconds(100s), "100 s");
  EXPECT_EQ(exact_seconds(0s), "0");
  EXPECT_EQ(exact_seconds(1ns), "0.000000001");
  EXPECT_EQ(exact_seconds(1500ms), "1.5");
  EXPECT_EQ(exact_seconds(120s), "120");
}

TEST(spread_of, finds_the_middle) {
  EXPECT_TRUE(std::isnan(spread_of({}).median));
  EXPECT_EQ(spread_of({3}).median, 3);
  EXPECT_EQ(spread_of({5, 1, 3}).median, 3);
  auto s = spread_of({4, 1, 2, infinity});
  EXPECT_EQ(s.min, 1);
  EXPECT_EQ(s.median, 3);
  EXPECT_EQ(s.max, infinity);
}

TEST(wrapping, breaks_at_blanks) {
  using lines = std::vector<std::string>;
  EXPECT_EQ(wrapped("", 5), lines{""});
  EXPECT_EQ(wrapped("abc def", any_width), lines{"abc def"});
  EXPECT_EQ(wrapped("abc def", 7), lines{"abc def"});
  EXPECT_EQ(wrapped("abc def", 6), (lines{"abc", "def"}));
  EXPECT_EQ(wrapped("abc def gh", 7), (lines{"abc def", "gh"}));
  EXPECT_EQ(wrapped("abcdefgh ij k", 3), (lines{"abcdefgh", "ij", "k"}));
  EXPECT_EQ(wrapped("abcdefgh", 3), lines{"abcdefgh"});
}

TEST(wrapping, keeps_the_indentation_of_a_line) {
  auto text = [](const char* line, std::size_t width) {
    std::ostringstream out;
    write_wrapped(out, line, width);
    return out.str();
  };
  EXPECT_EQ(text("abc def gh", 7), "abc def\n  gh\n");
  EXPECT_EQ(text("   abc def gh", 10), "   abc def\n     gh\n");
  EXPECT_EQ(text("   abc def gh", any_width), "   abc def gh\n");
  EXPECT_EQ(text("   abcdef gh", 2), "   abcdef\n     gh\n");
  EXPECT_EQ(text("   ", 2), "   \n");
}

} // namespace
} // namespace caisson::sim
