// Scenarios from traces made by hand.
#include <support/trace_maker.hpp>

#include <simulator/import/call_pattern.hpp>
#include <simulator/import/importer.hpp>
#include <simulator/import/span_tree.hpp>
#include <simulator/import/visits.hpp>

#include <caisson/settings/problem.hpp>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace caisson::sim {
namespace {

using namespace test;

// `db x2 p=0.5 optional, cache | ads`, a step after the other.
std::string steps_of(const arm_config& arm, const std::string& operation) {
  std::string out;
  for (const auto& s : arm.services)
    for (const auto& o : s.operations)
      if (o.name == operation)
        for (const auto& step : o.steps) {
          out += out.empty() ? "" : " | ";
          auto separator = "";
          for (const auto& c : step.calls) {
            out += separator + c.to;
            if (c.count > 1)
              out += fmt::format(" x{}{}", c.count, c.parallel ? " par" : "");
            if (c.probability < 1)
              out += fmt::format(" p={:.2f}", c.probability);
            if (c.optional)
              out += " optional";
            separator = ", ";
          }
        }
  return out;
}

// -- one request --------------------------------------------------------------

TEST(import_of_traces, makes_one_call_of_the_spans_on_both_sides) {
  trace_maker t;
  auto web = t.add(0, "web", "GET /cart", 0, 20);
  t.call(web, "web", "db", "query", 5, 15);
  auto r = t.make();
  auto arm = arm_of(r);
  ASSERT_EQ(arm.services.size(), 2u);
  EXPECT_EQ(steps_of(arm, "web.GET-cart"), "db.query");
  EXPECT_DOUBLE_EQ(mean_ms(arm, "web.GET-cart"), 10);
  EXPECT_DOUBLE_EQ(mean_ms(arm, "db.query"), 9);
  EXPECT_DOUBLE_EQ(latency_ms(arm, "web", "db"), 0.5);
  EXPECT_EQ(arm.loads.at(0).name, "clients");
  EXPECT_EQ(arm.loads.at(0).target, "web.GET-cart");
  EXPECT_NE(r.toml.find("web.GET-cart: the span \"GET /cart\""),
            std::string::npos);
}

TEST(import_of_traces, counts_spans_within_a_service_as_its_own_time) {
  trace_maker t;
  auto web = t.add(0, "web", "web", 0, 20);
  auto inner = t.add(web, "web", "render", 2, 18,
                     {.kind = span_kind::internal});
  t.call(inner, "web", "db", "db", 5, 15);
  auto arm = arm_of(t.make());
  EXPECT_DOUBLE_EQ(mean_ms(arm, "web"), 10);
  EXPECT_EQ(steps_of(arm, "web"), "db");
  EXPECT_EQ(service(arm, "web").operations.size(), 1u);
}

TEST(import_of_traces, takes_calls_without_the_spans_of_clients) {
  trace_maker t;
  auto web = t.add(0, "web", "web", 0, 20);
  t.add(web, "db", "db", 5, 15);
  auto r = t.make();
  EXPECT_EQ(steps_of(arm_of(r), "web"), "db");
  EXPECT_TRUE(
    notes_have(r, "calls without latency, as one side of them has no span: 1"))
    << all_notes(r);
}

TEST(import_of_traces, makes_services_of_those_known_from_clients_alone) {
  trace_maker t;
  auto web = t.add(0, "web", "web", 0, 20);
  t.add(web, "web", "SELECT", 5, 15,
        {.kind = span_kind::client, .peer = "postgres"});
  t.add(web, "web", "poll", 16, 18, {.kind = span_kind::client});
  auto r = t.make();
  auto arm = arm_of(r);
  EXPECT_EQ(steps_of(arm, "web"), "postgres.SELECT");
  EXPECT_DOUBLE_EQ(mean_ms(arm, "postgres.SELECT"), 10);
  EXPECT_DOUBLE_EQ(mean_ms(arm, "web"), 10);
  EXPECT_TRUE(notes_have(r, "1 call to \"postgres\" known from clients' spans"))
    << all_notes(r);
  EXPECT_TRUE(notes_have(r, "1 span of clients that do not say whom"));
}

// A client's span around that of the library that it uses.
TEST(import_of_traces, takes_a_client_within_a_client_once) {
  trace_maker t;
  auto web = t.add(0, "web", "web", 0, 20);
  auto outer = t.add(web, "web", "pay", 4, 16,
                     {.kind = span_kind::client, .peer = "bank"});
  t.call(outer, "web", "bank", "bank", 5, 15);
  auto arm = arm_of(t.make());
  EXPECT_EQ(steps_of(arm, "web"), "bank");
}

TEST(import_of_traces, knows_the_callee_that_others_have) {
  trace_maker t;
  for (int i = 0; i < 4; ++i, t.next_trace()) {
    auto web = t.add(0, "web", "web", 0, 20);
    if (i < 3)
      t.call(web, "web", "db", "query", 5, 15);
    else
      t.add(web, "web", "query", 5, 15, {.kind = span_kind::client});
  }
  auto r = t.make();
  EXPECT_EQ(steps_of(arm_of(r), "web"), "db.query");
  EXPECT_TRUE(notes_have(r, "1 call without a span of the callee"));
}

// -- order --------------------------------------------------------------------

TEST(import_of_traces, finds_calls_in_order_and_at_the_same_time) {
  trace_maker t;
  auto web = t.add(0, "web", "web", 0, 100);
  t.call(web, "web", "auth", "auth", 1, 10);
  t.call(web, "web", "a", "a", 12, 30);
  t.call(web, "web", "b", "b", 13, 20);
  t.call(web, "web", "b", "b", 14, 22);
  t.call(web, "web", "log", "log", 40, 50);
  t.call(web, "web", "log", "log", 50, 60);
  auto r = t.make();
  auto arm = arm_of(r);
  EXPECT_EQ(steps_of(arm, "web"), "auth | a, b x2 par | log x2");
  // 100 without 1-10, 12-30, 40-60.
  EXPECT_DOUBLE_EQ(mean_ms(arm, "web"), 53);
}

TEST(import_of_traces, finds_a_branch_of_calls_next_to_another_one) {
  trace_maker t;
  auto web = t.add(0, "web", "web", 0, 100);
  t.call(web, "web", "slow", "slow", 1, 50);
  t.call(web, "web", "b", "b", 1, 20);
  t.call(web, "web", "b", "b", 20, 40);
  EXPECT_EQ(steps_of(arm_of(t.make()), "web"), "slow, b x2");
}

TEST(import_of_traces, finds_how_often_a_call_is_made) {
  trace_maker t;
  for (int i = 0; i < 100; ++i, t.next_trace()) {
    auto at = i * 100.0;
    auto web = t.add(0, "web", "web", at, at + 90);
    t.call(web, "web", "a", "a", at + 1, at + 10);
    if (i % 4 == 0)
      t.call(web, "web", "b", "b", at + 10, at + 20);
    t.call(web, "web", "a", "a", at + 20, at + 30);
  }
  auto r = t.make();
  EXPECT_EQ(steps_of(arm_of(r), "web"), "a | b p=0.25 | a");
  EXPECT_FALSE(notes_have(r, "different orders")) << all_notes(r);
}

// A loop of 1 to 4 calls, and what comes after it.
TEST(import_of_traces, keeps_the_mean_of_a_loop_and_what_comes_after_it) {
  trace_maker t;
  for (int i = 0; i < 100; ++i, t.next_trace()) {
    auto at = i * 100.0;
    auto web = t.add(0, "web", "web", at, at + 90);
    for (int j = 0; j <= i % 4; ++j)
      t.call(web, "web", "item", "item", at + j * 10, at + j * 10 + 9);
    t.call(web, "web", "end", "end", at + 60, at + 70);
  }
  EXPECT_EQ(steps_of(arm_of(t.make()), "web"),
            "item | item p=0.75 | item p=0.50 | item p=0.25 | end");
}

TEST(import_of_traces, sums_up_very_many_calls) {
  trace_maker t;
  auto web = t.add(0, "web", "web", 0, 3000);
  for (int i = 0; i < 1000; ++i)
    t.call(web, "web", "db", "db", 1 + i * 2, 2.5 + i * 2);
  EXPECT_EQ(steps_of(arm_of(t.make()), "web"), "db x1000");
}

TEST(import_of_traces, says_that_the_order_varies) {
  trace_maker t;
  for (int i = 0; i < 10; ++i, t.next_trace()) {
    auto at = i * 100.0;
    auto web = t.add(0, "web", "web", at, at + 90);
    auto first = i < 7 ? "a" : "b";
    auto second = i < 7 ? "b" : "a";
    t.call(web, "web", first, first, at + 1, at + 10);
    t.call(web, "web", second, second, at + 11, at + 20);
  }
  auto r = t.make();
  EXPECT_EQ(steps_of(arm_of(r), "web"), "a | b");
  EXPECT_TRUE(notes_have(r, "web makes its calls in different orders, 30.0"))
    << all_notes(r);
}

TEST(import_of_traces, says_that_calls_overlap_otherwise) {
  trace_maker t;
  auto web = t.add(0, "web", "web", 0, 100);
  t.call(web, "web", "a", "a", 0, 40);
  t.call(web, "web", "b", "b", 30, 90);
  t.call(web, "web", "c", "c", 70, 100);
  auto r = t.make();
  EXPECT_EQ(steps_of(arm_of(r), "web"), "a, b | c");
  EXPECT_TRUE(notes_have(r, "the calls of web overlap")) << all_notes(r);
  EXPECT_TRUE(notes_have(r, "0.90 times")) << all_notes(r);
}

// -- errors -------------------------------------------------------------------

TEST(import_of_traces, finds_errors_and_calls_that_may_fail) {
  trace_maker t;
  for (int i = 0; i < 100; ++i, t.next_trace()) {
    auto at = i * 100.0;
    // 10 fail because of db, 5 by themselves; ads fails 20 times without harm.
    auto by_db = i < 10;
    auto own = i >= 10 && i < 15;
    auto web = t.add(0, "web", "web", at, at + 90, {.failed = by_db || own});
    if (own)
      continue;
    t.call(web, "web", "db", "db", at + 1, at + 10, by_db);
    if (!by_db)
      t.call(web, "web", "ads", "ads", at + 10, at + 20, i >= 80);
  }
  auto r = t.make();
  auto arm = arm_of(r);
  // What is missing after an error is no sign of chance.
  EXPECT_EQ(steps_of(arm, "web"), "db | ads optional");
  EXPECT_DOUBLE_EQ(service(arm, "web").errors, 0.05);
  EXPECT_NEAR(service(arm, "db").errors, 10.0 / 95, 1e-6);
  EXPECT_NEAR(service(arm, "ads").errors, 20.0 / 85, 1e-6);
  EXPECT_EQ(r.toml.find("none did, so none"), std::string::npos);
}

// -- what is broken -----------------------------------------------------------

TEST(import_of_traces, takes_the_first_span_without_its_caller_for_a_request) {
  trace_maker t;
  t.add(77, "web", "web", 0, 20);
  t.add(77, "web", "web", 30, 50);
  t.next_trace();
  t.add(0, "web", "web", 100, 120);
  t.add(78, "db", "db", 105, 110);
  auto r = t.make();
  EXPECT_TRUE(
    notes_have(r, "2 requests with a caller that is not in the files"))
    << all_notes(r);
  EXPECT_TRUE(notes_have(r, "1 span without their caller")) << all_notes(r);
  auto arm = arm_of(r);
  EXPECT_EQ(arm.loads.at(0).target, "web");
  EXPECT_DOUBLE_EQ(mean_ms(arm, "db"), 5);
}

TEST(import_of_traces, leaves_out_circles_and_what_is_there_twice) {
  trace_maker t;
  t.add(0, "web", "web", 0, 20);
  t.set.spans.push_back(t.set.spans.back());
  auto a = t.add(3, "x", "x", 0, 10);
  auto b = t.add(a, "y", "y", 0, 10);
  ASSERT_EQ(b, 3u);
  auto self = t.add(4, "z", "z", 0, 10);
  ASSERT_EQ(self, 4u);
  auto r = t.make();
  EXPECT_TRUE(notes_have(r, "3 spans left out: their parents form a circle"))
    << all_notes(r);
  EXPECT_TRUE(notes_have(r, "1 span left out: there is one with the same"));
  EXPECT_EQ(arm_of(r).services.size(), 1u);
}

TEST(import_of_traces, moves_what_clocks_have_put_outside_of_its_caller) {
  for (auto shift : {-40.0, 40.0}) {
    trace_maker t;
    auto web = t.add(0, "web", "web", 0, 20);
    auto client = t.add(web, "web", "db", 5, 15, {.kind = span_kind::client});
    auto db = t.add(client, "db", "db", 6 + shift, 14 + shift);
    auto inner = t.add(db, "db", "read", 6.5 + shift, 13.5 + shift,
                       {.kind = span_kind::internal});
    t.call(inner, "db", "disk", "disk", 7 + shift, 13 + shift);
    auto r = t.make();
    auto arm = arm_of(r);
    EXPECT_EQ(steps_of(arm, "web"), "db");
    EXPECT_EQ(steps_of(arm, "db"), "disk");
    EXPECT_DOUBLE_EQ(latency_ms(arm, "web", "db"), 1);
    EXPECT_DOUBLE_EQ(mean_ms(arm, "db"), 2);
    EXPECT_TRUE(notes_have(r, "1 call of \"db\" by \"web\" outside of the "
                              "caller's time, by up to 40.0 ms"))
      << all_notes(r);
    EXPECT_FALSE(notes_have(r, "\"disk\"")) << all_notes(r);
  }
}

TEST(import_of_traces, makes_a_load_of_what_nobody_waits_for) {
  trace_maker t;
  for (int i = 0; i < 10; ++i, t.next_trace()) {
    auto at = i * 100.0;
    auto web = t.add(0, "web", "web", at, at + 20);
    auto send = t.add(web, "web", "send", at + 5, at + 6,
                      {.kind = span_kind::producer});
    t.add(send, "mail", "mail", at + 10, at + 300,
          {.kind = span_kind::consumer});
    // A server that goes on when its caller has ended.
    t.add(web, "audit", "audit", at + 15, at + 90);
  }
  auto r = t.make();
  auto arm = arm_of(r);
  EXPECT_EQ(steps_of(arm, "web"), "");
  EXPECT_DOUBLE_EQ(mean_ms(arm, "web"), 20);
  ASSERT_EQ(arm.loads.size(), 2u);
  EXPECT_EQ(arm.loads[1].name, "web-async");
  EXPECT_EQ(arm.loads[1].mix.size(), 2u);
  EXPECT_TRUE(notes_have(r, "10 calls of \"mail\" by \"web\" that the caller "
                            "does not wait for"))
    << all_notes(r);
}

TEST(import_of_traces, takes_the_callers_time_where_it_has_given_up) {
  trace_maker t;
  auto web = t.add(0, "web", "web", 0, 20);
  auto client = t.add(web, "web", "db", 5, 15,
                      {.kind = span_kind::client, .failed = true});
  t.add(client, "db", "db", 6, 60);
  auto r = t.make();
  auto arm = arm_of(r);
  EXPECT_DOUBLE_EQ(mean_ms(arm, "web"), 10);
  EXPECT_DOUBLE_EQ(mean_ms(arm, "db"), 54);
  EXPECT_TRUE(notes_have(r, "1 call whose caller ended before"));
}

TEST(import_of_traces, unrolls_operations_that_call_themselves) {
  trace_maker t;
  auto a = t.add(0, "a", "a", 0, 100);
  auto b = t.call(a, "a", "b", "b", 10, 90);
  auto deeper = t.call(b, "b", "a", "a", 20, 80);
  t.call(deeper, "a", "b", "b", 30, 70);
  // And the other way round.
  t.next_trace();
  auto other = t.add(0, "b", "b", 0, 100);
  t.call(other, "b", "a", "a", 10, 90);
  auto r = t.make();
  auto arm = arm_of(r);
  EXPECT_EQ(steps_of(arm, "a"), "b.b-in-itself-1");
  EXPECT_EQ(steps_of(arm, "b.b-in-itself-1"), "a.a-in-itself-2");
  EXPECT_EQ(steps_of(arm, "a.a-in-itself-2"), "b.b-in-itself-3");
  EXPECT_EQ(service(arm, "a").servers, no_limit);
  EXPECT_TRUE(notes_have(r, "a is called on behalf of its own requests"))
    << all_notes(r);
}

TEST(import_of_traces, ends_recursion_somewhere) {
  trace_maker t;
  auto at = t.add(0, "a", "a", 0, 1000);
  for (int i = 1; i < 40; ++i)
    at = t.call(at, "a", "a", "a", i, 1000 - i);
  auto r = t.make();
  EXPECT_EQ(service(arm_of(r), "a").operations.size(), most_recursion + 1);
  EXPECT_TRUE(notes_have(r, "left out: more than 20 levels")) << all_notes(r);
}

TEST(import_of_traces, joins_the_two_sides_of_a_shared_span) {
  trace_maker t;
  auto web = t.add(0, "web", "web", 0, 20);
  auto client = t.add(web, "web", "db", 5, 15, {.kind = span_kind::client});
  t.add(web, "db", "db", 6, 14);
  t.set.spans.back().id = client;
  t.add(client, "disk", "disk", 8, 12);
  auto arm = arm_of(t.make());
  EXPECT_EQ(steps_of(arm, "web"), "db");
  EXPECT_EQ(steps_of(arm, "db"), "disk");
  EXPECT_DOUBLE_EQ(latency_ms(arm, "web", "db"), 1);
}

TEST(import_of_traces, needs_a_request_from_outside) {
  trace_maker t;
  t.add(2, "x", "x", 0, 10);
  t.add(1, "y", "y", 0, 10);
  EXPECT_THROW(static_cast<void>(t.make()), config_error);
}

} // namespace
} // namespace caisson::sim
