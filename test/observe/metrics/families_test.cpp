// Snapshots as metrics.
#include <caisson/observe/metrics/detail/families.hpp>

#include <caisson/observe/detail/labels.hpp>
#include <caisson/observe/detail/series.hpp>
#include <caisson/stack/policy_kinds.hpp>

#include <gtest/gtest.h>
#include <prometheus/text_serializer.h>

#include <rapidcheck/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;
using prometheus::MetricFamily;

watched_gate gate_of(std::string name, gate_snapshot s = {},
                     std::uint32_t number = 1) {
  return {std::move(name), number,
          std::make_shared<const gate_snapshot>(std::move(s))};
}

using series = std::map<std::string, std::string>;

series labels_of(const prometheus::ClientMetric& x) {
  series out;
  for (const auto& l : x.label)
    EXPECT_TRUE(out.emplace(l.name, l.value).second) << l.name;
  return out;
}

const prometheus::ClientMetric* find(const std::vector<MetricFamily>& all,
                                     const std::string& name,
                                     const series& labels) {
  for (const auto& f : all)
    if (f.name == name)
      for (const auto& x : f.metric) {
        auto has = labels_of(x);
        if (std::includes(has.begin(), has.end(), labels.begin(), labels.end()))
          return &x;
      }
  return nullptr;
}

double counter(const std::vector<MetricFamily>& all, const std::string& name,
               const series& labels = {}) {
  auto* x = find(all, name, labels);
  return x ? x->counter.value : -1;
}

double gauge(const std::vector<MetricFamily>& all, const std::string& name,
             const series& labels = {}) {
  auto* x = find(all, name, labels);
  return x ? x->gauge.value : -1;
}

std::string text_of(const std::vector<MetricFamily>& all) {
  return prometheus::TextSerializer{}.Serialize(all);
}

layer_snapshot breaker_layer() {
  return {.name = "db",
          .kind = "breaker",
          .mode = mode::observe,
          .state = "open",
          .numbers = {{"opened", 2, false},
                      {"failure_rate_permille", 250, true},
                      {"score_permille", -1, true},
                      {"state", 1, true}}};
}

TEST(families, of_no_gate_say_that_there_is_none) {
  auto all = detail::families_of({}, {});
  EXPECT_EQ(gauge(all, "caisson_gates"), 0);
  EXPECT_EQ(gauge(all, "caisson_gates_left_out"), 0);
  EXPECT_EQ(all.size(), 2u);
}

TEST(families, report_a_gate_s_numbers) {
  gate_snapshot s;
  s.metrics = {{"calls", 7}, {"in_progress", 3}, {"answers_shed", 4}};
  s.state = gate_state::draining;
  s.worker = worker_state::up;
  auto all = detail::families_of({gate_of("g", s)}, {});
  EXPECT_EQ(counter(all, "caisson_calls_total", {{"gate", "g"}}), 7);
  EXPECT_EQ(counter(all, "caisson_attempts_total", {{"gate", "g"}}), 0);
  EXPECT_EQ(gauge(all, "caisson_calls_in_progress", {{"gate", "g"}}), 3);
  EXPECT_EQ(counter(all, "caisson_answers_total", {{"class", "shed"}}), 4);
  EXPECT_EQ(gauge(all, "caisson_gate_state", {{"state", "draining"}}), 1);
  EXPECT_EQ(gauge(all, "caisson_gate_state", {{"state", "accepting"}}), 0);
  EXPECT_EQ(gauge(all, "caisson_worker_state", {{"state", "up"}}), 1);
  EXPECT_EQ(gauge(all, "caisson_worker_state", {{"state", "given_up"}}), 0);
}

TEST(families, report_each_outcome_once) {
  gate_snapshot s;
  s.metrics = {{"succeeded", 10},       {"released_neutral", 1},
               {"refused_draining", 2}, {"refused_full", 3},
               {"refused_invalid", 4},  {"refused_loop", 5}};
  s.errors[0] = 6;
  s.errors[static_cast<std::size_t>(errc::shed)] = 7;
  s.errors[static_cast<std::size_t>(errc::breaker_open)] = 8;
  auto all = detail::families_of({gate_of("g", s)}, {});
  auto of = [&](const char* outcome) {
    return counter(all, "caisson_outcomes_total", {{"outcome", outcome}});
  };
  EXPECT_EQ(of("succeeded"), 10);
  EXPECT_EQ(of("neutral"), 1);
  EXPECT_EQ(of("draining"), 2);
  EXPECT_EQ(of("shed"), 10);
  EXPECT_EQ(of("invalid_config"), 4);
  EXPECT_EQ(of("call_loop"), 5);
  EXPECT_EQ(of("other_error"), 6);
  EXPECT_EQ(of("breaker_open"), 8);
  EXPECT_EQ(of("feature_off"), 0);
}

TEST(families, report_a_layer_s_state_mode_place_and_numbers) {
  gate_snapshot s;
  s.layers = {{.name = "first", .kind = "mine"}, breaker_layer()};
  auto all = detail::families_of({gate_of("g", s)}, {});
  series db{{"gate", "g"}, {"layer", "db"}, {"kind", "breaker"}};
  auto with = [&](const char* name, const char* value) {
    auto out = db;
    out.emplace(name, value);
    return out;
  };
  EXPECT_EQ(gauge(all, "caisson_layer_position", db), 1);
  EXPECT_EQ(gauge(all, "caisson_layer_state", with("state", "open")), 1);
  for (auto other : {"closed", "half_open", "forced_open", "forced_closed"})
    EXPECT_EQ(gauge(all, "caisson_layer_state", with("state", other)), 0);
  EXPECT_EQ(gauge(all, "caisson_layer_mode", with("mode", "observe")), 1);
  EXPECT_EQ(gauge(all, "caisson_layer_mode", with("mode", "enforce")), 0);
  EXPECT_EQ(
    counter(all, "caisson_layer_decisions_total", with("decision", "opened")),
    2);
  EXPECT_EQ(gauge(all, "caisson_layer_failure_rate_ratio", db), 0.25);
  EXPECT_EQ(find(all, "caisson_layer_score_ratio", db), nullptr);
  EXPECT_EQ(gauge(all, "caisson_layer_state_value", db), 1);
  // A layer without states has none.
  EXPECT_EQ(find(all, "caisson_layer_state", {{"layer", "first"}}), nullptr);
}

// A series that comes only with its state cannot be seen to begin or end.
TEST(families, have_all_states_of_each_kind) {
  gate_snapshot s;
  for (const auto& kind : policy_kinds())
    if (!kind.states.empty())
      s.layers.push_back({.name = kind.name,
                          .kind = kind.name,
                          .state = std::string{kind.states.front()}});
  ASSERT_GE(s.layers.size(), 6u);
  auto all = detail::families_of({gate_of("g", s)}, {});
  for (const auto& kind : policy_kinds())
    for (auto state : kind.states)
      EXPECT_EQ(gauge(all, "caisson_layer_state",
                      {{"layer", kind.name}, {"state", std::string{state}}}),
                state == kind.states.front() ? 1 : 0)
        << kind.name << " " << state;
}

TEST(families, report_a_state_that_depends_on_settings) {
  gate_snapshot s;
  s.layers = {{.name = "new", .kind = "canary", .state = "stage_2"}};
  auto all = detail::families_of({gate_of("g", s)}, {});
  EXPECT_EQ(gauge(all, "caisson_layer_state", {{"state", "stage_2"}}), 1);
  EXPECT_EQ(gauge(all, "caisson_layer_state", {{"state", "promoted"}}), 0);
}

TEST(families, report_busy_keys) {
  gate_snapshot s;
  s.layers = {breaker_layer()};
  s.layers[0].keys = {{"eu", "open", 12}, {"", "closed", 3}};
  auto all = detail::families_of({gate_of("g", s)}, {});
  EXPECT_EQ(counter(all, "caisson_key_admitted_calls_total", {{"key", "eu"}}),
            12);
  EXPECT_EQ(gauge(all, "caisson_key_state", {{"key", "eu"}, {"state", "open"}}),
            1);
  EXPECT_EQ(counter(all, "caisson_key_admitted_calls_total", {{"key", ""}}), 3);
}

TEST(families, distinguish_gates_of_one_name) {
  gate_snapshot s;
  s.metrics = {{"calls", 1}};
  auto all = detail::families_of(
    {gate_of("g", s), gate_of("g", s, 2), gate_of("h", s)}, {});
  for (const auto& f : all)
    if (f.name == "caisson_calls_total") {
      ASSERT_EQ(f.metric.size(), 3u);
      EXPECT_EQ(labels_of(f.metric[0]), (series{{"gate", "g"}}));
      EXPECT_EQ(labels_of(f.metric[1]),
                (series{{"gate", "g"}, {"replica", "2"}}));
      EXPECT_EQ(labels_of(f.metric[2]), (series{{"gate", "h"}}));
    }
}

TEST(families, leave_out_gates_beyond_the_limit) {
  auto all = detail::families_of({gate_of("a"), gate_of("b"), gate_of("c")},
                                 {.max_gates = 2});
  EXPECT_EQ(gauge(all, "caisson_gates"), 2);
  EXPECT_EQ(gauge(all, "caisson_gates_left_out"), 1);
  EXPECT_NE(find(all, "caisson_calls_total", {{"gate", "b"}}), nullptr);
  EXPECT_EQ(find(all, "caisson_calls_total", {{"gate", "c"}}), nullptr);
}

TEST(families, escape_names) {
  gate_snapshot s;
  s.layers = {{.name = "l\xff", .kind = "k"}};
  auto text = text_of(detail::families_of(
    {gate_of("say \"hi\"\\\nzwölf", s), gate_of("\xfe"), gate_of("\xff")}, {}));
  EXPECT_NE(text.find("{gate=\"say \\\"hi\\\"\\\\\\nzwölf\"}"),
            std::string::npos);
  EXPECT_NE(text.find("layer=\"l\ufffd\""), std::string::npos);
  EXPECT_NE(text.find("{gate=\"\ufffd\"}"), std::string::npos);
  EXPECT_NE(text.find("{gate=\"\ufffd#2\"}"), std::string::npos);
}

// One series reported twice makes a server refuse everything.
RC_GTEST_PROP(families_property, never_report_a_series_twice, ()) {
  auto any_name = rc::gen::container<std::string>(
    rc::gen::element('a', 'b', '\xff', '\xfe', '_', '!'));
  gate_snapshot s;
  auto names = *rc::gen::container<std::vector<std::string>>(any_name);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  names.resize(std::min<std::size_t>(names.size(), 5));
  for (const auto& name : names) {
    layer_snapshot x{.name = name, .kind = "degradation", .state = name};
    for (const auto& n : names) {
      x.numbers.push_back({n, 1, true});
      x.numbers.push_back({"level_" + n, 1, true});
      x.numbers.push_back({n, 1, false});
      x.keys.push_back({n, n, 1});
    }
    s.layers.push_back(std::move(x));
  }
  std::vector<watched_gate> gates;
  for (const auto& name : names)
    for (auto n : {1u, 2u})
      gates.push_back(gate_of(name, s, n));
  for (const auto& f : detail::families_of(gates, {})) {
    std::set<series> seen;
    for (const auto& x : f.metric)
      RC_ASSERT(seen.insert(labels_of(x)).second);
  }
}

// -- durations ----------------------------------------------------------------

TEST(bounds, ascend_and_are_ends_of_buckets) {
  auto bounds = detail::duration_bounds();
  ASSERT_EQ(bounds.size(), 19u);
  EXPECT_EQ(bounds.front(), 16383ns);
  EXPECT_EQ(bounds.back(), (std::int64_t{1} << 35) * 1ns - 1ns);
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    EXPECT_EQ(wide_histogram::bucket_end(bounds[i]), bounds[i]);
    EXPECT_TRUE(i == 0 || bounds[i - 1] < bounds[i]);
  }
}

gate_snapshot with_durations(const std::vector<duration>& ds) {
  gate_snapshot s;
  s.durations.push_back({.what = measured::waits, .ok = false});
  for (auto d : ds)
    s.durations[0].counts.record(d);
  return s;
}

TEST(durations, are_cumulative_with_sum_and_count) {
  auto bounds = detail::duration_bounds();
  auto all = detail::families_of(
    {gate_of("g", with_durations({0ns, bounds[0], bounds[0] + 1ns, 1s, 1h}))},
    {});
  auto* x = find(all, "caisson_wait_duration_seconds",
                 {{"gate", "g"}, {"result", "failed"}});
  ASSERT_NE(x, nullptr);
  const auto& h = x->histogram;
  EXPECT_EQ(h.sample_count, 5u);
  EXPECT_NEAR(h.sample_sum, 3601.0 + 2 * to_seconds(bounds[0]), 1e-6);
  ASSERT_EQ(h.bucket.size(), bounds.size() + 1);
  EXPECT_EQ(h.bucket[0].cumulative_count, 2u);
  EXPECT_EQ(h.bucket[1].cumulative_count, 3u);
  EXPECT_EQ(h.bucket[bounds.size() - 1].cumulative_count, 4u);
  EXPECT_EQ(h.bucket.back().cumulative_count, 5u);
  EXPECT_TRUE(std::isinf(h.bucket.back().upper_bound));
  EXPECT_EQ(h.bucket[0].upper_bound, to_seconds(bounds[0]));
  auto text = text_of(all);
  EXPECT_NE(text.find("caisson_wait_duration_seconds_bucket{gate=\"g\","
                      "result=\"failed\",le=\"+Inf\"} 5"),
            std::string::npos);
  EXPECT_EQ(text.find("le=\"+Inf\"} 5"), text.rfind("le=\"+Inf\"} 5"));
  EXPECT_NE(text.find("le=\"0.001048575\""), std::string::npos) << text;
  // What never happened is there, too, if that is wanted.
  auto with_empty = detail::families_of({gate_of("g")},
                                        {.empty_histograms = true});
  for (auto name :
       {"caisson_call_duration_seconds", "caisson_attempt_duration_seconds",
        "caisson_wait_duration_seconds"}) {
    EXPECT_EQ(find(all, name, {{"result", "ok"}}), nullptr);
    auto* none = find(with_empty, name, {{"result", "ok"}});
    ASSERT_NE(none, nullptr);
    EXPECT_EQ(none->histogram.sample_count, 0u);
    EXPECT_EQ(none->histogram.bucket.size(), bounds.size() + 1);
  }
}

TEST(tallies, are_histograms_in_base_units) {
  gate_snapshot s;
  s.tallies.push_back({.what = tallied::attempts,
                       .ok = true,
                       .count = 6,
                       .sum = 60,
                       .counts = {1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 2, 1}});
  s.tallies.push_back({.what = tallied::limit_used,
                       .ok = false,
                       .count = 3,
                       .sum = 1250,
                       .counts = {2, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0}});
  auto all = detail::families_of({gate_of("g", s)}, {});
  auto& attempts = find(all, "caisson_call_attempts",
                        {{"gate", "g"}, {"result", "ok"}})
                     ->histogram;
  EXPECT_EQ(attempts.sample_count, 6u);
  EXPECT_EQ(attempts.sample_sum, 60);
  ASSERT_EQ(attempts.bucket.size(), 12u);
  EXPECT_EQ(attempts.bucket[0].upper_bound, 0);
  EXPECT_EQ(attempts.bucket[0].cumulative_count, 1u);
  EXPECT_EQ(attempts.bucket[1].upper_bound, 1);
  EXPECT_EQ(attempts.bucket[1].cumulative_count, 3u);
  EXPECT_EQ(attempts.bucket[10].upper_bound, 32);
  EXPECT_EQ(attempts.bucket[10].cumulative_count, 5u);
  EXPECT_TRUE(std::isinf(attempts.bucket[11].upper_bound));
  EXPECT_EQ(attempts.bucket[11].cumulative_count, 6u);
  auto& used = find(all, "caisson_call_limit_used_ratio",
                    {{"gate", "g"}, {"result", "failed"}})
                 ->histogram;
  EXPECT_EQ(used.sample_count, 3u);
  EXPECT_NEAR(used.sample_sum, 1.25, 1e-12);
  EXPECT_NEAR(used.bucket[0].upper_bound, 0.1, 1e-12);
  EXPECT_EQ(used.bucket[0].cumulative_count, 2u);
  EXPECT_NEAR(used.bucket[9].upper_bound, 1, 1e-12);
  EXPECT_EQ(used.bucket[9].cumulative_count, 3u);
  // What never happened is there only if it is wanted.
  for (auto with_empty : {true, false}) {
    auto some = detail::families_of({gate_of("g", s)},
                                    {.empty_histograms = with_empty});
    for (const auto* name :
         {"caisson_call_attempts", "caisson_call_limit_used_ratio"}) {
      auto n = 0;
      for (const auto* result : {"ok", "failed"})
        n += find(some, name, {{"result", result}}) != nullptr ? 1 : 0;
      EXPECT_EQ(n, with_empty ? 2 : 1) << name;
    }
  }
}

TEST(families, leave_out_what_has_never_happened_if_that_is_wanted) {
  gate_snapshot s = with_durations({1s});
  s.metrics = {{"calls", 7}, {"succeeded", 6}, {"answers_shed", 4}};
  s.durations.push_back({.what = measured::calls, .ok = true});
  s.layers = {breaker_layer()};
  s.layers[0].numbers.push_back({"refused", 0, false});
  auto all = detail::families_of({gate_of("g", s)}, {.zero_counters = false});
  for (const auto& family : all)
    for (const auto& x : family.metric)
      switch (family.type) {
        case prometheus::MetricType::Counter:
          EXPECT_GT(x.counter.value, 0) << family.name;
          break;
        case prometheus::MetricType::Histogram:
          EXPECT_GT(x.histogram.sample_count, 0u) << family.name;
          break;
        default:
          break;
      }
  EXPECT_EQ(counter(all, "caisson_calls_total"), 7);
  EXPECT_EQ(counter(all, "caisson_answers_total", {{"class", "shed"}}), 4);
  EXPECT_NE(find(all, "caisson_wait_duration_seconds", {}), nullptr);
  EXPECT_EQ(find(all, "caisson_call_duration_seconds", {}), nullptr);
  // What is no count stays: zero is one of its values.
  EXPECT_EQ(gauge(all, "caisson_calls_in_progress"), 0);
  EXPECT_EQ(gauge(all, "caisson_gate_state", {{"state", "draining"}}), 0);
  // By default an operator need not know which counters have begun.
  EXPECT_EQ(counter(detail::families_of({gate_of("g", s)}, {}),
                    "caisson_answers_total", {{"class", "conflict"}}),
            0);
}

RC_GTEST_PROP(durations_property, are_counted_exactly_at_each_bound, ()) {
  std::vector<duration> ds;
  for (auto x :
       *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 13'000)))
    ds.push_back(duration{static_cast<std::int64_t>(std::pow(10, x / 1000.0))});
  // At the bounds and next to them.
  for (auto b : detail::duration_bounds())
    for (auto d : {b - 1ns, b, b + 1ns})
      if (*rc::gen::arbitrary<bool>())
        ds.push_back(d);
  auto all = detail::families_of({gate_of("g", with_durations(ds))}, {});
  auto& h = find(all, "caisson_wait_duration_seconds", {{"result", "failed"}})
              ->histogram;
  RC_ASSERT(h.sample_count == ds.size());
  auto bounds = detail::duration_bounds();
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    auto exact = std::count_if(ds.begin(), ds.end(),
                               [&](duration d) { return d <= bounds[i]; });
    RC_ASSERT(h.bucket[i].cumulative_count
              == static_cast<std::uint64_t>(exact));
  }
}

} // namespace
} // namespace caisson::test
