#include <caisson/base/window.hpp>

#include <support/times.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <string_view>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

// -- count window -------------------------------------------------------------

// Adds one result per letter, `x` being a failure.
void add(count_window& w, std::string_view results) {
  for (auto c : results)
    w.add(c == 'x');
}

TEST(count_window, counts_what_was_added_until_it_is_full) {
  count_window w{4};
  EXPECT_EQ(w.total(), 0);
  EXPECT_EQ(w.failures(), 0);
  add(w, "x.x");
  EXPECT_EQ(w.total(), 3);
  EXPECT_EQ(w.failures(), 2);
  EXPECT_EQ(w.capacity(), 4u);
}

TEST(count_window, drops_the_oldest_result_for_each_one_beyond_its_size) {
  count_window w{3};
  add(w, "xx.");
  EXPECT_EQ(w.failures(), 2);
  add(w, "."); // x..
  EXPECT_EQ(w.total(), 3);
  EXPECT_EQ(w.failures(), 1);
  add(w, "."); // ...
  EXPECT_EQ(w.failures(), 0);
  add(w, "x"); // ..x
  EXPECT_EQ(w.failures(), 1);
}

TEST(count_window, of_one_call_knows_the_last_result_only) {
  count_window w{1};
  add(w, "x");
  EXPECT_EQ(w.failures(), 1);
  add(w, ".");
  EXPECT_EQ(w.failures(), 0);
  EXPECT_EQ(w.total(), 1);
}

TEST(count_window, agrees_with_a_list_across_the_borders_of_its_words) {
  for (std::size_t size : {63u, 64u, 65u, 128u, 129u}) {
    count_window w{size};
    std::deque<bool> list;
    for (std::size_t i = 0; i < 4 * size; ++i) {
      auto failed = i * i % 7 < 3;
      w.add(failed);
      list.push_back(failed);
      if (list.size() > size)
        list.pop_front();
      ASSERT_EQ(w.total(), static_cast<std::int64_t>(list.size()));
      ASSERT_EQ(w.failures(), std::count(list.begin(), list.end(), true));
    }
  }
}

TEST(count_window, keeps_the_newest_results_when_it_shrinks) {
  count_window w{4};
  add(w, "..xx.x"); // holds xx.x
  w.resize(2);      // holds .x
  EXPECT_EQ(w.total(), 2);
  EXPECT_EQ(w.failures(), 1);
  add(w, "."); // x.
  EXPECT_EQ(w.failures(), 1);
  add(w, "."); // ..
  EXPECT_EQ(w.failures(), 0);
}

TEST(count_window, keeps_all_results_in_order_when_it_grows) {
  count_window w{3};
  add(w, "..x.."); // holds x..
  w.resize(5);
  EXPECT_EQ(w.total(), 3);
  EXPECT_EQ(w.failures(), 1);
  add(w, "xx"); // x..xx
  EXPECT_EQ(w.total(), 5);
  EXPECT_EQ(w.failures(), 3);
  add(w, "."); // ..xx.
  EXPECT_EQ(w.failures(), 2);
}

// -- time window --------------------------------------------------------------

TEST(time_window, holds_a_bucket_until_the_window_has_moved_past_it) {
  time_window w{10s, 10};
  w.add(true, at(0s));
  struct {
    duration now;
    std::int64_t total;
  } const table[] = {{0s, 1}, {9s, 1}, {9999999999ns, 1}, {10s, 0}, {11s, 0}};
  for (auto& row : table) {
    w.roll(at(row.now));
    EXPECT_EQ(w.total(), row.total) << row.now.count();
    EXPECT_EQ(w.failures(), row.total) << row.now.count();
  }
}

TEST(time_window, stays_where_it_is_when_time_goes_backwards) {
  time_window w{10s, 10};
  w.add(true, at(20s));
  w.roll(at(5s));
  EXPECT_EQ(w.total(), 1);
  // Counts as of the latest instant that was seen.
  w.add(true, at(5s));
  EXPECT_EQ(w.total(), 2);
  w.roll(at(29s));
  EXPECT_EQ(w.total(), 2);
  w.roll(at(30s));
  EXPECT_EQ(w.total(), 0);
}

TEST(time_window, reports_when_its_next_bucket_ends_while_it_holds_anything) {
  time_window w{10s, 10};
  EXPECT_EQ(w.next_change(), never);
  w.add(true, at(300ms));
  EXPECT_EQ(w.next_change(), at(1s));
  w.roll(at(1s));
  EXPECT_EQ(w.next_change(), at(2s));
  w.roll(at(10s));
  EXPECT_EQ(w.next_change(), never);
}

TEST(time_window, rounds_the_length_of_its_buckets_up) {
  EXPECT_EQ((time_window{10ns, 3}.bucket_length()), 4ns);
  EXPECT_EQ((time_window{9ns, 3}.bucket_length()), 3ns);
  EXPECT_EQ((time_window{1ns, 3}.bucket_length()), 1ns);
}

TEST(time_window, works_before_the_zero_of_the_clock) {
  time_window w{10s, 10};
  w.add(true, time_point{} - 3500ms);
  EXPECT_EQ(w.next_change(), time_point{} - 3s);
  w.roll(time_point{} + 5999ms);
  EXPECT_EQ(w.total(), 1);
  w.roll(time_point{} + 6s);
  EXPECT_EQ(w.total(), 0);
}

TEST(time_window, works_to_the_end_of_the_clock) {
  time_window w{1s, 10};
  auto last = time_point::max();
  for (auto before : {150ms, 50ms, 1ms, 0ms}) {
    w.add(true, last - before);
    w.add(false, last - before);
  }
  EXPECT_EQ(w.total(), 8);
  EXPECT_EQ(w.failures(), 4);
}

TEST(time_window, keeps_what_fits_when_it_is_resized) {
  time_window w{10s, 10};
  for (int i = 0; i < 10; ++i)
    w.add(true, at(i * 1s));
  // The last four seconds, in one bucket per two seconds: 6 and 7, 8 and 9.
  w.resize(4s, 2, at(9s));
  EXPECT_EQ(w.total(), 4);
  EXPECT_EQ(w.failures(), 4);
  w.roll(at(10s));
  EXPECT_EQ(w.total(), 2);
  w.roll(at(12s));
  EXPECT_EQ(w.total(), 0);
}

TEST(time_window, keeps_everything_when_it_grows) {
  time_window w{2s, 2};
  w.add(true, at(0s));
  w.add(false, at(1s));
  w.resize(10s, 5, at(1s));
  EXPECT_EQ(w.total(), 2);
  EXPECT_EQ(w.failures(), 1);
  EXPECT_EQ(w.bucket_length(), 2s);
  w.roll(at(9s));
  EXPECT_EQ(w.total(), 2);
  w.roll(at(10s));
  EXPECT_EQ(w.total(), 0);
}

TEST(time_window, keeps_its_buckets_when_the_new_size_is_the_old_one) {
  time_window w{10s, 10};
  w.add(true, at(500ms));
  w.resize(10s, 10, at(500ms));
  EXPECT_EQ(w.total(), 1);
  w.resize(10s, 5, at(20s));
  EXPECT_EQ(w.total(), 0);
  EXPECT_EQ(w.next_change(), never);
}

} // namespace
} // namespace caisson::test
