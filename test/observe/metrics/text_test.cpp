// Snapshots as the text of a scrape.
#include <caisson/observe/metrics/detail/text.hpp>

#include <caisson/observe/metrics/detail/families.hpp>

#include <gtest/gtest.h>
#include <prometheus/text_serializer.h>

#include <rapidcheck/gtest.h>

#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

std::vector<watched_gate> one_gate(gate_snapshot s) {
  return {{"pay", 1, std::make_shared<const gate_snapshot>(std::move(s))}};
}

bool has_line(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

TEST(metrics_text, has_a_line_for_each_series) {
  gate_snapshot s;
  s.metrics = {{"calls", 7}};
  s.layers = {
    {.name = "a \"b\"\\\n",
     .kind = "breaker",
     .state = "open",
     .numbers = {{"failure_rate_permille", 333, true}, {"opened", 12, false}}}};
  duration_snapshot d{.what = measured::calls, .ok = true};
  for (auto x : {1ms, 1ms, 90'000ms})
    d.counts.record(x);
  s.durations = {d};
  auto text = detail::text_of(one_gate(s), {});
  EXPECT_TRUE(text.starts_with("# HELP caisson_gates Gates that there are "
                               "metrics of.\n"
                               "# TYPE caisson_gates gauge\n"
                               "caisson_gates 1\n"))
    << text.substr(0, 200);
  const std::string layer = R"(gate="pay",layer="a \"b\"\\\n",kind="breaker")";
  const std::string calls = "caisson_call_duration_seconds";
  const std::string ok = R"(gate="pay",result="ok")";
  for (const auto& line :
       {std::string{R"(caisson_calls_total{gate="pay"} 7)"},
        std::string{"# TYPE caisson_calls_total counter"},
        R"(caisson_layer_state{)" + layer + R"(,state="open"} 1)",
        R"(caisson_layer_state{)" + layer + R"(,state="closed"} 0)",
        R"(caisson_layer_failure_rate_ratio{)" + layer + "} 0.333",
        R"(caisson_layer_decisions_total{)" + layer
          + R"(,decision="opened"} 12)",
        "# TYPE " + calls + " histogram", calls + "_count{" + ok + "} 3",
        calls + "_sum{" + ok + "} 90.002",
        calls + "_bucket{" + ok + R"(,le="+Inf"} 3)"})
    EXPECT_TRUE(has_line(text, line)) << line << "\n\n" << text;
  EXPECT_EQ(text.back(), '\n');
}

rc::Gen<std::string> any_text() {
  return rc::gen::container<std::string>(rc::gen::element(
    'a', 'b', '_', '"', '\\', '\n', '{', '}', ',', ' ', '\xff', '\0'));
}

rc::Gen<std::int64_t> any_number() {
  return rc::gen::oneOf(
    rc::gen::inRange<std::int64_t>(-3, 1'000),
    rc::gen::arbitrary<std::int64_t>(),
    rc::gen::element<std::int64_t>(999'999'999'999'999, 1'000'000'000'000'000,
                                   10'000'000'000'000'001,
                                   std::numeric_limits<std::int64_t>::max(),
                                   std::numeric_limits<std::int64_t>::min()));
}

layer_snapshot any_layer() {
  layer_snapshot out;
  out.name = *any_text();
  out.kind = *rc::gen::element<std::string>("breaker", "degradation", "x\n");
  out.state = *rc::gen::element<std::string>("", "open", "a\"b");
  for (auto i = *rc::gen::inRange(0, 4); i > 0; --i)
    out.numbers.push_back(
      {*rc::gen::element<std::string>("opened", "delay_us", "rate_permille",
                                      "level_a", "bytes", "a_us"),
       *any_number(), *rc::gen::arbitrary<bool>()});
  for (auto i = *rc::gen::inRange(0, 3); i > 0; --i)
    out.keys.push_back({*any_text(), out.state, *any_number()});
  return out;
}

gate_snapshot any_snapshot() {
  gate_snapshot out;
  for (const auto* key : {"calls", "in_progress", "answers_shed", "succeeded"})
    if (*rc::gen::arbitrary<bool>())
      out.metrics[key] = *any_number();
  out.errors[2] = *rc::gen::inRange(0, 3);
  for (auto i = *rc::gen::inRange(0, 3); i > 0; --i)
    out.layers.push_back(any_layer());
  duration_snapshot d{.what = measured::waits, .ok = false};
  for (auto i = *rc::gen::inRange(0, 5); i > 0; --i)
    d.counts.record(
      duration{*rc::gen::inRange<std::int64_t>(0, 50'000'000'000)});
  out.durations.push_back(d);
  if (*rc::gen::arbitrary<bool>())
    out.tallies.push_back({.what = tallied::limit_used,
                           .ok = true,
                           .count = 3,
                           .sum = *rc::gen::inRange<std::uint64_t>(0, 3'000),
                           .counts = {2, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0}});
  return out;
}

// The serializer of prometheus-cpp is the model.
RC_GTEST_PROP(metrics_text_property, is_what_prometheus_cpp_writes, ()) {
  std::vector<watched_gate> gates;
  for (auto i = *rc::gen::inRange(0, 4); i > 0; --i)
    gates.push_back({*any_text(), *rc::gen::inRange(1u, 4u),
                     std::make_shared<const gate_snapshot>(any_snapshot())});
  metrics_config c{.max_gates = 3,
                   .zero_counters = *rc::gen::arbitrary<bool>(),
                   .empty_histograms = *rc::gen::arbitrary<bool>()};
  RC_ASSERT(
    detail::text_of(gates, c)
    == prometheus::TextSerializer{}.Serialize(detail::families_of(gates, c)));
}

} // namespace
} // namespace caisson::test
