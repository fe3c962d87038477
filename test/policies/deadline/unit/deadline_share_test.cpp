// Shares and reserves of the time that a call has left.
#include <policies/deadline/model/deadline_rig.hpp>
#include <support/problem_texts.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

using strings = std::vector<std::string>;

deadline_config part(duration timeout, double share, duration least) {
  auto c = limited_to(timeout);
  c.share = share;
  c.least = least;
  return c;
}

deadline_config keeping(duration timeout, duration reserve) {
  auto c = limited_to(timeout);
  c.reserve = reserve;
  return c;
}

// -- configuration ------------------------------------------------------------

TEST(deadline, refuses_a_share_without_effect) {
  EXPECT_EQ(kinds_and_keys(problems_of(part(1s, 0.5, 1001ms))),
            strings{"relation least"});
  EXPECT_EQ(problems_of(part(1s, 0.5, 1s)), problems{});
  // The default of `least` is no obstacle to a short timeout.
  EXPECT_EQ(problems_of(limited_to(1us)), problems{});
  EXPECT_EQ(kinds_and_keys(problems_of(part(1s, 0, 1ms))),
            strings{"range share"});
  EXPECT_EQ(kinds_and_keys(problems_of(part(1s, 1.001, 1ms))),
            strings{"range share"});
}

// -- a part of the time that is left ------------------------------------------

TEST(deadline, gives_a_call_its_share_of_the_time_that_is_left) {
  struct row {
    duration left;
    double share;
    duration least;
    duration gets;
  };
  for (auto& x : std::vector<row>{{1s, 0.5, 1ms, 500ms},
                                  {400ms, 0.5, 1ms, 200ms},
                                  {400ms, 0.25, 1ms, 100ms},
                                  // Down to the least, and not below it.
                                  {4ms, 0.5, 1ms, 2ms},
                                  {2ms, 0.5, 1ms, 1ms},
                                  {2ms - 2ns, 0.5, 1ms, 1ms},
                                  {1ms, 0.5, 1ms, 1ms},
                                  // Unless there is not so much.
                                  {1ms - 1ns, 0.5, 1ms, 1ms - 1ns},
                                  {1ns, 0.5, 1ms, 1ns},
                                  // The timeout is the limit of all.
                                  {1h, 0.5, 1ms, 1s},
                                  {2s, 0.5, 1ms, 1s},
                                  {2s - 2ns, 0.5, 1ms, 1s - 1ns},
                                  {400ms, 1, 1ms, 400ms},
                                  // Without an end there is no part of it.
                                  {unlimited, 0.5, 1ms, 1s}}) {
    deadline_rig h{part(1s, x.share, x.least)};
    auto id = h.arrive_with(x.left);
    EXPECT_EQ(h.where(id), place::below);
    EXPECT_EQ(h.left(id), x.gets) << to_text(x.left) << " * " << x.share;
  }
}

TEST(deadline, leaves_time_for_more_attempts) {
  deadline_rig h{part(1s, 0.5, 100ms)};
  strings seen;
  // Each attempt hangs, and the next one follows at once.
  for (auto left = duration{1s}; left > 0ns;) {
    auto gets = h.left(h.arrive_with(left));
    seen.push_back(to_text(gets));
    left -= gets;
  }
  EXPECT_EQ(seen, (strings{"500ms", "250ms", "125ms", "100ms", "25ms"}));
}

TEST(deadline, does_not_cut_a_share_below_what_the_worker_needs) {
  auto c = part(1s, 0.5, 1ms);
  c.min_left = 100ms;
  for (auto left : {100ms, 150ms, 200ms}) {
    deadline_rig h{c};
    auto id = h.arrive_with(left);
    EXPECT_EQ(h.where(id), place::below) << left.count();
    EXPECT_EQ(h.left(id), 100ms) << left.count();
  }
  deadline_rig h{c};
  EXPECT_EQ(h.where(h.arrive_with(100ms - 1ns)), place::rejected);
  EXPECT_EQ(h.count("too_little_left"), 1);
}

TEST(deadline, knows_an_expired_share_for_its_own) {
  deadline_rig h{part(1s, 0.5, 1ms)};
  auto id = h.arrive_with(100ms);
  h.advance(50ms);
  h.pass_deadline(id, true);
  EXPECT_EQ(h.count("expired"), 1);
}

TEST(deadline, keeps_a_reserve_of_the_time_that_is_left) {
  struct row {
    duration left;
    duration gets;
  };
  for (auto& x : std::vector<row>{{unlimited, 200ms},
                                  {230ms, 200ms},
                                  {230ms - 1ns, 200ms - 1ns},
                                  {31ms, 1ms},
                                  {30ms + 1ns, 1ns},
                                  {30ms, 0ns},
                                  {1ns, 0ns}}) {
    deadline_rig h{keeping(200ms, 30ms)};
    auto id = h.arrive_with(x.left);
    EXPECT_EQ(h.where(id), x.gets > 0ns ? place::below : place::rejected);
    if (x.gets > 0ns) {
      EXPECT_EQ(h.left(id), x.gets);
    }
    EXPECT_EQ(h.count("too_little_left"), x.gets > 0ns ? 0 : 1);
    EXPECT_EQ(h.count("expired_on_arrival"), 0);
  }
}

TEST(deadline, takes_the_least_of_share_reserve_and_timeout) {
  auto c = part(200ms, 0.5, 1ms);
  c.reserve = 100ms;
  struct row {
    duration left;
    duration gets;
  };
  for (auto& x : std::vector<row>{{1s, 200ms}, {300ms, 150ms}, {150ms, 50ms}}) {
    deadline_rig h{c};
    EXPECT_EQ(h.left(h.arrive_with(x.left)), x.gets) << to_text(x.left);
  }
}

TEST(deadline, counts_no_default_as_time_that_is_left) {
  auto c = part(2min, 0.5, 1ms);
  c.reserve = 1min;
  deadline_rig h{c};
  auto id = h.arrive_by_default(30s);
  EXPECT_EQ(h.where(id), place::below);
  EXPECT_EQ(h.left(id), 2min);
}

TEST(deadline, stands_before_a_stage_of_a_budget) {
  stage_budget budget{{.total = 300ms,
                       .stages = {{"dns", 20ms}, {"api", 200ms}},
                       .reserve = 30ms}};
  auto c = deadline_of(budget, "api");
  EXPECT_EQ(c.timeout, 200ms);
  EXPECT_EQ(c.reserve, 30ms);
  EXPECT_EQ(problems_of(c), problems{});
  EXPECT_THROW((void)deadline_of(budget, "tls"), std::out_of_range);
  // The same as the budget itself, at any time.
  for (auto at : {0ms, 20ms, 70ms, 71ms, 100ms, 269ms}) {
    deadline_rig h{c};
    auto clock = budget.start(deadline_rig::start());
    h.advance(at);
    call_info call;
    call.deadline = clock.end();
    EXPECT_EQ(h.calls.at(h.arrive(call)).call.deadline,
              clock.limit_of("api", h.e.now));
  }
}

TEST(deadline, says_how_long_a_permit_may_be_renewed) {
  deadline d{part(1s, 0.5, 1ms)};
  random_source random;
  env e{deadline_rig::start(), random};
  call_info call;
  call.deadline = e.now + 100ms;
  slot notes;
  d.admit(call, notes, e);
  EXPECT_EQ(d.latest_end(call, notes), deadline_rig::start() + 1s);
}

} // namespace
} // namespace caisson::test
