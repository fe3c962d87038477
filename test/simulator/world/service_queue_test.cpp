// The order in which services serve those that wait for a server.
#include <support/simulated.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace caisson::sim {
namespace {

using test::log_with;
using test::played;
using testing::ElementsAre;

// One server of 20 ms, and a request every 10 ms. The third one, at 40 ms, is
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

// low: 0, 40, 80 ms; high: 85 ms. When the second one is served, at 90 ms, the
// low one of 40 ms is ahead of the high one by 45 ms, worth more than 3.
TEST(simulated_service, lets_priorities_grow_with_age) {
  const std::string text = "length = '100ms'\n"
                           "service.s = { time = '90ms', order = 'priority', "
                           "aging = '14ms' }\n"
                           "load.low = { kind = 'constant', rate = 25, target "
                           "= 's' }\n"
                           "load.high = { kind = 'constant', rate = 40, start "
                           "= '85ms', target = 's', priority = 3 }";
  EXPECT_THAT(log_with(text, {"begin"}),
              ElementsAre("0.000000000 begin s #1", "0.090000000 begin s #2",
                          "0.180000000 begin s #4", "0.270000000 begin s #3"));
}

// Three of the noisy one, which come first, and one of the other.
TEST(simulated_service, serves_each_key_in_turn) {
  const std::string text = "length = '40ms'\n"
                           "service.s = { time = '90ms', order = 'fair' }\n"
                           "load.noisy = { kind = 'constant', rate = 100, "
                           "target = 's', keys = 1 }\n"
                           "load.quiet = { kind = 'constant', rate = 10, start "
                           "= '35ms', target = 's' }";
  EXPECT_THAT(log_with(text, {"begin"}),
              ElementsAre("0.000000000 begin s #1", "0.090000000 begin s #2",
                          "0.180000000 begin s #5", "0.270000000 begin s #3",
                          "0.360000000 begin s #4"));
}

// Requests come at 0, 10, 20, 30 and 40 ms; two may wait for the first one.
TEST(simulated_service, refuses_whose_turn_would_come_last) {
  auto refused = [](const std::string& order) {
    return log_with(
      "length = '50ms'\nservice.s = { time = '90ms', queue = 2, "
      "order = '"
        + order
        + "' }\n"
          "load.u = { kind = 'constant', rate = 100, target = 's' }",
      {"refuse"});
  };
  EXPECT_THAT(refused("fifo"), ElementsAre("0.030000000 refuse s #4",
                                           "0.040000000 refuse s #5"));
  EXPECT_THAT(refused("lifo"), ElementsAre("0.030000000 refuse s #2",
                                           "0.040000000 refuse s #3"));
}

TEST(simulated_service, refuses_first_who_has_most_that_wait) {
  const std::string text = "length = '40ms'\n"
                           "service.s = { time = '90ms', queue = 3, order = "
                           "'fair' }\n"
                           "load.noisy = { kind = 'constant', rate = 100, "
                           "target = 's', keys = 1 }\n"
                           "load.quiet = { kind = 'constant', rate = 10, start "
                           "= '35ms', target = 's' }";
  EXPECT_THAT(log_with(text, {"refuse", "begin"}),
              ElementsAre("0.000000000 begin s #1", "0.035000000 refuse s #4",
                          "0.090000000 begin s #2", "0.180000000 begin s #5",
                          "0.270000000 begin s #3"));
}

} // namespace
} // namespace caisson::sim
