#include <support/breaker_rig.hpp>

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
using rig = breaker_rig;
using op = operator_command;

// -- settings -----------------------------------------------------------------

TEST(breaker_settings, are_valid_as_they_come) {
  EXPECT_EQ(problems_of(breaker_config{}), problems{});
  EXPECT_EQ(solo<breaker>{breaker_config{}}.policy.kind(), "breaker");
}

TEST(breaker_settings, have_these_defaults) {
  std::string text;
  for (auto& row : rows_of(breaker_config{}))
    if (row.type != "schedule" && row.key != "count_only"
        && row.key != "ignore")
      text += row.key + " = " + row.value + "\n";
  EXPECT_EQ(text, R"(name = ""
mode = enforce
trip = consecutive
threshold = 5
quiet_period = 10s
failure_rate = 0.5
window_calls = 100
window_time = 10s
window_buckets = 10
minimum_calls = 20
eager_half_open = false
probes = 1
successes_to_close = 0
probe_timeout = 10s
half_open_retry_after = 50ms
half_open_max = 1min
after_half_open_max = open
)");
  EXPECT_EQ(breaker_config{}.open,
            schedule::exponential(5s, 2).limit(1min).jittered(jitter::equal));
  EXPECT_TRUE(breaker_config{}.classify.allow.empty());
  EXPECT_TRUE(breaker_config{}.classify.deny.empty());
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

// Settings that are wrong in one way, and what is said about them.
struct spoilt {
  std::string_view key;
  void (*spoil)(breaker_config&);
  std::string_view says;
};

void expect_refused(const std::vector<spoilt>& table) {
  for (auto& row : table) {
    breaker_config c;
    row.spoil(c);
    auto found = problems_of(c, "db");
    ASSERT_EQ(found.size(), 1u) << row.key;
    EXPECT_EQ(found[0].key, "db." + std::string{row.key});
    EXPECT_NE(found[0].message.find(row.says), std::string::npos)
      << found[0].message;
    EXPECT_THROW(breaker{c}, config_error);
  }
}

TEST(breaker_settings, are_refused_out_of_range) {
  expect_refused({
    {"threshold", [](breaker_config& c) { c.threshold = 0; }, "1 to 1000000"},
    {"threshold", [](breaker_config& c) { c.threshold = 1'000'001; }, "1 to"},
    {"quiet_period", [](breaker_config& c) { c.quiet_period = 0s; }, "1ms to"},
    {"failure_rate", [](breaker_config& c) { c.failure_rate = 0; }, "0.001"},
    {"failure_rate", [](breaker_config& c) { c.failure_rate = 1.01; }, "to 1"},
    {"failure_rate",
     [](breaker_config& c) {
       c.failure_rate = std::numeric_limits<double>::quiet_NaN();
     },
     "0.001 to 1"},
    {"window_calls", [](breaker_config& c) { c.window_calls = 0; }, "1 to"},
    {"window_time", [](breaker_config& c) { c.window_time = 0s; }, "1ms to"},
    {"window_time", [](breaker_config& c) { c.window_time = 25h; }, "1ms to"},
    {"window_buckets", [](breaker_config& c) { c.window_buckets = 0; }, "1 to"},
    {"window_buckets", [](breaker_config& c) { c.window_buckets = 1001; },
     "1 to 1000"},
    {"minimum_calls", [](breaker_config& c) { c.minimum_calls = 0; }, "1 to"},
    {"open", [](breaker_config& c) { c.open = schedule{}; }, "one delay"},
    {"probes", [](breaker_config& c) { c.probes = 0; }, "1 to 1000"},
    {"probes", [](breaker_config& c) { c.probes = 1001; }, "1 to 1000"},
    {"probe_timeout", [](breaker_config& c) { c.probe_timeout = 0s; }, "1ms"},
    {"probe_timeout", [](breaker_config& c) { c.probe_timeout = unlimited; },
     "to 1h"},
    {"half_open_retry_after",
     [](breaker_config& c) { c.half_open_retry_after = 0s; }, "1ms to 1h"},
    {"half_open_retry_after",
     [](breaker_config& c) { c.half_open_retry_after = 1h + 1ns; }, "1ms to"},
    {"half_open_max", [](breaker_config& c) { c.half_open_max = 0s; }, "1ms"},
    {"count_only", [](breaker_config& c) { c.classify.allow = {"oops"}; },
     "oops"},
    {"ignore", [](breaker_config& c) { c.classify.deny = {":3"}; }, ":3"},
  });
}

TEST(breaker_settings, are_refused_if_they_contradict_each_other) {
  expect_refused({
    {"minimum_calls",
     [](breaker_config& c) {
       c.trip = breaker_trip::rate_by_count;
       c.window_calls = 10;
       c.minimum_calls = 11;
     },
     "1 to window_calls (10)"},
    {"successes_to_close", [](breaker_config& c) { c.successes_to_close = 2; },
     "0 to probes (1)"},
    {"probe_timeout", [](breaker_config& c) { c.half_open_max = 9s; },
     "1ms to half_open_max (9s)"},
    {"after_half_open_max",
     [](breaker_config& c) {
       c.half_open_max = unlimited;
       c.after_half_open_max = breaker_verdict::closed;
     },
     "open, or a half_open_max that ends"},
    {"count_only",
     [](breaker_config& c) {
       c.classify.allow = {"app:1", "shed"};
       c.classify.deny = {"shed", "app:*"};
     },
     "\"shed\" has no effect: ignore names it too and wins"},
    {"ignore",
     [](breaker_config& c) {
       c.classify.deny = {"shed"};
       c.classify.by_value = classifier::standard;
     },
     "has no effect: by_value decides about every outcome"},
  });
}

TEST(breaker_settings, allow_a_probe_to_take_as_long_as_the_state) {
  breaker_config c;
  c.half_open_max = c.probe_timeout;
  c.after_half_open_max = breaker_verdict::closed;
  EXPECT_EQ(problems_of(c), problems{});
}

TEST(breaker_settings, allow_a_minimum_beyond_a_window_that_is_not_used) {
  breaker_config c;
  c.window_calls = 1;
  EXPECT_EQ(problems_of(c), problems{});
}

// -- metrics and events -------------------------------------------------------

TEST(breaker_metrics, have_different_names_and_gauges_last) {
  rig r{with_threshold(1)};
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
  rig r{with_threshold(1)};
  EXPECT_EQ(r.count("state"), 0);
  r.bad();
  EXPECT_EQ(r.count("state"), 1);
  r.advance(10s);
  r.arrive();
  EXPECT_EQ(r.count("state"), 2);
  r.command(op::force_open);
  EXPECT_EQ(r.count("state"), 3);
  r.command(op::force_closed);
  EXPECT_EQ(r.count("state"), 4);
  EXPECT_EQ(r.count("automatic_state"), 2);
}

// Keeps the reasons, too.
struct listener final : env {
  using env::env;
  void tell(const event_info& n) override {
    told.push_back(std::string{n.from} + ">" + std::string{n.to} + ": "
                   + std::string{n.detail});
  }
  strings told;
};

TEST(breaker_events, say_why_the_state_changed) {
  random_source random;
  listener e{time_point{} + 1h, random};
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
  b.settle(call, notes, bad, e);
  // Half-open, these outcomes come, and then nothing until the limit.
  for (auto& results : std::vector<std::vector<outcome>>{
         {bad, bad}, {bad}, {outcome::failure(errc::cancelled, true)}}) {
    e.now += 10s;
    for (auto o : results) {
      b.admit(call, notes, e);
      b.settle(call, notes, o, e);
    }
    e.now += 2s;
    b.wake(e);
  }
  b.admit(call, notes, e);
  b.settle(call, notes, bad, e);
  e.now += 10s;
  b.admit(call, notes, e);
  b.settle(call, notes, good, e);
  b.command(op::force_open, e);
  b.command(op::force_closed, e);
  b.command(op::enable, e);
  EXPECT_EQ(e.told, (strings{
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
