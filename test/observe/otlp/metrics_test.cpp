// Metrics of gates as OTLP has them.
#include <caisson/observe/otlp/detail/metric_requests.hpp>

#include <observe/otlp/collector.hpp>

#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

using detail::gate_starts;
using detail::otlp_metrics;

watched_gate gate_with(std::string name, std::int64_t calls,
                       std::uint32_t number = 1) {
  gate_snapshot s;
  s.metrics = {{"calls", calls}, {"in_progress", 2}};
  duration_snapshot d;
  for (auto x : {20us, 300us, 300us, 2'000us})
    d.counts.record(x);
  d.counts.record(100s);
  s.durations = {d};
  s.layers = {{.name = "limit",
               .kind = "deadline",
               .numbers = {{"limit_us", 2'500'000, true}, {"expired", 3}}}};
  return {std::move(name), number,
          std::make_shared<const gate_snapshot>(std::move(s))};
}

// The metric of that name in what is sent; null if it is not there.
json metric_in(const std::vector<std::vector<std::string>>& requests,
               const std::string& name) {
  for (const auto& request : requests)
    for (const auto& text : request)
      if (auto x = json::parse(text); x.at("name") == name)
        return x;
  return {};
}

std::uint64_t start_of(const json& metric) {
  return std::stoull(metric.at("sum")
                       .at("dataPoints")
                       .at(0)
                       .at("startTimeUnixNano")
                       .get<std::string>());
}

TEST(otlp_metrics_test, have_sums_gauges_and_histograms) {
  gate_starts starts{1'000};
  auto all = otlp_metrics({gate_with("g", 7)}, {}, starts, 5'000);
  ASSERT_EQ(all.size(), 1u);

  auto calls = metric_in(all, "caisson.calls");
  EXPECT_EQ(calls.at("sum").at("aggregationTemporality"), 2);
  EXPECT_EQ(calls.at("sum").at("isMonotonic"), true);
  auto point = calls.at("sum").at("dataPoints").at(0);
  EXPECT_EQ(point.at("asInt"), "7");
  EXPECT_EQ(point.at("startTimeUnixNano"), "1000");
  EXPECT_EQ(point.at("timeUnixNano"), "5000");
  EXPECT_EQ(attribute_in(point, "gate"), "g");

  auto held = metric_in(all, "caisson.calls_in_progress");
  EXPECT_EQ(held.at("gauge").at("dataPoints").at(0).at("asDouble"), 2);
  auto limit = metric_in(all, "caisson.layer.limit_seconds");
  EXPECT_EQ(limit.at("unit"), "s");
  point = limit.at("gauge").at("dataPoints").at(0);
  EXPECT_EQ(point.at("asDouble"), 2.5);
  EXPECT_EQ(attribute_in(point, "layer"), "limit");
  EXPECT_EQ(attribute_in(point, "kind"), "deadline");

  auto took = metric_in(all, "caisson.call.duration");
  EXPECT_EQ(took.at("unit"), "s");
  point = took.at("histogram").at("dataPoints").at(0);
  EXPECT_EQ(attribute_in(point, "result"), "ok");
  EXPECT_EQ(point.at("count"), "5");
  EXPECT_NEAR(point.at("sum").get<double>(), 100.00262, 1e-6);
  const auto& bounds = point.at("explicitBounds");
  const auto& counts = point.at("bucketCounts");
  ASSERT_EQ(counts.size(), bounds.size() + 1);
  std::map<double, int> found;
  for (std::size_t i = 0; i < counts.size(); ++i)
    if (auto n = std::stoi(counts[i].get<std::string>()); n > 0)
      found[i < bounds.size() ? bounds[i].get<double>()
                              : std::numeric_limits<double>::infinity()]
        = n;
  EXPECT_EQ(found.size(), 4u);
  EXPECT_EQ(found.rbegin()->second, 1);
  EXPECT_EQ(std::next(found.begin())->second, 2);
}

TEST(otlp_metrics_test, have_each_example_of_a_bucket_once) {
  gate_starts starts{1'000};
  auto examples = [&](std::vector<duration_exemplar> all, time_point taken) {
    auto g = gate_with("g", 7);
    auto s = *g.last;
    s.taken = taken;
    s.durations[0].exemplars = std::move(all);
    g.last = std::make_shared<const gate_snapshot>(std::move(s));
    auto sent = metric_in(
      otlp_metrics({g}, {}, starts, 5'000, detail::enough_metrics, 1'000s),
      "caisson.call.duration");
    return sent.at("histogram").at("dataPoints").at(0);
  };
  auto at = [](duration d) { return time_point{d}; };
  duration_exemplar a{0x4bf92f3577b34da6, 0xa3ce929d0e0e4736, 0xf067aa0ba902b7,
                      at(3s), 20us};
  duration_exemplar b{1, 2, 3, at(5s), 2s};
  auto first = examples({a}, at(4s)).at("exemplars");
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0].at("traceId"), "4bf92f3577b34da6a3ce929d0e0e4736");
  EXPECT_EQ(first[0].at("spanId"), "00f067aa0ba902b7");
  EXPECT_EQ(first[0].at("timeUnixNano"), "1003000000000");
  EXPECT_DOUBLE_EQ(first[0].at("asDouble").get<double>(), 20e-6);
  auto second = examples({a, b}, at(6s)).at("exemplars");
  ASSERT_EQ(second.size(), 1u);
  EXPECT_EQ(second[0].at("spanId"), "0000000000000003");
  EXPECT_FALSE(examples({a, b}, at(6s)).contains("exemplars"));
  EXPECT_FALSE(examples({}, at(7s)).contains("exemplars"));
}

TEST(otlp_metrics_test, are_called_so_that_prometheus_has_its_own_names_again) {
  using detail::metric_type;
  using detail::otlp_name_of;
  auto name = [](const char* x, metric_type t) {
    auto out = otlp_name_of(x, t);
    return out.name + "|" + std::string{out.unit};
  };
  EXPECT_EQ(name("caisson_calls_total", metric_type::counter),
            "caisson.calls|");
  EXPECT_EQ(name("caisson_worker_restarts_total", metric_type::counter),
            "caisson.worker.restarts|");
  EXPECT_EQ(name("caisson_call_duration_seconds", metric_type::histogram),
            "caisson.call.duration|s");
  EXPECT_EQ(name("caisson_call_limit_used_ratio", metric_type::histogram),
            "caisson.call.limit_used_ratio|1");
  EXPECT_EQ(name("caisson_layer_failure_rate_ratio", metric_type::gauge),
            "caisson.layer.failure_rate_ratio|1");
  EXPECT_EQ(name("caisson_layer_limit", metric_type::gauge),
            "caisson.layer.limit|");
  EXPECT_EQ(name("caisson_layer_limit_seconds", metric_type::gauge),
            "caisson.layer.limit_seconds|s");
  EXPECT_EQ(name("caisson_gates", metric_type::gauge), "caisson.gates|");
}

TEST(otlp_metrics_test, count_from_when_their_gate_was_not_there) {
  gate_starts starts{100};
  auto at = [&](std::vector<watched_gate> gates, std::uint64_t now) {
    return metric_in(otlp_metrics(gates, {}, starts, now), "caisson.calls");
  };
  EXPECT_EQ(start_of(at({gate_with("g", 7)}, 200)), 100u);
  EXPECT_EQ(start_of(at({gate_with("g", 8)}, 300)), 100u);
  // One by that name has begun since.
  EXPECT_EQ(start_of(at({gate_with("g", 3)}, 400)), 300u);
  // It was gone for a while.
  (void)at({}, 500);
  EXPECT_EQ(start_of(at({gate_with("g", 9)}, 600)), 500u);
  // Others by that name are others.
  auto both = at({gate_with("g", 9), gate_with("g", 1, 2)}, 700);
  auto second = both.at("sum").at("dataPoints").at(1);
  EXPECT_EQ(attribute_in(second, "replica"), "2");
  EXPECT_EQ(second.at("startTimeUnixNano"), "600");
  EXPECT_EQ(start_of(both), 500u);
  // The calendar is set back.
  EXPECT_EQ(start_of(at({gate_with("g", 10)}, 50)), 50u);
}

TEST(otlp_metrics_test, come_in_several_requests_if_they_are_many) {
  std::vector<watched_gate> gates;
  for (int i = 0; i < 20; ++i)
    gates.push_back(gate_with(fmt::format("g{:02}", i), i));
  gate_starts starts{0};
  auto all = otlp_metrics(gates, {}, starts, 1, 10'000);
  EXPECT_GT(all.size(), 5u);
  std::set<std::string> seen;
  for (const auto& request : all) {
    std::size_t size = 0;
    for (const auto& text : request) {
      size += text.size();
      auto x = json::parse(text);
      if (x.at("name") != "caisson.calls")
        continue;
      for (const auto& p : x.at("sum").at("dataPoints"))
        EXPECT_TRUE(seen.insert(attribute_in(p, "gate")).second);
    }
    EXPECT_LT(size, 40'000u);
  }
  EXPECT_EQ(seen.size(), gates.size());
}

class otlp_metrics_sent : public otlp_test {};

TEST_F(otlp_metrics_sent, are_those_of_all_gates_and_valid) {
  collector to;
  auto c = quick(to.port());
  c.metrics_interval = 150ms;
  c.metrics.publish_every = 10ms;
  otlp_exporter otlp{*sys, c};
  auto payments = spawn_gate(
    *sys, gate("inner"),
    stack{"pay\xffments"}.breaker().semaphore({.permits = 3}).limiter());
  for (auto x : {1, 2, -3})
    call_traced(payments, x);
  // How many calls each gate has had, in the last request.
  auto last = [&] {
    auto out = json::object();
    auto all = to.all("/v1/metrics");
    if (all.empty())
      return out;
    auto body = json::parse(all.back().body);
    for (const auto& m :
         body["resourceMetrics"][0]["scopeMetrics"][0]["metrics"])
      if (m["name"] == "caisson.calls")
        for (const auto& p : m["sum"]["dataPoints"])
          out[attribute_in(p, "gate")] = p["asInt"];
    return out;
  };
  ASSERT_TRUE(eventually([&] {
    auto x = last();
    return x.value("pay\xef\xbf\xbdments", "") == "3"
           && x.value("inner", "") == "3";
  }));
  // Its own gates are among them.
  EXPECT_TRUE(last().contains("otlp"));
  auto before = to.all("/v1/metrics").size();
  EXPECT_TRUE(otlp.shutdown(5s));
  EXPECT_GT(to.all("/v1/metrics").size(), before);
  to.expect_valid();
}

TEST_F(otlp_metrics_sent, have_traced_calls_as_examples) {
  collector to;
  auto c = quick(to.port());
  c.metrics_interval = 50ms;
  c.metrics.publish_every = 10ms;
  otlp_exporter otlp{*sys, c};
  auto payments = gate("payments");
  call_traced(payments, 1, false);
  call_traced(payments, 1);
  call_traced(payments, -1);
  // The ids of traces, by metric and result.
  auto found = [&] {
    std::map<std::string, std::set<std::string>> out;
    for (const auto& x : to.all("/v1/metrics")) {
      auto body = json::parse(x.body);
      for (const auto& m :
           body["resourceMetrics"][0]["scopeMetrics"][0]["metrics"])
        if (m.contains("histogram"))
          for (const auto& p : m["histogram"]["dataPoints"])
            if (p.contains("exemplars"))
              for (const auto& e : p["exemplars"])
                out[m["name"].get<std::string>() + " "
                    + attribute_in(p, "result")]
                  .insert(e["traceId"].get<std::string>());
    }
    return out;
  };
  ASSERT_TRUE(eventually([&] { return found().size() == 5; }));
  for (const auto& [name, ids] : found())
    EXPECT_EQ(ids, std::set<std::string>{trace}) << name;
  EXPECT_TRUE(otlp.shutdown(5s));
  to.expect_valid();
}

} // namespace
} // namespace caisson::test
