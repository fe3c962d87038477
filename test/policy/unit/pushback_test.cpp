#include <caisson/policy/pushback.hpp>

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace caisson {
namespace {

using namespace std::chrono_literals;

wall_time utc(int year, unsigned month, unsigned day, int hour = 0,
              int minute = 0, int second = 0) {
  return std::chrono::sys_days{std::chrono::year{year} / static_cast<int>(month)
                               / static_cast<int>(day)}
         + std::chrono::hours{hour} + std::chrono::minutes{minute}
         + std::chrono::seconds{second};
}

const auto now = utc(2026, 11, 22, 12, 0, 0);

// -- dates --------------------------------------------------------------------

TEST(http_date, has_the_three_forms_of_the_standard) {
  auto expected = utc(1994, 11, 6, 8, 49, 37);
  for (auto text :
       {"Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT",
        "Sun Nov  6 08:49:37 1994"})
    EXPECT_EQ(parse_http_date(text, now), expected) << text;
  EXPECT_EQ(parse_http_date("Wed Nov 16 08:49:37 1994", now),
            utc(1994, 11, 16, 8, 49, 37));
}

TEST(http_date, takes_the_edges_of_the_calendar) {
  EXPECT_EQ(parse_http_date("Thu, 29 Feb 2024 23:59:59 GMT", now),
            utc(2024, 2, 29, 23, 59, 59));
  EXPECT_EQ(parse_http_date("Sat, 31 Dec 2016 23:59:60 GMT", now),
            utc(2017, 1, 1));
  EXPECT_EQ(parse_http_date("Fri, 31 Dec 9999 23:59:59 GMT", now),
            utc(9999, 12, 31, 23, 59, 59));
  EXPECT_EQ(parse_http_date("Sat, 01 Jan 0000 00:00:00 GMT", now),
            utc(0, 1, 1));
}

TEST(http_date, a_short_year_lies_at_most_fifty_years_ahead) {
  EXPECT_EQ(parse_http_date("Sunday, 22-Nov-76 00:00:00 GMT", now),
            utc(2076, 11, 22));
  EXPECT_EQ(parse_http_date("Monday, 23-Nov-76 00:00:00 GMT", now),
            utc(1976, 11, 23));
  EXPECT_EQ(parse_http_date("Friday, 01-Jan-99 00:00:00 GMT", now),
            utc(1999, 1, 1));
  // At the turn of a century.
  EXPECT_EQ(parse_http_date("Friday, 01-Jan-10 00:00:00 GMT", utc(2099, 6, 1)),
            utc(2110, 1, 1));
  EXPECT_EQ(parse_http_date("Friday, 01-Jan-90 00:00:00 GMT", utc(2001, 6, 1)),
            utc(1990, 1, 1));
  // 1900 was no leap year.
  EXPECT_EQ(parse_http_date("Tuesday, 29-Feb-00 00:00:00 GMT", now),
            utc(2000, 2, 29));
}

TEST(http_date, refuses_everything_else) {
  for (auto text : {"",
                    "Sun",
                    "Sun, 06 Nov 1994 08:49:37",
                    "Sun, 06 Nov 1994 08:49:37 UTC",
                    "Sun, 06 Nov 1994 08:49:37 GMT ",
                    " Sun, 06 Nov 1994 08:49:37 GMT",
                    "Sun, 6 Nov 1994 08:49:37 GMT",
                    "Sun, 06 nov 1994 08:49:37 GMT",
                    "SUN, 06 Nov 1994 08:49:37 GMT",
                    "Sun, 06 Nov 94 08:49:37 GMT",
                    "Sun, 31 Nov 1994 08:49:37 GMT",
                    "Sun, 00 Nov 1994 08:49:37 GMT",
                    "Thu, 29 Feb 2023 00:00:00 GMT",
                    "Sun, 06 Nov 1994 24:00:00 GMT",
                    "Sun, 06 Nov 1994 08:60:37 GMT",
                    "Sun, 06 Nov 1994 08:49:61 GMT",
                    "Sun, +6 Nov 1994 08:49:37 GMT",
                    "Sun, 06 Nov 1994 8:49:37 GMT",
                    "Sunday, 06-Nov-1994 08:49:37 GMT",
                    "Sun, 06-Nov-94 08:49:37 GMT",
                    "Sun Nov 6 08:49:37 1994",
                    "Sun Nov  6 08:49:37 94",
                    "Sun Nov  6 08:49:37 1994 ",
                    "1994-11-06T08:49:37Z"})
    EXPECT_EQ(parse_http_date(text, now), std::nullopt) << text;
}

// -- Retry-After --------------------------------------------------------------

TEST(retry_after, is_a_number_of_seconds) {
  EXPECT_EQ(parse_retry_after("120", now), 120s);
  EXPECT_EQ(parse_retry_after("0", now), 0s);
  EXPECT_EQ(parse_retry_after("007", now), 7s);
  EXPECT_EQ(parse_retry_after(" 3\t", now), 3s);
  EXPECT_EQ(parse_retry_after("86400", now), longest_pushback);
}

TEST(retry_after, is_a_date_by_the_given_clock) {
  EXPECT_EQ(parse_retry_after("Sun, 22 Nov 2026 12:00:30 GMT", now), 30s);
  EXPECT_EQ(parse_retry_after("Sun Nov 22 12:00:30 2026", now), 30s);
  EXPECT_EQ(parse_retry_after("Sunday, 22-Nov-26 12:00:30 GMT", now), 30s);
  EXPECT_EQ(parse_retry_after("Mon, 23 Nov 2026 12:00:00 GMT", now),
            longest_pushback);
  // What is over is over, also if it is a clock that is wrong.
  EXPECT_EQ(parse_retry_after("Sun, 22 Nov 2026 12:00:00 GMT", now), 0s);
  EXPECT_EQ(parse_retry_after("Sun, 06 Nov 1994 08:49:37 GMT", now), 0s);
}

TEST(retry_after, of_any_other_form_means_do_not_retry) {
  for (auto text :
       {"", " ", "-1", "+1", "1.5", "1s", "soon", "1 2", "0x10", "86401",
        "99999999999999999999999999", "Mon, 23 Nov 2026 12:00:01 GMT",
        "Fri, 31 Dec 9999 23:59:59 GMT", "22 Nov 2026"})
    EXPECT_EQ(parse_retry_after(text, now), do_not_retry) << text;
}

// -- gRPC ---------------------------------------------------------------------

TEST(grpc_pushback, is_a_number_of_milliseconds) {
  EXPECT_EQ(parse_grpc_pushback("1500"), 1500ms);
  EXPECT_EQ(parse_grpc_pushback("0"), 0ms);
  EXPECT_EQ(parse_grpc_pushback("86400000"), longest_pushback);
  for (auto text :
       {"", "-1", "-1500", "1.5", "soon", "86400001", "18446744073709551616"})
    EXPECT_EQ(parse_grpc_pushback(text), do_not_retry) << text;
}

} // namespace
} // namespace caisson
