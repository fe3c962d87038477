// Loads, servers and names of imported traces.
#include <support/trace_maker.hpp>

#include <simulator/import/cycles.hpp>
#include <simulator/import/importer.hpp>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace caisson::sim {
namespace {

using namespace test;

// -- load and servers ---------------------------------------------------------

TEST(import_of_traces, finds_rates_and_servers) {
  trace_maker t;
  // 11 requests in 1 s, of which up to three at once.
  for (int i = 0; i <= 10; ++i, t.next_trace())
    t.add(0, "web", i % 2 == 0 ? "a" : "b", i * 100, i * 100 + 250);
  auto with = [&](double sampling) {
    auto set = t.set.spans;
    trace_maker copy;
    copy.set.names.number("web");
    copy.set.names.number("a");
    copy.set.names.number("b");
    copy.set.spans = set;
    return copy.make({.sampling = sampling});
  };
  auto arm = arm_of(with(1));
  EXPECT_DOUBLE_EQ(arm.loads.at(0).rate, 10);
  EXPECT_EQ(arm.loads.at(0).mix, (std::vector<std::pair<std::string, double>>{
                                   {"web.a", 6}, {"web.b", 5}}));
  EXPECT_EQ(service(arm, "web").servers, 3u);
  // 1000 per second of 250 ms each: 250 inside on average, and 63 more.
  arm = arm_of(with(0.01));
  EXPECT_DOUBLE_EQ(arm.loads.at(0).rate, 1000);
  EXPECT_EQ(service(arm, "web").servers, 314u);
}

TEST(import_of_traces, guesses_the_rate_of_one_request) {
  trace_maker t;
  t.add(0, "web", "web", 0, 500);
  auto r = t.make();
  EXPECT_DOUBLE_EQ(arm_of(r).loads.at(0).rate, 2);
  EXPECT_TRUE(notes_have(r, "all requests begin at the same time"))
    << all_notes(r);
}

TEST(import_of_traces, lasts_until_there_are_requests) {
  auto length = [](int gap) {
    trace_maker t;
    for (int i = 0; i < 2; ++i, t.next_trace())
      t.add(0, "web", "web", i * gap, i * gap + 1);
    return arm_of(t.make()).length;
  };
  // One each 10 ms, 600 ms, 601 ms, hour and day.
  EXPECT_EQ(length(10), std::chrono::minutes{1});
  EXPECT_EQ(length(600), std::chrono::minutes{1});
  EXPECT_EQ(length(601), std::chrono::minutes{2});
  EXPECT_EQ(length(3'600'000), std::chrono::hours{100});
  EXPECT_EQ(length(86'400'000), std::chrono::hours{100});
}

TEST(import_of_traces, says_that_the_load_varies) {
  trace_maker t;
  for (int i = 0; i < 300; ++i, t.next_trace())
    t.add(0, "web", "web", i < 250 ? i : 250 + (i - 250) * 40, 5000);
  auto r = t.make();
  EXPECT_TRUE(notes_have(r, "the load varied: ")) << all_notes(r);
}

TEST(import_of_traces, takes_clients_at_the_beginning_for_loads) {
  trace_maker t;
  for (int i = 0; i < 10; ++i, t.next_trace())
    t.call(0, "browser", "web", "web", i * 10, i * 10 + 6);
  auto arm = arm_of(t.make());
  EXPECT_EQ(arm.services.size(), 1u);
  EXPECT_EQ(arm.loads.at(0).name, "browser");
  EXPECT_DOUBLE_EQ(latency_ms(arm, "browser", "web"), 0.5);
}

TEST(import_of_traces, gives_names_that_a_scenario_may_have) {
  trace_maker t;
  t.add(0, "my shop/ü", "", 0, 10);
  t.next_trace();
  t.add(0, "my-shop", "GET /a?b", 0, 10);
  t.next_trace();
  t.add(0, "my-shop", "GET a b", 0, 10);
  t.next_trace();
  t.add(0, "clients", "\x1b[31m\"'", 0, 10);
  auto r = t.make();
  auto arm = arm_of(r);
  std::vector<std::string> names;
  for (const auto& s : arm.services)
    for (const auto& o : s.operations)
      names.push_back(o.name);
  std::ranges::sort(names);
  EXPECT_EQ(names, (std::vector<std::string>{"clients.31m", "my-shop-2.GET-a-b",
                                             "my-shop-2.GET-a-b-2",
                                             "my-shop.unnamed"}));
  EXPECT_EQ(arm.loads.at(0).name, "clients-2");
  EXPECT_EQ(r.toml.find('\x1b'), std::string::npos);
}

// -- cycles -------------------------------------------------------------------

TEST(find_cycles, finds_components) {
  std::vector<graph_edge> edges{{0, 1}, {1, 2}, {2, 0}, {2, 3},
                                {2, 3}, {3, 4}, {5, 5}, {4, 6}};
  auto c = find_cycles(8, edges);
  EXPECT_EQ(edges.size(), 7u);
  EXPECT_TRUE(c.in_one(0, 2));
  EXPECT_FALSE(c.in_one(2, 3));
  EXPECT_FALSE(c.in_one(4, 4));
  EXPECT_TRUE(c.in_one(5, 5));
  EXPECT_FALSE(c.in_one(7, 7));
}

TEST(find_cycles, takes_long_chains) {
  std::vector<graph_edge> edges;
  constexpr std::uint32_t n = 300'000;
  for (std::uint32_t i = 0; i + 1 < n; ++i)
    edges.emplace_back(i, i + 1);
  EXPECT_FALSE(find_cycles(n, edges).in_one(0, n - 1));
  edges.emplace_back(n - 1, 0);
  EXPECT_TRUE(find_cycles(n, edges).in_one(0, n - 1));
}

} // namespace
} // namespace caisson::sim
