// The start and the return of a breaker: the initial state, the ramp
// after closing, and the end of a forced state.
#include <policies/breaker/model/breaker_rig.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <string_view>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;
using by_hand = operator_command;

// -- ramp ---------------------------------------------------------------------

// Closed since `now`, with a ramp of 10 s.
struct ramping : breaker_rig {
  explicit ramping(double from = 0.1, std::uint32_t threshold = 1)
    : breaker_rig(config(from, threshold)) {
    for (std::uint32_t i = 0; i < threshold; ++i)
      bad();
    advance(10s);
    good();
    EXPECT_EQ(state(), "closed");
  }

  static breaker_config config(double from, std::uint32_t threshold) {
    auto c = with_threshold(threshold);
    c.ramp = 10s;
    c.ramp_from = from;
    return c;
  }

  // How many of a thousand calls pass at this instant.
  int pass() {
    auto before = count("admitted");
    for (int i = 0; i < 1000; ++i)
      good();
    return static_cast<int>(count("admitted") - before);
  }
};

TEST(breaker_ramp, lets_a_share_pass_that_grows_linearly) {
  struct {
    duration at;
    int passed;
    std::int64_t shown;
  } const table[] = {{0s, 100, 100},  {1s, 190, 190},         {5s, 550, 550},
                     {9s, 910, 910},  {10s - 1ns, 1000, 999}, {10s, 1000, 1000},
                     {1h, 1000, 1000}};
  for (auto& row : table) {
    ramping r;
    r.advance(row.at);
    // Four standard deviations.
    EXPECT_NEAR(r.pass(), row.passed, 64) << row.at.count();
    EXPECT_EQ(r.count("ramp_permille"), row.shown);
    EXPECT_EQ(r.state(), "closed");
  }
}

TEST(breaker_ramp, passes_all_or_nothing_at_its_edges) {
  EXPECT_EQ(ramping{0}.pass(), 0);
  EXPECT_EQ(ramping{1}.pass(), 1000);
}

TEST(breaker_ramp, rejects_with_a_short_wait) {
  ramping r{0};
  auto id = r.arrive();
  EXPECT_EQ(r.where(id), place::rejected);
  EXPECT_EQ(r.calls.at(id).code, errc::breaker_open);
  EXPECT_EQ(r.calls.at(id).retry_after, 50ms);
  EXPECT_EQ(r.count("rejected_ramp"), 1);
  EXPECT_EQ(r.count("rejected_open"), 0);
  // All pass when it is over.
  r.advance(10s - 20ms);
  for (int i = 0; i < 10'000 && r.where(id = r.arrive()) == place::below; ++i)
    r.finish(id);
  EXPECT_EQ(r.where(id), place::rejected);
  EXPECT_EQ(r.calls.at(id).retry_after, 20ms);
}

TEST(breaker_ramp, ends_by_itself) {
  ramping r;
  EXPECT_EQ(r.policy.wakeup(), r.e.now + 10s);
  r.advance(10s);
  EXPECT_EQ(r.policy.wakeup(), never);
  EXPECT_EQ(r.count("ramp_permille"), 1000);
}

TEST(breaker_ramp, does_not_keep_a_breaker_from_opening) {
  ramping r{1, 2};
  r.advance(1s);
  r.play("xx");
  EXPECT_EQ(r.state(), "open");
  EXPECT_EQ(r.count("opened"), 2);
  EXPECT_EQ(r.count("openings_in_a_row"), 1);
  // It begins anew with the next closing.
  r.advance(10s);
  r.good();
  EXPECT_EQ(r.policy.wakeup(), r.e.now + 10s);
}

TEST(breaker_ramp, is_only_there_after_half_open) {
  breaker_rig r{ramping::config(0, 1)};
  r.good();
  EXPECT_EQ(r.count("admitted"), 1);
  r.bad();
  r.command(by_hand::reset);
  r.good();
  EXPECT_EQ(r.count("rejected_ramp"), 0);
  EXPECT_EQ(r.count("admitted"), 1);
}

TEST(breaker_ramp, gives_way_to_an_operator) {
  ramping r{0};
  r.command(by_hand::force_closed);
  auto id = r.arrive();
  EXPECT_EQ(r.where(id), place::below);
  EXPECT_EQ(r.count("forced_through"), 1);
  r.fail(id);
  EXPECT_EQ(r.count("unjudged_results"), 1);
}

TEST(breaker_ramp, follows_other_settings_at_once) {
  ramping r{0};
  auto c = r.policy.config();
  c.ramp_from = 1;
  r.reconfigure(c);
  EXPECT_EQ(r.pass(), 1000);
  c.ramp_from = 0;
  c.ramp = 0s;
  r.reconfigure(c);
  EXPECT_EQ(r.pass(), 1000);
  // What is over stays over.
  c.ramp = 1h;
  r.reconfigure(c);
  EXPECT_EQ(r.pass(), 1000);
}

// -- initial state ------------------------------------------------------------

TEST(breaker_initial, half_open_begins_with_probes) {
  auto c = with_threshold(3);
  c.initial = breaker_start::half_open;
  c.probes = 2;
  breaker_rig r{c};
  EXPECT_EQ(r.state(), "half_open");
  EXPECT_EQ(r.policy.wakeup(), never);
  auto first = r.arrive();
  auto second = r.arrive();
  EXPECT_EQ(r.where(r.arrive()), place::rejected);
  r.finish(first);
  r.finish(second);
  EXPECT_EQ(r.state(), "closed");
}

TEST(breaker_initial, half_open_opens_with_a_failed_probe) {
  auto c = with_threshold(3);
  c.initial = breaker_start::half_open;
  breaker_rig r{c};
  r.bad();
  EXPECT_EQ(r.state(), "open");
  EXPECT_EQ(r.calls.at(r.arrive()).retry_after, 10s);
  r.command(by_hand::reset);
  EXPECT_EQ(r.state(), "half_open");
}

// -- forced for a time --------------------------------------------------------

struct forced : breaker_rig {
  explicit forced(operator_command what, duration time)
    : breaker_rig(with_threshold(1)) {
    EXPECT_TRUE(command({what, time}));
  }
};

TEST(breaker_forced, open_ends_after_its_time) {
  forced r{by_hand::force_open, 5s};
  EXPECT_EQ(r.state(), "forced_open");
  EXPECT_EQ(r.policy.wakeup(), r.e.now + 5s);
  r.advance(1s);
  auto id = r.arrive();
  EXPECT_EQ(r.where(id), place::rejected);
  EXPECT_EQ(r.calls.at(id).retry_after, 4s);
  r.advance(4s - 1ns);
  EXPECT_EQ(r.state(), "forced_open");
  r.advance(1ns);
  EXPECT_EQ(r.state(), "closed");
  EXPECT_EQ(r.changes(), (strings{"closed>forced_open", "forced_open>closed"}));
  EXPECT_EQ(r.policy.wakeup(), never);
}

TEST(breaker_forced, closed_ends_after_its_time) {
  forced r{by_hand::force_closed, 5s};
  r.bad();
  EXPECT_EQ(r.state(), "forced_closed");
  r.advance(5s);
  EXPECT_EQ(r.state(), "open");
}

TEST(breaker_forced, ends_with_a_call_if_nobody_woke_it) {
  forced r{by_hand::force_open, 5s};
  r.set_clock(5s);
  r.good();
  EXPECT_EQ(r.count("admitted"), 1);
}

TEST(breaker_forced, lasts_as_long_as_the_last_command_says) {
  struct {
    operator_command what;
    duration time; // zero: until another command
    std::string_view at_5s;
    std::string_view at_9s;
  } const table[] = {
    {by_hand::force_open, 9s, "forced_open", "closed"},
    {by_hand::force_open, 2s, "closed", "closed"},
    {by_hand::force_open, unlimited, "forced_open", "forced_open"},
    {by_hand::force_open, 0s, "forced_open", "forced_open"},
    {by_hand::force_closed, 7s, "forced_closed", "closed"},
    {by_hand::force_closed, 0s, "forced_closed", "forced_closed"},
    {by_hand::enable, 0s, "closed", "closed"},
    {by_hand::reset, 0s, "closed", "closed"},
  };
  for (auto& row : table) {
    forced r{by_hand::force_open, 5s};
    EXPECT_TRUE(row.time > 0s ? r.command({row.what, row.time})
                              : r.command(row.what));
    r.advance(5s);
    EXPECT_EQ(r.state(), row.at_5s) << name_of(row.what);
    r.advance(4s);
    EXPECT_EQ(r.state(), row.at_9s) << name_of(row.what);
  }
}

TEST(breaker_forced, knows_no_other_command_for_a_time) {
  breaker_rig r{with_threshold(1)};
  for (auto what :
       {by_hand::off, by_hand::observe, by_hand::enable, by_hand::reset})
    EXPECT_FALSE(r.command({what, 5s}));
}

} // namespace
} // namespace caisson::test
