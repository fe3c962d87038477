// Requests of an exporter, and its reactions to a collector's answers.
#include <observe/otlp/collector.hpp>

#include <array>
#include <set>
#include <string>
#include <vector>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

class otlp_exporter_test : public otlp_test {};

const json* span_named(const std::vector<json>& all, const std::string& name,
                       const std::string& outcome) {
  for (const auto& x : all)
    if (x.at("name") == name && attribute_in(x, "caisson.outcome") == outcome)
      return &x;
  return nullptr;
}

TEST_F(otlp_exporter_test, sends_the_spans_of_nested_gates) {
  collector to;
  otlp_exporter otlp{*sys, quick(to.port())};
  auto payments = gate("payments");
  auto shop = spawn_gate(*sys, payments, stack{"shop"});
  otlp.follow(payments);
  otlp.follow(shop);
  call_traced(shop, -1);
  ASSERT_TRUE(eventually([&] { return to.spans().size() == 4; }));
  EXPECT_TRUE(otlp.shutdown(5s));
  EXPECT_EQ(otlp.counts().spans_exported, 4u);
  EXPECT_EQ(otlp.counts().spans_failed, 0u);
  EXPECT_EQ(otlp.counts().last_problem, "");
  to.expect_valid();

  auto all = to.spans();
  std::string parent = "00f067aa0ba902b7";
  for (const auto* name :
       {"shop", "shop to worker", "payments", "payments to worker"}) {
    const auto* x = span_named(all, name, "error");
    ASSERT_NE(x, nullptr) << name;
    EXPECT_EQ(x->at("traceId"), trace);
    EXPECT_EQ(x->at("parentSpanId"), parent) << name;
    parent = x->at("spanId");
    auto is_attempt = std::string{name}.ends_with("worker");
    EXPECT_EQ(x->at("kind"), is_attempt ? 3 : 1);
    EXPECT_EQ(x->at("status").at("code"), 2);
    EXPECT_EQ(attribute_in(*x, "error.type"), "error");
    EXPECT_EQ(attribute_in(*x, "caisson.target"), is_attempt ? "worker" : "");
  }
}

TEST_F(otlp_exporter_test, sends_the_state_of_a_trace_and_no_baggage) {
  collector to;
  otlp_exporter otlp{*sys, quick(to.port())};
  auto payments = gate("payments");
  otlp.follow(payments);
  portable::ask_blocking(*self, payments, 10s,
                         wrap(std::int32_t{1})
                           .traceparent(traceparent())
                           .tracestate("rojo=1, congo=\"2\"")
                           .baggage("user=secret"))
    .receive([](std::int32_t) {}, [](const caf::error&) {});
  ASSERT_TRUE(eventually([&] { return to.spans().size() == 2; }));
  for (const auto& x : to.spans())
    EXPECT_EQ(x.at("traceState"), "rojo=1,congo=\"2\"");
  // An event may be anybody's.
  auto x = ended(7);
  x.tracestate = "a=1\r\n";
  otlp.listener()(x);
  EXPECT_TRUE(otlp.shutdown(5s));
  EXPECT_FALSE(to.spans().back().contains("traceState"));
  for (const auto& r : to.all("/v1/traces"))
    EXPECT_EQ(r.body.find("secret"), std::string::npos);
  to.expect_valid();
}

TEST_F(otlp_exporter_test, names_the_program_and_leaves_successes_unset) {
  collector to;
  auto c = quick(to.port());
  c.resource = {"deployment.environment.name=test"};
  c.headers = {"x-tenant = blue", "User-Agent=mine"};
  otlp_exporter otlp{*sys, c};
  end_calls(otlp, 1, 1);
  EXPECT_TRUE(otlp.shutdown(5s));
  auto all = to.all("/v1/traces");
  ASSERT_EQ(all.size(), 1u);
  auto header = [&](const char* name) {
    auto i = all[0].headers.find(name);
    return i == all[0].headers.end() ? "" : i->second;
  };
  EXPECT_EQ(header("Content-Type"), "application/json");
  EXPECT_EQ(header("X-Tenant"), "blue");
  EXPECT_EQ(header("User-Agent"), "mine");
  auto body = json::parse(all[0].body)["resourceSpans"][0];
  EXPECT_EQ(attribute_in(body["resource"], "service.name"), "shop");
  EXPECT_EQ(attribute_in(body["resource"], "deployment.environment.name"),
            "test");
  EXPECT_EQ(attribute_in(body["resource"], "service.instance.id").size(), 36u);
  EXPECT_EQ(body["scopeSpans"][0]["scope"]["name"], "caisson");
  EXPECT_FALSE(to.spans()[0].contains("status"));
  auto begun = std::stoull(
    to.spans()[0].at("startTimeUnixNano").get<std::string>());
  auto over = std::stoull(
    to.spans()[0].at("endTimeUnixNano").get<std::string>());
  EXPECT_EQ(over - begun, 1'000'000u);
}

TEST_F(otlp_exporter_test, sends_only_what_is_sampled) {
  collector to;
  otlp_exporter otlp{*sys, quick(to.port())};
  auto payments = gate("payments");
  otlp.follow(payments);
  call_traced(payments, 1, false);
  portable::ask_blocking(*self, payments, 10s, std::int32_t{1})
    .receive([](std::int32_t) {}, [](const caf::error&) {});
  EXPECT_TRUE(otlp.shutdown(5s));
  EXPECT_TRUE(to.all("/v1/traces").empty());
  EXPECT_TRUE(to.all("/v1/metrics").empty());
}

TEST_F(otlp_exporter_test, joins_spans_and_sends_the_rest_at_the_end) {
  collector to;
  auto c = quick(to.port());
  c.max_spans = 4;
  c.max_delay = 1h;
  otlp_exporter otlp{*sys, c};
  end_calls(otlp, 1, 11);
  ASSERT_TRUE(eventually([&] { return to.all("/v1/traces").size() == 2; }));
  EXPECT_TRUE(otlp.shutdown(5s));
  std::multiset<std::size_t> sizes;
  for (const auto& x : to.all("/v1/traces"))
    sizes.insert(collector::spans_in(x).size());
  EXPECT_EQ(sizes, (std::multiset<std::size_t>{3, 4, 4}));
  EXPECT_EQ(otlp.counts().spans_exported, 11u);
  to.expect_valid();
  // It is over.
  end_calls(otlp, 12, 12);
  EXPECT_TRUE(otlp.shutdown(5s));
  EXPECT_EQ(to.spans().size(), 11u);
}

TEST_F(otlp_exporter_test, repeats_what_the_collector_cannot_take_for_now) {
  constexpr std::array statuses{429, 502, 503, 504, 200};
  collector to{[&](const std::string&, std::size_t n, httplib::Response& out) {
    out.status = statuses.at(n);
  }};
  otlp_exporter otlp{*sys, quick(to.port())};
  end_calls(otlp, 1, 1);
  ASSERT_TRUE(eventually([&] { return otlp.counts().spans_exported == 1; }));
  auto all = to.all("/v1/traces");
  ASSERT_EQ(all.size(), statuses.size());
  for (const auto& x : all)
    EXPECT_EQ(x.body, all[0].body);
  EXPECT_EQ(otlp.counts().last_problem, "the collector answered 504");
}

TEST_F(otlp_exporter_test, comes_back_when_the_collector_says) {
  collector to{[](const std::string&, std::size_t n, httplib::Response& out) {
    if (n > 0)
      return;
    out.status = 429;
    out.set_header("Retry-After", "1");
  }};
  otlp_exporter otlp{*sys, quick(to.port())};
  end_calls(otlp, 1, 1);
  ASSERT_TRUE(eventually([&] { return otlp.counts().spans_exported == 1; }));
  auto all = to.all("/v1/traces");
  ASSERT_EQ(all.size(), 2u);
  EXPECT_GE(all[1].at - all[0].at, 950ms);
}

TEST_F(otlp_exporter_test, repeats_nothing_that_would_fail_again) {
  for (auto status : {400, 401, 413, 500, 302}) {
    collector to{[&](const std::string&, std::size_t, httplib::Response& out) {
      out.status = status;
      out.set_content(R"({"code":3,"message":"no such tenant"})",
                      "application/json");
    }};
    // All at the end, so that they are one request.
    auto c = quick(to.port());
    c.max_delay = 1min;
    otlp_exporter otlp{*sys, c};
    end_calls(otlp, 1, 3);
    EXPECT_TRUE(otlp.shutdown(5s));
    EXPECT_EQ(to.all("/v1/traces").size(), 1u) << status;
    auto counts = otlp.counts();
    EXPECT_EQ(counts.spans_failed, 3u) << status;
    EXPECT_EQ(counts.spans_exported, 0u) << status;
    EXPECT_EQ(counts.last_problem,
              fmt::format("the collector answered {}: no such tenant", status));
  }
}

TEST_F(otlp_exporter_test, counts_what_the_collector_rejects) {
  collector to{
    [](const std::string& path, std::size_t, httplib::Response& out) {
      out.set_content(path == "/v1/traces"
                        ? R"({"partialSuccess":{"rejectedSpans":"2",)"
                          R"("errorMessage":"too old"}})"
                        : R"({"partialSuccess":{"rejectedDataPoints":7}})",
                      "application/json");
    }};
  auto c = quick(to.port());
  c.metrics_interval = 1h;
  otlp_exporter otlp{*sys, c};
  end_calls(otlp, 1, 3);
  EXPECT_TRUE(otlp.shutdown(5s));
  auto counts = otlp.counts();
  EXPECT_EQ(counts.spans_exported, 1u);
  EXPECT_EQ(counts.spans_rejected, 2u);
  EXPECT_EQ(counts.spans_failed, 0u);
  EXPECT_EQ(counts.points_rejected, 7u);
  EXPECT_EQ(counts.metrics_exported, 1u);
  EXPECT_EQ(counts.last_problem, "the collector reports: too old");
}

TEST_F(otlp_exporter_test, takes_any_success_for_one) {
  const std::string bodies[] = {
    "",
    "\xff\xfe",
    "[",
    std::string(100'000, '['),
    R"({"partialSuccess":5})",
    R"({"partialSuccess":{"rejectedSpans":-1}})",
    R"({"partialSuccess":{"rejectedSpans":"x1","errorMessage":[]}})"};
  for (const auto& body : bodies) {
    collector to{[&](const std::string&, std::size_t, httplib::Response& out) {
      out.set_content(body, "application/x-protobuf");
    }};
    otlp_exporter otlp{*sys, quick(to.port())};
    end_calls(otlp, 1, 1);
    EXPECT_TRUE(otlp.shutdown(5s));
    EXPECT_EQ(otlp.counts().spans_exported, 1u) << body.substr(0, 40);
    EXPECT_EQ(otlp.counts().spans_rejected, 0u) << body.substr(0, 40);
  }
}

TEST_F(otlp_exporter_test, keeps_values_of_headers_to_itself) {
  collector to{[](const std::string&, std::size_t, httplib::Response& out) {
    out.status = 401;
    out.set_content(R"({"message":"Bearer s3cr3t-token, or s3cr3t-token"})",
                    "application/json");
  }};
  auto c = quick(to.port());
  c.headers = {"authorization=Bearer s3cr3t-token"};
  otlp_exporter otlp{*sys, c};
  end_calls(otlp, 1, 1);
  EXPECT_TRUE(otlp.shutdown(5s));
  EXPECT_EQ(to.all("/v1/traces").at(0).headers.find("Authorization")->second,
            "Bearer s3cr3t-token");
  EXPECT_EQ(otlp.counts().last_problem,
            "the collector answered 401: ***, or ***");
}

TEST_F(otlp_exporter_test, sends_valid_texts_whatever_the_names_are) {
  collector to;
  otlp_exporter otlp{*sys, quick(to.port())};
  auto take = otlp.listener();
  auto x = ended(1);
  x.gate = "a\xff\"\n\\\x01 \xed\xa0\x80" + std::string(5'000, 'x');
  x.to = "\xc0";
  take(x);
  // Whoever says this is no gate.
  auto y = ended(2);
  y.span_id = "\"},{";
  take(y);
  y = ended(3);
  y.trace_id = std::string(32, 'G');
  take(y);
  EXPECT_TRUE(otlp.shutdown(5s));
  to.expect_valid();
  auto all = to.spans();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(attribute_in(all[0], "caisson.outcome"), "\xef\xbf\xbd");
  EXPECT_LE(all[0].at("name").get<std::string>().size(), 1'024u);
}

TEST_F(otlp_exporter_test, goes_on_when_gates_and_workers_end) {
  collector to;
  otlp_exporter otlp{*sys, quick(to.port())};
  auto first = gate("first");
  auto second = gate("second");
  otlp.follow(first);
  otlp.follow(second);
  call_traced(first, 13); // Its worker throws.
  ASSERT_TRUE(eventually([&] { return to.spans().size() == 2; }));
  stop_gate(first);
  call_traced(second, 1);
  ASSERT_TRUE(eventually([&] { return to.spans().size() == 4; }));
  otlp.follow(first);
  EXPECT_TRUE(otlp.shutdown(5s));
  EXPECT_NE(span_named(to.spans(), "second", "ok"), nullptr);
  to.expect_valid();
}

TEST_F(otlp_exporter_test, is_not_alone) {
  collector to;
  otlp_exporter one{*sys, quick(to.port())};
  otlp_exporter two{*sys, quick(to.port())};
  auto payments = gate("payments");
  one.follow(payments);
  two.follow(payments);
  call_traced(payments, 1);
  ASSERT_TRUE(eventually([&] { return to.spans().size() == 4; }));
  EXPECT_TRUE(one.shutdown(5s));
  EXPECT_TRUE(two.shutdown(5s));
  std::set<std::string> programs;
  for (const auto& x : to.all("/v1/traces"))
    programs.insert(
      attribute_in(json::parse(x.body)["resourceSpans"][0]["resource"],
                   "service.instance.id"));
  EXPECT_EQ(programs.size(), 2u);
  EXPECT_EQ(one.counts().spans_exported, 2u);
  EXPECT_EQ(two.counts().spans_exported, 2u);
}

} // namespace
} // namespace caisson::test
