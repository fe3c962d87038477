// CoDel's control law, step by step, and what it does to a service.
#include <simulator/world/codel.hpp>

#include <support/simulated.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace caisson::sim {
namespace {

using namespace std::chrono_literals;
using test::log_with;
using test::played;
using testing::ElementsAre;

const time_point codel_start{1h};

// A wait that ends `at` after the start, and what is to become of it.
struct judged {
  duration at;
  duration waited;
  std::size_t left;
  bool shed;
};

void expect_steps(codel x, const std::vector<judged>& steps) {
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto& s = steps[i];
    EXPECT_EQ(x.sheds(codel_start + s.at, s.waited, s.left), s.shed)
      << "step " << i << ", at " << s.at.count() << " ns";
  }
}

// Waits of 10 ms every 5 ms or so. Shedding begins after 100 ms, and goes on at
// 100 + 100 = 200 ms, then 100 ms divided by the roots of 2, 3, 4 and 5 later:
// at 270.7, 328.4, 378.4 and 423.2 ms.
TEST(codel, sheds_ever_more_often_while_all_wait_for_too_long) {
  expect_steps(
    codel{5ms, 100ms},
    {
      {0ms, 10ms, 9, false},           {50ms, 10ms, 9, false},
      {99'999'999ns, 10ms, 9, false},  {100ms, 10ms, 9, true},
      {100ms, 10ms, 9, false},         {150ms, 10ms, 9, false},
      {199'999'999ns, 10ms, 9, false}, {200ms, 10ms, 9, true},
      {200ms, 10ms, 9, false},         {270'710'677ns, 10ms, 9, false},
      {270'710'678ns, 10ms, 9, true},  {270'710'678ns, 10ms, 9, false},
      {328'445'704ns, 10ms, 9, false}, {328'445'705ns, 10ms, 9, true},
      {328'445'705ns, 10ms, 9, false}, {378'445'704ns, 10ms, 9, false},
      {378'445'705ns, 10ms, 9, true},  {378'445'705ns, 10ms, 9, false},
      {423'167'064ns, 10ms, 9, false}, {423'167'065ns, 10ms, 9, true},
    });
}

// With an interval of 1,000 ms: 1 s, 2 s, 2.707 s, 3.284 s.
TEST(codel, takes_ten_times_as_long_with_ten_times_the_interval) {
  expect_steps(codel{100ms, 1s}, {
                                   {0ms, 100ms, 9, false},
                                   {999ms, 100ms, 9, false},
                                   {1s, 100ms, 9, true},
                                   {1s, 100ms, 9, false},
                                   {1999ms, 100ms, 9, false},
                                   {2s, 100ms, 9, true},
                                   {2s, 100ms, 9, false},
                                   {2'707'106'780ns, 100ms, 9, false},
                                   {2'707'106'781ns, 100ms, 9, true},
                                   {2'707'106'781ns, 100ms, 9, false},
                                   {3'284'457'049ns, 100ms, 9, false},
                                   {3'284'457'050ns, 100ms, 9, true},
                                 });
}

TEST(codel, catches_up_with_several_at_an_instant) {
  expect_steps(codel{5ms, 100ms}, {
                                    {0ms, 10ms, 9, false},
                                    {100ms, 10ms, 9, true},
                                    {100ms, 10ms, 8, false},
                                    // Due at 200, 270.7 and 328.4 ms.
                                    {350ms, 10ms, 7, true},
                                    {350ms, 10ms, 6, true},
                                    {350ms, 10ms, 5, true},
                                    {350ms, 10ms, 4, false},
                                  });
}

TEST(codel, stops_at_a_short_wait) {
  expect_steps(codel{5ms, 100ms}, {
                                    {0ms, 10ms, 9, false},
                                    {100ms, 10ms, 9, true},
                                    {100ms, 10ms, 9, false},
                                    {190ms, 4'999'999ns, 9, false},
                                    {200ms, 10ms, 9, false},
                                    {299ms, 10ms, 9, false},
                                    {300ms, 10ms, 9, true},
                                  });
}

TEST(codel, does_not_shed_the_last_one) {
  expect_steps(codel{5ms, 100ms}, {
                                    {0ms, 10ms, 9, false},
                                    {100ms, 10s, 0, false},
                                    {150ms, 10ms, 9, false},
                                    {200ms, 10ms, 9, false},
                                    {250ms, 10ms, 9, true},
                                  });
}

TEST(codel, begins_anew_when_nobody_waits) {
  codel x{5ms, 100ms};
  EXPECT_FALSE(x.sheds(codel_start, 10ms, 9));
  EXPECT_TRUE(x.sheds(codel_start + 100ms, 10ms, 9));
  x.nobody_waits();
  EXPECT_FALSE(x.sheds(codel_start + 300ms, 10ms, 9));
  EXPECT_FALSE(x.sheds(codel_start + 399ms, 10ms, 9));
  EXPECT_TRUE(x.sheds(codel_start + 400ms, 10ms, 9));
}

// It had shed four when it stopped, three more than at its beginning. When it
// begins again, the second one is due 100 ms / sqrt(3) after the first, if not
// much time has passed.
TEST(codel, goes_on_at_its_last_rate) {
  for (auto pause : {1s, 10s}) {
    codel x{5ms, 100ms};
    EXPECT_FALSE(x.sheds(codel_start, 10ms, 9));
    for (auto at : {100ms, 200ms, 280ms, 340ms}) {
      EXPECT_TRUE(x.sheds(codel_start + at, 10ms, 9));
      EXPECT_FALSE(x.sheds(codel_start + at, 10ms, 9));
    }
    EXPECT_FALSE(x.sheds(codel_start + 350ms, 1ms, 9));
    auto again = codel_start + pause;
    EXPECT_FALSE(x.sheds(again - 100ms, 10ms, 9));
    EXPECT_TRUE(x.sheds(again, 10ms, 9));
    EXPECT_FALSE(x.sheds(again, 10ms, 9));
    auto recent = pause == 1s;
    EXPECT_EQ(x.sheds(again + 57'735'027ns, 10ms, 9), recent);
  }
}

// -- in a service -------------------------------------------------------------

// One worker of 20 ms, and a request every 10 ms. The third one, at 40 ms, is
// the first that has waited for long and is not the last one. So at 80 ms one
// is shed, at 120 ms another, and at 148.3 ms one more is due.
TEST(simulated_service, sheds_what_has_waited_for_too_long) {
  const std::string text = "length = '120ms'\n"
                           "load.u = { kind = 'constant', rate = 100, target = "
                           "'s' }\n"
                           "service.s = { time = '20ms', order = 'codel', "
                           "codel_target = '10ms', codel_interval = '40ms' }";
  EXPECT_THAT(log_with(text, {"shed s", "begin"}),
              ElementsAre("0.000000000 begin s #1", "0.020000000 begin s #2",
                          "0.040000000 begin s #3", "0.060000000 begin s #4",
                          "0.080000000 shed s #5", "0.080000000 begin s #6",
                          "0.100000000 begin s #7", "0.120000000 shed s #8",
                          "0.120000000 begin s #9", "0.140000000 begin s #10",
                          "0.160000000 shed s #11", "0.160000000 begin s #12"));
  auto r = played(text);
  EXPECT_EQ(r.totals.good, 9u);
  EXPECT_EQ(r.totals.errors.at("shed"), 3u);
  EXPECT_EQ(r.services[0].shed, 3u);
  EXPECT_EQ(r.services[0].refused, 3u);
  EXPECT_EQ(r.services[0].completed, 9u);
  EXPECT_EQ(r.services[0].little_error, 0);
}

TEST(simulated_service, begins_with_the_highest_priority) {
  const std::string text = "length = '100ms'\n"
                           "service.s = { time = '90ms', order = 'priority' }\n"
                           "load.low = { kind = 'constant', rate = 25, target "
                           "= 's' }\n"
                           "load.high = { kind = 'constant', rate = 40, start "
                           "= '60ms', target = 's', priority = 3 }";
  // low: 0, 40, 80 ms; high: 60, 85 ms.
  EXPECT_THAT(log_with(text, {"begin"}),
              ElementsAre("0.000000000 begin s #1", "0.090000000 begin s #3",
                          "0.180000000 begin s #5", "0.270000000 begin s #2",
                          "0.360000000 begin s #4"));
}

TEST(simulated_service, begins_with_the_earliest_deadline) {
  const std::string text = "length = '100ms'\n"
                           "service.s = { time = '90ms', order = "
                           "'deadline_first' }\n"
                           "load.none = { kind = 'constant', rate = 25, target "
                           "= 's' }\n"
                           "load.late = { kind = 'constant', rate = 10, start "
                           "= '50ms', target = 's', timeout = '2s' }\n"
                           "load.soon = { kind = 'constant', rate = 10, start "
                           "= '60ms', target = 's', timeout = '1s' }";
  // none: 0, 40, 80 ms.
  EXPECT_THAT(log_with(text, {"begin"}),
              ElementsAre("0.000000000 begin s #1", "0.090000000 begin s #4",
                          "0.180000000 begin s #3", "0.270000000 begin s #2",
                          "0.360000000 begin s #5"));
}

} // namespace
} // namespace caisson::sim
