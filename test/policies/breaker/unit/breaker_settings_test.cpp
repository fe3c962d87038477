#include <policies/breaker/model/breaker_rig.hpp>
#include <support/problem_texts.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;
using by_hand = operator_command;

// -- settings -----------------------------------------------------------------

TEST(breaker_settings, are_valid_as_they_come) {
  EXPECT_EQ(problems_of(breaker_config{}), problems{});
  EXPECT_EQ(rig<breaker>{breaker_config{}}.policy.kind(), "breaker");
}

TEST(breaker_settings, are_read_by_their_names) {
  auto c = breaker_config{};
  auto found = read_settings(settings_from_text({{"trip", "rate_by_time"},
                                                 {"threshold", "7"},
                                                 {"open", "3s"},
                                                 {"count_only", "app:1"},
                                                 {"ignore", "cancelled"}}),
                             "db", c);
  EXPECT_EQ(found, problems{});
  EXPECT_EQ(c.trip, breaker_trip::rate_by_time);
  EXPECT_EQ(c.threshold, 7u);
  EXPECT_EQ(c.open, schedule::constant(3s));
  EXPECT_EQ(c.classify.allow, strings{"app:1"});
  EXPECT_EQ(c.classify.deny, strings{"cancelled"});
}

TEST(breaker_settings, are_refused_if_they_contradict_each_other) {
  struct row {
    void (*spoil)(breaker_config&);
    std::string expected;
  };
  const row table[] = {
    {[](auto& c) { c.open = schedule{}; }, "range db.open"},
    {[](auto& c) { c.classify.allow = {"oops"}; }, "range db.count_only"},
    {[](auto& c) { c.classify.deny = {":3"}; }, "range db.ignore"},
    {[](auto& c) { c.slow_call = 0s; }, "range db.slow_call"},
    {[](auto& c) { c.slow_rate = 0; }, "range db.slow_rate"},
    {[](auto& c) { c.ramp = 2h; }, "range db.ramp"},
    {[](auto& c) { c.ramp_from = 1.5; }, "range db.ramp_from"},
    {[](auto& c) { c.score.limit = 0; }, "range db.score.limit"},
    {[](auto& c) { c.score.percentile = 1; }, "range db.score.percentile"},
    {[](auto& c) { c.score.baseline_step = 10min; },
     "relation db.score.baseline_step"},
    {[](auto& c) { c.score.baseline_window = 24h; },
     "relation db.score.baseline_window"},
    {[](auto& c) {
       c.score.load_weight = c.score.failure_weight = 0;
       c.score.latency_weight = 0;
     },
     "relation db.score.load_weight"},
    {[](auto& c) { c.successes_to_close = 2; },
     "relation db.successes_to_close"},
    {[](auto& c) { c.half_open_max = 9s; }, "relation db.probe_timeout"},
    // What is out of range is reported once.
    {[](auto& c) { c.probe_timeout = unlimited; }, "range db.probe_timeout"},
    {[](auto& c) { c.half_open_max = 0s; }, "range db.half_open_max"},
    {[](auto& c) {
       c.half_open_max = unlimited;
       c.after_half_open_max = breaker_verdict::closed;
     },
     "relation db.after_half_open_max"},
    {[](auto& c) {
       c.classify.allow = {"app:1", "shed"};
       c.classify.deny = {"shed", "app:*"};
     },
     "relation db.count_only"},
    {[](auto& c) {
       c.classify.deny = {"shed"};
       c.classify.by_value = classifier::standard;
     },
     "relation db.ignore"},
  };
  for (auto& [spoil, expected] : table) {
    breaker_config c;
    spoil(c);
    EXPECT_EQ(kinds_and_keys(problems_of(c, "db")), strings{expected});
    EXPECT_THROW(breaker{c}, config_error);
  }
}

TEST(breaker_settings, allow_a_probe_to_take_as_long_as_the_state) {
  breaker_config c;
  c.half_open_max = c.probe_timeout;
  c.after_half_open_max = breaker_verdict::closed;
  EXPECT_EQ(problems_of(c), problems{});
}

TEST(breaker_settings, allow_a_minimum_beyond_the_window_of_calls) {
  breaker_config c;
  c.trip = breaker_trip::rate_by_count;
  c.window_calls = 1;
  EXPECT_EQ(problems_of(c), problems{});
}

// -- metrics and events -------------------------------------------------------

TEST(breaker_metrics, have_different_names_and_gauges_last) {
  breaker_rig r{with_threshold(1)};
  std::vector<metric> ms;
  r.policy.list_metrics(ms);
  std::set<std::string_view> names;
  for (auto& m : ms)
    EXPECT_TRUE(names.insert(m.name).second) << m.name;
  EXPECT_TRUE(std::is_partitioned(ms.begin(), ms.end(),
                                  [](auto& m) { return !m.gauge; }));
  EXPECT_FALSE(names.contains(""));
}

TEST(breaker_metrics, number_the_states) {
  breaker_rig r{with_threshold(1)};
  EXPECT_EQ(r.count("state"), 0);
  r.bad();
  EXPECT_EQ(r.count("state"), 1);
  r.advance(10s);
  r.arrive();
  EXPECT_EQ(r.count("state"), 2);
  r.command(by_hand::force_open);
  EXPECT_EQ(r.count("state"), 3);
  r.command(by_hand::force_closed);
  EXPECT_EQ(r.count("state"), 4);
  EXPECT_EQ(r.count("automatic_state"), 2);
}

// Keeps the reasons, too.
struct state_reasons final : env {
  using env::env;
  void emit(const event_info& n) override {
    reports.push_back(std::string{n.from} + ">" + std::string{n.to} + ": "
                      + std::string{n.detail});
  }
  strings reports;
};

TEST(breaker_events, say_why_the_state_changed) {
  random_source random;
  state_reasons e{time_point{} + 1h, random};
  auto c = with_threshold(1);
  c.probes = 2;
  c.successes_to_close = 1;
  c.probe_timeout = 2s;
  c.half_open_max = 2s;
  breaker b{c};
  call_info call;
  slot notes;
  outcome bad = app_error(1);
  auto good = outcome::success();
  b.admit(call, notes, e);
  b.complete(call, notes, bad, e);
  // Half-open, these outcomes come, and then nothing until the limit.
  for (auto& results : std::vector<std::vector<outcome>>{
         {bad, bad}, {bad}, {outcome::failure(errc::cancelled, true)}}) {
    e.now += 10s;
    for (auto o : results) {
      b.admit(call, notes, e);
      b.complete(call, notes, o, e);
    }
    e.now += 2s;
    b.wake(e);
  }
  b.admit(call, notes, e);
  b.complete(call, notes, bad, e);
  e.now += 10s;
  b.admit(call, notes, e);
  b.complete(call, notes, good, e);
  b.command(by_hand::force_open, e);
  b.command(by_hand::force_closed, e);
  b.command(by_hand::enable, e);
  EXPECT_EQ(e.reports, (strings{
                         "closed>open: consecutive failures",
                         "open>half_open: open interval over",
                         "half_open>open: probe failed",
                         "open>half_open: open interval over",
                         "half_open>open: half-open for too long",
                         "open>half_open: open interval over",
                         "half_open>closed: half-open without a failure",
                         "closed>open: consecutive failures",
                         "open>half_open: open interval over",
                         "half_open>closed: probes succeeded",
                         "closed>forced_open: forced open",
                         "forced_open>forced_closed: forced closed",
                         "forced_closed>closed: override lifted",
                       }));
}

} // namespace
} // namespace caisson::test
