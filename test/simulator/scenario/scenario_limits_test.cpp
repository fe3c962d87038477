// Scenarios that are very large or very deep, right or wrong.
#include <support/sim_scenarios.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace caisson::sim {
namespace {

using test::complaint_about;

constexpr auto head = "length = '10s'\n[load.users]\nrate = 1\n"
                      "target = 's0'\n";

// Services that each call the next one; the last one calls `last`, if any.
std::string chain(int n, const std::string& last) {
  std::string out = head;
  for (int i = 0; i < n; ++i) {
    auto next = i + 1 < n ? "s" + std::to_string(i + 1) : last;
    out += "[service.s" + std::to_string(i) + "]\n";
    if (!next.empty())
      out += "calls = ['" + next + "']\n";
  }
  return out;
}

// Services that each call an operation that there is not.
std::string unknown_calls(int n) {
  std::string out = head;
  for (int i = 0; i < n; ++i)
    out += "[service.s" + std::to_string(i) + "]\ncalls = ['t"
           + std::to_string(i) + "']\n";
  return out;
}

std::ptrdiff_t lines(const std::string& text) {
  return std::count(text.begin(), text.end(), '\n') + 1;
}

TEST(scenario_limits, a_chain_of_thirty_thousand_services_is_right) {
  EXPECT_EQ(complaint_about(chain(30'000, "")), "");
}

TEST(scenario_limits,
     a_circle_of_thirty_thousand_services_is_reported_in_part) {
  auto complaint = complaint_about(chain(30'000, "s0"));
  EXPECT_NE(
    complaint.find("service.s29999.calls[0]: the calls go in a circle: s0 "
                   "-> s1 -> "),
    std::string::npos)
    << complaint;
  EXPECT_TRUE(
    complaint.ends_with("s9 -> (29980 more) -> s29990 -> s29991 -> s29992 "
                        "-> s29993 -> s29994 -> s29995 -> s29996 -> "
                        "s29997 -> s29998 -> s29999 -> s0"))
    << complaint;
}

TEST(scenario_limits, a_circle_of_twenty_operations_is_reported_as_a_whole) {
  auto complaint = complaint_about(chain(20, "s0"));
  EXPECT_EQ(complaint.find("more"), std::string::npos) << complaint;
  complaint = complaint_about(chain(21, "s0"));
  EXPECT_NE(complaint.find("s9 -> (1 more) -> s11"), std::string::npos)
    << complaint;
}

TEST(scenario_limits, counts_multiply_along_a_long_chain) {
  auto text = chain(1'000, "");
  EXPECT_EQ(complaint_about(text), "");
  std::string_view first = "calls = ['s1']";
  text.replace(text.find(first), first.size(),
               "calls = [{ to = 's1', count = 1002 }]");
  EXPECT_NE(complaint_about(text).find("can lead to more calls than allowed"),
            std::string::npos);
}

TEST(scenario_limits,
     a_hundred_unknown_calls_are_reported_and_all_are_counted) {
  auto complaint = complaint_about(unknown_calls(5'000));
  EXPECT_EQ(lines(complaint), 101);
  EXPECT_LT(complaint.size(), 200'000u);
  EXPECT_TRUE(
    complaint.starts_with("f:6:10: service.s0.calls[0]: \"t0\" is not "
                          "an operation, did you mean \"s0\"? known "
                          "operations: s0, s1, "))
    << complaint.substr(0, 200);
  EXPECT_TRUE(complaint.ends_with("\n... and 4900 more: 5000 problems in all"));
}

TEST(scenario_limits, problems_of_several_arms_are_counted_once) {
  auto text = unknown_calls(150)
              + "[arm.a]\n[arm.b]\n[arm.b.service.s7]\ncalls = ['u']\n[arm.c]";
  EXPECT_TRUE(
    complaint_about(text).ends_with("\n... and 51 more: 151 problems in all"));
}

TEST(scenario_limits, unknown_keys_are_counted_and_the_first_ones_reported) {
  std::string text{test::smallest_world};
  for (int i = 0; i < 100'000; ++i)
    text += "key" + std::to_string(i) + " = 1\n";
  auto complaint = complaint_about(text);
  EXPECT_EQ(lines(complaint), 101);
  EXPECT_TRUE(
    complaint.ends_with("\n... and 99900 more: 100000 problems in all"));
}

TEST(scenario_limits, layers_beyond_the_last_that_is_allowed_are_not_read) {
  std::string text{test::smallest_world};
  for (int i = 0; i < 10'000; ++i)
    text += "[[stack.s.layer]]\nkind = 'braker'\n";
  auto complaint = complaint_about(text);
  EXPECT_EQ(lines(complaint), 33);
  EXPECT_NE(complaint.find("f:7:1: stack.s.layer: 10000 layers are too many, "
                           "allowed: 0 to 32"),
            std::string::npos)
    << complaint;
}

TEST(scenario_limits, edges_that_match_nothing_are_found_among_very_many) {
  std::string text = head;
  for (int i = 0; i < 5'000; ++i)
    text += "[service.s" + std::to_string(i) + "]\n";
  for (int i = 0; i < 5'000; ++i)
    text += "[[edge]]\nfrom = 'users'\nto = 's" + std::to_string(i) + "'\n";
  EXPECT_TRUE(complaint_about(text).ends_with(
    "\n... and 4899 more: 4999 problems in all"));
}

TEST(scenario_limits, depth_is_one_problem) {
  std::string key = "x";
  for (int i = 0; i < 20'000; ++i)
    key += ".a";
  auto complaint = complaint_about(std::string{test::smallest_world} + key
                                   + " = 1");
  EXPECT_TRUE(complaint.starts_with("f:7:1: x.a.a.")) << complaint;
  EXPECT_TRUE(
    complaint.ends_with(": is nested too deeply (max 64 levels of keys, "
                        "tables and lists)"))
    << complaint;
}

// -- size ---------------------------------------------------------------------

// A service of 1000 replicas that calls so many others.
std::string wide_caller(int callees) {
  std::string out = head;
  out += "[service.s0]\nreplicas = 1000\ncalls = [";
  for (int i = 1; i <= callees; ++i)
    out += "'s" + std::to_string(i) + "', ";
  out += "]\n";
  for (int i = 1; i <= callees; ++i)
    out += "[service.s" + std::to_string(i) + "]\n";
  return out;
}

// The same, but it calls operations of one other service.
std::string wide_caller_of_one(int operations) {
  std::string out = head;
  out += "[service.s0]\nreplicas = 1000\ncalls = [";
  for (int i = 0; i < operations; ++i)
    out += "'s1.o" + std::to_string(i) + "', ";
  out += "]\n";
  for (int i = 0; i < operations; ++i)
    out += "[service.s1.op.o" + std::to_string(i) + "]\n";
  return out;
}

TEST(scenario_limits, gates_are_counted) {
  EXPECT_EQ(complaint_about(wide_caller(99)), "");
  auto complaint = complaint_about(wide_caller(100));
  EXPECT_TRUE(
    complaint.starts_with("f:4:10: load.users.target: with this there are "
                          "more gates than allowed: 100000 in all"))
    << complaint;
  complaint = complaint_about(wide_caller(500));
  EXPECT_NE(
    complaint.find("service.s0.calls[100]: with this there are more gates"),
    std::string::npos)
    << complaint;
  EXPECT_EQ(lines(complaint), 1);
}

TEST(scenario_limits, gates_in_front_of_services_are_counted) {
  auto text = wide_caller(99) + "[stack.own]\n";
  std::string_view replicas = "replicas = 1000\n";
  text.insert(text.find(replicas), "stack = 'own'\n");
  auto complaint = complaint_about(text);
  EXPECT_NE(complaint.find("more gates than allowed"), std::string::npos)
    << complaint;
}

TEST(scenario_limits, calls_that_share_gates_count_once) {
  auto text = wide_caller_of_one(150);
  EXPECT_EQ(complaint_about(text), "");
  for (int i = 0; i < 150; ++i)
    text += "[[edge]]\nto = 's1.o" + std::to_string(i) + "'\nlatency = '"
            + std::to_string(i + 1) + "ms'\n";
  auto complaint = complaint_about(text);
  EXPECT_NE(
    complaint.find("service.s0.calls[100]: with this there are more gates"),
    std::string::npos)
    << complaint;
}

TEST(scenario_limits, replicas_are_counted) {
  std::string text = head;
  for (int i = 0; i <= 100; ++i)
    text += "[service.s" + std::to_string(i) + "]\nreplicas = 1000\n";
  auto complaint = complaint_about(text);
  EXPECT_NE(
    complaint.find("service.s100.replicas: with these the services have "
                   "more replicas than allowed: 100000 in all"),
    std::string::npos)
    << complaint;
}

TEST(scenario_limits, keys_of_caches_are_counted) {
  auto text = [](const std::string& call) {
    return head
           + ("[service.s0]\nreplicas = 1000\ncalls = [{ to = 's1', " + call
              + " }]\n[service.s1]\n");
  };
  EXPECT_EQ(complaint_about(text("cache_keys = 20000")), "");
  auto complaint = complaint_about(text("cache_keys = 20001"));
  EXPECT_NE(
    complaint.find("service.s0.calls[0].to: with these there are more keys "
                   "than allowed: 20000000 in all"),
    std::string::npos)
    << complaint;
  EXPECT_NE(complaint_about(text("cache_keys = 20000, cache_skew = 1")), "");
}

TEST(scenario_limits, keys_of_loads_are_counted) {
  auto text = [](int loads, const std::string& skew) {
    std::string out = "length = '10s'\n[service.s0]\n";
    for (int i = 0; i < loads; ++i)
      out += "[load.u" + std::to_string(i)
             + "]\nrate = 1\ntarget = 's0'\nkeys = 1000000\n" + skew;
    return out;
  };
  EXPECT_EQ(complaint_about(text(20, "key_skew = 1\n")), "");
  auto complaint = complaint_about(text(21, "key_skew = 1\n"));
  EXPECT_NE(complaint.find("load.u20.keys: with these there are more keys"),
            std::string::npos)
    << complaint;
  EXPECT_EQ(complaint_about(text(21, "")), "");
}

} // namespace
} // namespace caisson::sim
