// Load recordings: rows, columns, cuts, and what is refused.
#include <simulator/scenario/load_recording.hpp>
#include <simulator/scenario/recording_row.hpp>

#include <support/scratch.hpp>

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace caisson::sim {
namespace {

using namespace std::chrono_literals;

using durations = std::vector<duration>;
using rates = std::vector<std::pair<duration, double>>;

class recording_file : public testing::Test {
protected:
  // What is read from a file with `text`; problems are in `complaint`, with the
  // file called `F`.
  recording read(const std::string& text) {
    config.file = scratch.write("x.csv", text).string();
    problems found;
    auto result = read_recording(config, found);
    complaint = to_text(found);
    for (auto i = complaint.find(config.file); i != std::string::npos;
         i = complaint.find(config.file))
      complaint.replace(i, config.file.size(), "F");
    return result;
  }

  durations arrivals(const std::string& text) {
    auto result = read(text);
    EXPECT_EQ(complaint, "");
    EXPECT_TRUE(result.rates.empty());
    return result.arrivals;
  }

  rates counts(const std::string& text) {
    config.format = recording_format::counts;
    auto result = read(text);
    EXPECT_EQ(complaint, "");
    EXPECT_TRUE(result.arrivals.empty());
    return result.rates;
  }

  std::string wrong(const std::string& text) {
    auto result = read(text);
    EXPECT_TRUE(result.arrivals.empty() && result.rates.empty());
    return complaint;
  }

  test::scratch_dir scratch;
  recording_config config;
  std::string complaint;
};

using recording_timestamps = recording_file;
using recording_counts = recording_file;

// -- instants -----------------------------------------------------------------

TEST(timestamp, is_a_number_of_seconds_or_a_date_and_time) {
  const std::pair<std::string, duration> good[] = {
    {"0", 0ns},
    {"12.5", 12500ms},
    {" 0.000000001 ", 1ns},
    {"0.0000000019", 1ns},
    {"1700000000.123456789", 1700000000123456789ns},
    {"8999999999", 8999999999s},
    {"1970-01-01 00:00:00", 0ns},
    {"1970-01-02T00:00:01Z", 86401s},
    {"2000-03-01 00:00:00.5", 951868800500ms},
    {"2023-11-16 18:17:03.9799600", 1700158623979960000ns},
    {"1998-06-30 23:59:59.000000001Z", 899251199000000001ns},
  };
  for (const auto& [text, expected] : good)
    EXPECT_EQ(parse_timestamp(text), expected) << text;
}

TEST(timestamp, is_nothing_else) {
  for (auto text : {"",
                    "-1",
                    "1e3",
                    "1.",
                    ".5",
                    "9000000000",
                    "99999999999",
                    "x",
                    "1s",
                    "2023-11-16",
                    "2023-11-16 18:17",
                    "2023-11-16  18:17:03",
                    "2023-02-29 00:00:00",
                    "2023-13-01 00:00:00",
                    "2023-01-00 00:00:00",
                    "2023-01-01 24:00:00",
                    "2023-01-01 00:60:00",
                    "2023-01-01 00:00:60",
                    "2023-01-01 00:00:00.",
                    "2023-01-01 00:00:00.1234567890",
                    "2023-01-01 00:00:00 UTC",
                    "1969-12-31 23:59:59",
                    "2251-01-01 00:00:00",
                    "23-01-01 00:00:00",
                    "+1"})
    EXPECT_EQ(parse_timestamp(text), std::nullopt) << text;
}

TEST(csv, is_split_at_commas_outside_of_quotes) {
  using fields = std::vector<std::string>;
  EXPECT_EQ(split_csv("a,b"), (fields{"a", "b"}));
  EXPECT_EQ(split_csv(""), (fields{""}));
  EXPECT_EQ(split_csv("a,"), (fields{"a", ""}));
  EXPECT_EQ(split_csv(" a , b\r"), (fields{"a", "b"}));
  EXPECT_EQ(split_csv(R"("a,b", "say ""x""",5" pipe)"),
            (fields{"a,b", "say \"x\"", "5\" pipe"}));
}

// -- timestamps ---------------------------------------------------------------

TEST_F(recording_timestamps, are_relative_to_the_first) {
  EXPECT_EQ(arrivals("100\n100.5\n103\n"), (durations{0ns, 500ms, 3s}));
}

TEST_F(recording_timestamps, may_be_dates) {
  EXPECT_EQ(arrivals("2023-12-31 23:59:59.25\n2024-01-01 00:00:01\n"),
            (durations{0ns, 1750ms}));
}

TEST_F(recording_timestamps, may_be_equal) {
  EXPECT_EQ(arrivals("1\n1\n2\n"), (durations{0ns, 0ns, 1s}));
}

TEST_F(recording_timestamps, may_follow_a_header) {
  EXPECT_EQ(arrivals("TIMESTAMP\n1\n2\n"), (durations{0ns, 1s}));
}

TEST_F(recording_timestamps,
       may_stand_between_empty_lines_and_carriage_returns) {
  EXPECT_EQ(arrivals("\xef\xbb\xbf"
                     "1\r\n\r\n \n2\r\n3"),
            (durations{0ns, 1s, 2s}));
}

TEST_F(recording_timestamps, are_read_from_the_column_with_the_index) {
  config.column = 1u;
  EXPECT_EQ(arrivals("a,1,x\nb,2,y\n"), (durations{0ns, 1s}));
}

TEST_F(recording_timestamps, are_read_from_the_column_with_the_name) {
  config.column = "at";
  EXPECT_EQ(arrivals("id,at\n1,10\n2,11\n"), (durations{0ns, 1s}));
  // A named column needs a header, also if that looks like a row.
  config.column = "7";
  EXPECT_EQ(arrivals("id,7\n1,10\n2,11\n"), (durations{0ns, 1s}));
}

TEST_F(recording_timestamps, are_replayed_with_the_speed) {
  config.speed = 4;
  EXPECT_EQ(arrivals("0\n1\n10\n"), (durations{0ns, 250ms, 2500ms}));
}

TEST_F(recording_timestamps, are_cut_in_the_time_of_the_recording) {
  config.from = 2s;
  config.to = 5s;
  config.speed = 2;
  EXPECT_EQ(arrivals("10\n11.9\n12\n14.999\n15\n16\n"),
            (durations{0ns, 1499500us}));
}

TEST_F(recording_timestamps, must_ascend) {
  EXPECT_EQ(wrong("t\n5\n4\n6\n5.5\n"),
            "F:3: \"4\" is earlier than the row before it, timestamps must "
            "ascend\n"
            "F:5: \"5.5\" is earlier than the row before it, timestamps must "
            "ascend");
}

TEST_F(recording_timestamps, that_are_none_are_shown) {
  EXPECT_EQ(wrong("t\n\n5\nsoon\n-1\n"),
            "F:4: \"soon\" is not a timestamp, allowed: seconds, or YYYY-MM-DD "
            "HH:MM:SS with an optional fraction\n"
            "F:5: \"-1\" is not a timestamp, allowed: seconds, or YYYY-MM-DD "
            "HH:MM:SS with an optional fraction");
}

TEST_F(recording_timestamps,
       a_first_row_that_is_a_negative_number_is_no_header) {
  EXPECT_EQ(wrong("-1\n2\n"),
            "F:1: \"-1\" is not a timestamp, allowed: seconds, or YYYY-MM-DD "
            "HH:MM:SS with an optional fraction");
}

TEST_F(recording_timestamps, of_which_many_are_wrong_are_not_all_reported) {
  std::string text = "1\n";
  for (int i = 0; i < 10; ++i)
    text += "x\n";
  auto ten = wrong(text);
  EXPECT_EQ(std::count(ten.begin(), ten.end(), '\n'), 9);
  EXPECT_TRUE(ten.starts_with("F:2: \"x\" is not")) << ten;
  text += "x\nx\n";
  auto more = wrong(text);
  EXPECT_EQ(more, ten + "\nF: and 2 more bad rows");
}

TEST_F(recording_timestamps, need_their_column_in_every_row) {
  config.column = 1u;
  EXPECT_EQ(wrong("a,1\nb\n"), "F:2: has no column 1, they are counted from 0");
}

TEST_F(recording_timestamps, need_the_column_that_is_named) {
  config.column = "timestmap";
  EXPECT_EQ(
    wrong("id,timestamp\n1,2\n"),
    "column: \"timestmap\" is not a column, did you mean \"timestamp\"? "
    "known columns: id, timestamp");
}

TEST_F(recording_timestamps, need_at_least_one_row) {
  EXPECT_EQ(wrong(""), "file: \"F\" has no row");
  EXPECT_EQ(wrong("TIMESTAMP\n\n"), "file: \"F\" has no row");
  config.from = 10s;
  config.to = 20s;
  EXPECT_EQ(wrong("1\n2\n21\n"), "file: \"F\" has no row from 10s to 20s");
}

// -- counts -------------------------------------------------------------------

TEST_F(recording_counts, become_rates_that_end_with_the_recording) {
  EXPECT_EQ(counts("period,count\n1998-06-30 00:00:00,120\n"
                   "1998-06-30 00:01:00,0\n1998-06-30 00:02:00,6\n"),
            (rates{{0ns, 2}, {60s, 0}, {120s, 0.1}, {180s, 0}}));
}

TEST_F(recording_counts, need_no_times_if_the_period_is_given) {
  config.period = 2s;
  EXPECT_EQ(counts("10\n5\n"), (rates{{0ns, 5}, {2s, 2.5}, {4s, 0}}));
  EXPECT_EQ(counts("x,10\nx,5\n"), (rates{{0ns, 5}, {2s, 2.5}, {4s, 0}}));
}

TEST_F(recording_counts, may_have_a_single_row_with_a_period) {
  config.period = 1s;
  EXPECT_EQ(counts("7\n"), (rates{{0ns, 7}, {1s, 0}}));
}

TEST_F(recording_counts, are_replayed_with_the_speed) {
  config.period = 60s;
  config.speed = 60;
  EXPECT_EQ(counts("60\n120\n"), (rates{{0ns, 60}, {1s, 120}, {2s, 0}}));
}

TEST_F(recording_counts, are_cut_at_whole_periods) {
  config.period = 10s;
  config.from = 10s;
  config.to = 30s;
  EXPECT_EQ(counts("10\n20\n30\n40\n"), (rates{{0ns, 2}, {10s, 3}, {20s, 0}}));
  // A period that began before is left out.
  config.from = 11s;
  EXPECT_EQ(counts("10\n20\n30\n40\n"), (rates{{0ns, 3}, {10s, 0}}));
}

TEST_F(recording_counts, are_read_from_the_column_that_is_asked_for) {
  config.column = "hits";
  EXPECT_EQ(counts("t,hits,errors\n0,10,1\n10,20,2\n"),
            (rates{{0ns, 1}, {10s, 2}, {20s, 0}}));
  config.column = 1u;
  EXPECT_EQ(counts("0,10,1\n10,20,2\n"), (rates{{0ns, 1}, {10s, 2}, {20s, 0}}));
}

TEST_F(recording_counts, are_not_negative_numbers) {
  config.format = recording_format::counts;
  config.period = 1s;
  EXPECT_EQ(wrong("n\n5\n-1\nmany\n"),
            "F:3: \"-1\" is not a count, allowed: a number that is not "
            "negative\n"
            "F:4: \"many\" is not a count, allowed: a number that is not "
            "negative");
}

TEST_F(recording_counts, whose_period_is_unknown_are_refused) {
  config.format = recording_format::counts;
  constexpr auto expected
    = "period: is missing, and the first column of the first two rows does "
      "not say it, allowed: 1ns to 100h";
  EXPECT_EQ(wrong("a,5\nb,6\n"), expected);
  EXPECT_EQ(wrong("0,5\nb,6\n"), expected);
  EXPECT_EQ(wrong("5,5\n5,6\n"), expected);
  EXPECT_EQ(wrong("5,5\n"), expected);
}

TEST_F(recording_counts, whose_times_are_not_a_period_apart_are_refused) {
  config.format = recording_format::counts;
  EXPECT_EQ(wrong("0,5\n10,6\n30,6\n40,6\nx,6\n"),
            "F:3: \"30\" does not come 10s after the row before it\n"
            "F:5: \"x\" does not come 10s after the row before it");
}

// -- files --------------------------------------------------------------------

TEST_F(recording_file, that_cannot_be_read_is_named_as_tried) {
  config.file = (scratch / "none.csv").string();
  problems found;
  EXPECT_TRUE(read_recording(config, found).arrivals.empty());
  EXPECT_EQ(to_text(found),
            fmt::format("file: \"{}\" cannot be read: No such file or "
                        "directory",
                        config.file));
  config.file = scratch.path().string();
  found.clear();
  EXPECT_TRUE(read_recording(config, found).arrivals.empty());
  EXPECT_EQ(
    to_text(found),
    fmt::format("file: \"{}\" cannot be read: Is a directory", config.file));
}

// -- copies -------------------------------------------------------------------

TEST(recording_copies, of_a_whole_scale_follow_each_other_by_a_microsecond) {
  EXPECT_EQ(copied({1s, 2s}, 3),
            (durations{1s, 1s + 1us, 1s + 2us, 2s, 2s + 1us, 2s + 2us}));
}

TEST(recording_copies, ascend_although_they_overlap) {
  EXPECT_EQ(copied({1000ns, 1500ns}, 2),
            (durations{1000ns, 1500ns, 2000ns, 2500ns}));
}

TEST(recording_copies, are_as_many_on_average_as_the_scale_says) {
  durations all(100'000);
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i] = i * 1ms;
  EXPECT_NEAR(static_cast<double>(copied(all, 0.25).size()), 25'000, 400);
  EXPECT_NEAR(static_cast<double>(copied(all, 2.5).size()), 250'000, 500);
  EXPECT_EQ(copied(all, 1), all);
}

TEST(recording_copies, are_drawn_by_the_place_of_the_arrival_alone) {
  durations all(1000);
  durations later(1000);
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i] = i * 1ms;
    later[i] = i * 1ms + 1h;
  }
  auto a = copied(all, 0.5);
  auto b = copied(later, 0.5);
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i)
    EXPECT_EQ(a[i] + 1h, b[i]);
}

} // namespace
} // namespace caisson::sim
