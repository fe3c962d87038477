// Collectors that are down, slow, or come late.
#include <observe/otlp/collector.hpp>

#include <future>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

class otlp_away_test : public otlp_test {
protected:
  otlp_config to_nobody() {
    auto c = quick(dead_port());
    c.max_spans = 4;
    c.max_waiting = 8;
    return c;
  }
};

TEST_F(otlp_away_test, a_collector_that_is_down_costs_what_waits) {
  otlp_exporter otlp{*sys, to_nobody()};
  auto payments = gate("payments");
  otlp.follow(payments);
  end_calls(otlp, 1, 20);
  ASSERT_TRUE(eventually([&] { return otlp.counts().spans_dropped == 12; }));
  // Nobody notices.
  std::int32_t answer = 0;
  portable::ask_blocking(*self, payments, 10s,
                         wrap(std::int32_t{21}).traceparent(traceparent()))
    .receive([&](std::int32_t x) { answer = x; }, [](const caf::error&) {});
  EXPECT_EQ(answer, 42);
  ASSERT_TRUE(eventually([&] { return otlp.counts().spans_dropped == 14; }));
  EXPECT_EQ(otlp.counts().spans_failed, 0u);
  EXPECT_FALSE(otlp.shutdown(30ms));
  EXPECT_FALSE(otlp.shutdown(30ms));
  auto counts = otlp.counts();
  EXPECT_EQ(counts.spans_failed, 8u);
  EXPECT_EQ(counts.spans_exported, 0u);
  EXPECT_EQ(counts.events_dropped, 0u);
  EXPECT_NE(counts.last_problem.find("could not connect"), std::string::npos)
    << counts.last_problem;
}

TEST_F(otlp_away_test, spans_are_given_up_in_time_and_make_room) {
  auto c = to_nobody();
  c.timeout = 50ms;
  otlp_exporter otlp{*sys, c};
  end_calls(otlp, 1, 8);
  ASSERT_TRUE(eventually([&] { return otlp.counts().spans_failed == 8; }));
  end_calls(otlp, 9, 12);
  ASSERT_TRUE(eventually([&] { return otlp.counts().spans_failed == 12; }));
  EXPECT_EQ(otlp.counts().spans_dropped, 0u);
  EXPECT_TRUE(otlp.shutdown(5s));
}

TEST_F(otlp_away_test, a_slow_collector_holds_nobody_up) {
  std::promise<void> go;
  auto may_go = go.get_future().share();
  collector to{[&](const std::string&, std::size_t, httplib::Response&) {
    may_go.wait();
  }};
  auto c = quick(to.port());
  c.max_spans = 1;
  c.max_waiting = 6;
  c.metrics_interval = 10ms;
  c.metrics.publish_every = 10ms;
  otlp_exporter otlp{*sys, c};
  end_calls(otlp, 1, 7);
  ASSERT_TRUE(eventually([&] {
    return otlp.counts().spans_dropped == 1
           && otlp.counts().metrics_skipped > 1;
  }));
  // As many requests as there may be, and no more.
  EXPECT_LE(to.all("/v1/traces").size(), 4u);
  EXPECT_EQ(to.all("/v1/metrics").size(), 1u);
  EXPECT_EQ(otlp.counts().spans_exported, 0u);
  go.set_value();
  ASSERT_TRUE(eventually([&] { return otlp.counts().spans_exported == 6; }));
  EXPECT_TRUE(otlp.shutdown(5s));
}

TEST_F(otlp_away_test, the_end_waits_for_a_collector_only_so_long) {
  std::promise<void> go;
  auto may_go = go.get_future().share();
  collector to{[&](const std::string&, std::size_t, httplib::Response&) {
    may_go.wait();
  }};
  auto c = quick(to.port());
  c.shutdown_time = 50ms;
  auto begin = std::chrono::steady_clock::now();
  {
    otlp_exporter otlp{*sys, c};
    end_calls(otlp, 1, 3);
    ASSERT_TRUE(eventually([&] { return to.all("/v1/traces").size() == 1; }));
  }
  auto took = std::chrono::steady_clock::now() - begin;
  EXPECT_GE(took, 50ms);
  EXPECT_LT(took, 5s);
  go.set_value();
}

TEST_F(otlp_away_test, the_last_metrics_wait_for_those_before) {
  std::promise<void> go;
  auto may_go = go.get_future().share();
  collector to{[&](const std::string&, std::size_t, httplib::Response&) {
    may_go.wait();
  }};
  auto c = quick(to.port());
  c.metrics_interval = 10ms;
  otlp_exporter otlp{*sys, c};
  ASSERT_TRUE(eventually([&] { return to.all("/v1/metrics").size() == 1; }));
  auto end = std::async(std::launch::async, [&] { return otlp.shutdown(10s); });
  EXPECT_EQ(end.wait_for(20ms), std::future_status::timeout);
  go.set_value();
  EXPECT_TRUE(end.get());
  EXPECT_GE(otlp.counts().metrics_exported, 2u);
}

TEST_F(otlp_away_test, metrics_go_on_when_the_collector_comes_back) {
  collector to{[](const std::string&, std::size_t n, httplib::Response& out) {
    if (n == 0)
      out.status = 400;
  }};
  auto c = quick(to.port());
  c.metrics_interval = 10ms;
  otlp_exporter otlp{*sys, c};
  ASSERT_TRUE(eventually([&] { return otlp.counts().metrics_exported > 1; }));
  EXPECT_EQ(otlp.counts().metrics_failed, 1u);
}

} // namespace
} // namespace caisson::test
