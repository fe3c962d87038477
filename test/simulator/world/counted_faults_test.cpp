// Faults that count requests.
#include <simulator/explore/fault_texts.hpp>
#include <simulator/report/html.hpp>
#include <simulator/report/html_data.hpp>
#include <simulator/report/shown_faults.hpp>
#include <simulator/report/timeline.hpp>
#include <simulator/scenario/faults.hpp>
#include <simulator/world/counted_fault.hpp>
#include <simulator/world/fault_recorder.hpp>

#include <support/played_report.hpp>
#include <support/sim_scenarios.hpp>
#include <support/simulated.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <string>
#include <variant>
#include <vector>

namespace caisson::sim {
namespace {

using namespace std::chrono_literals;
using test::counting_world;
using test::log_with;
using test::played;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

using strings = std::vector<std::string>;

// -- as configuration ---------------------------------------------------------

TEST(scenario_counted_fault, is_checked) {
  auto mistakes = [](const std::string& more) {
    return test::mistakes_in(std::string{test::smallest_world}
                             + "[[fault]]\ntarget = 'web'\nkind = " + more);
  };
  for (
    auto right :
    {"'crash'\nafter_requests = 10\nfor_requests = 3",
     "'crash'\nafter_requests = 10\nfor = '3s'\nat = '5s'",
     "'errors'\nat = '5s'\nfor_requests = 3",
     "'slow'\nmean_requests_between_failures = 10\nmean_requests_to_repair = 3",
     "'stall'\nmean_requests_between_failures = 1.5\nmttr = '3s'",
     "'stall'\nmean_requests_between_failures = 1\nfor = '3s'",
     "'errors'\nmtbf = '3s'\nmean_requests_to_repair = 1.5",
     "'errors'\nmtbf = '3s'\nfor_requests = 1",
     "'flush'\nmean_requests_between_failures = 10",
     "'flush'\nafter_requests = 1000000000"})
    EXPECT_THAT(mistakes(right), IsEmpty()) << right;
  EXPECT_EQ(
    mistakes("'errors'\nafter_requests = 0\nfor_requests = 0"),
    (strings{"range fault[0].after_requests", "range fault[0].for_requests"}));
  EXPECT_EQ(mistakes("'errors'\nmean_requests_between_failures = 0.9\n"
                     "mean_requests_to_repair = 1e10"),
            (strings{"range fault[0].mean_requests_between_failures",
                     "range fault[0].mean_requests_to_repair"}));
  for (std::string other : {"mtbf = '5s'", "after_requests = 5"})
    EXPECT_THAT(
      mistakes("'errors'\nfor = '1s'\nmean_requests_between_failures = 5\n"
               + other),
      SizeIs(1))
      << other;
  for (std::string other :
       {"for_requests = 5", "mean_requests_to_repair = 5", "mttr = '5s'"})
    EXPECT_THAT(
      mistakes("'errors'\nfor = '1s'\nmean_requests_between_failures = 5\n"
               + other),
      SizeIs(1))
      << other;
  EXPECT_EQ(
    mistakes("'errors'\nafter_requests = 5\nmean_requests_to_repair = 5"),
    strings{"relation fault[0].mean_requests_to_repair"});
  EXPECT_EQ(mistakes("'errors'\nafter_requests = 5"),
            strings{"missing fault[0].for"});
  EXPECT_EQ(
    mistakes("'flush'\nmean_requests_between_failures = 5\nfor_requests = 5"),
    strings{"relation fault[0].for_requests"});
  EXPECT_EQ(
    test::mistakes_in(std::string{test::smallest_world}
                      + "[[fault]]\nkind = 'loss'\nfrom = 'users'\nto = 'web'\n"
                        "mean_requests_between_failures = 5\nfor = '1s'\n"),
    strings{"relation fault[0].mean_requests_between_failures"});
  EXPECT_EQ(test::mistakes_in(
              "zones = { names = ['a'] }\n" + std::string{test::smallest_world}
              + "[[fault]]\nkind = 'errors'\ntarget = 'a'\n"
                "mean_requests_between_failures = 5\nfor = '1s'\n"),
            strings{"relation fault[0].target"});
}

fault_config counted(fault_kind kind, std::int64_t after = 10) {
  fault_config f;
  f.kind = kind;
  f.target = "db";
  f.after_requests = after;
  f.for_requests = 3;
  return f;
}

TEST(counted_faults, are_not_planned) {
  arm_config arm;
  auto f = counted(fault_kind::errors);
  arm.faults.push_back(f);
  EXPECT_TRUE(counts_requests(f));
  f.after_requests = {};
  arm.faults.push_back(f);
  EXPECT_TRUE(counts_requests(f));
  EXPECT_EQ(planned_faults(arm), 0u);
  EXPECT_EQ(recovery_start(arm), std::nullopt);
  EXPECT_EQ(first_planned_fault(arm), std::nullopt);
  f.for_requests = {};
  EXPECT_FALSE(counts_requests(f));
}

// Each key makes a difference, and reads back to the same.
TEST(fault_setting, has_all_that_a_fault_counts) {
  for (std::string keys :
       {"after_requests = 7\nfor_requests = 3\n",
        "mean_requests_between_failures = 7.5\nmean_requests_to_repair = 3.5\n",
        "mtbf = '7s'\nmttr = '3s'\n"}) {
    auto arm = test::only_arm(std::string{test::smallest_world}
                              + "[[fault]]\nkind = 'stall'\ntarget = 'web'\n"
                                "at = '1s'\n"
                              + keys);
    auto written = std::get<settings>(fault_setting(arm.faults[0]).value);
    std::string again;
    for (const auto& [key, value] : written)
      again += key + " = " + to_text(value) + "\n";
    auto same = test::only_arm(std::string{test::smallest_world} + "[[fault]]\n"
                               + again);
    const auto& a = arm.faults[0];
    const auto& b = same.faults[0];
    EXPECT_EQ(a.after_requests, b.after_requests) << again;
    EXPECT_EQ(a.for_requests, b.for_requests) << again;
    EXPECT_EQ(a.mean_requests_between_failures,
              b.mean_requests_between_failures)
      << again;
    EXPECT_EQ(a.mean_requests_to_repair, b.mean_requests_to_repair) << again;
    EXPECT_EQ(a.mtbf, b.mtbf) << again;
    EXPECT_EQ(a.mttr, b.mttr) << again;
  }
  EXPECT_EQ(to_sentence(counted(fault_kind::crash)),
            "db crashes, after 10 requests from 0s on for 3 requests");
}

// -- the state machine --------------------------------------------------------

arm_config world_with(fault_config f) {
  arm_config arm;
  arm.length = 100h;
  arm.faults.push_back(std::move(f));
  return arm;
}

// `.` for each request that is not hit, `x` for each that is.
std::string hits(counted_fault& f, std::size_t n) {
  std::string out;
  auto lasts = false;
  for (std::size_t i = 0; i < n; ++i) {
    auto c = f.request(1s, true);
    lasts = (lasts && !c.ends) || c.begins;
    out += lasts ? 'x' : '.';
  }
  return out;
}

TEST(counted_fault, hits_the_requests_after_those_that_it_counts) {
  auto arm = world_with(counted(fault_kind::errors, 2));
  counted_fault f{arm, 0, 0, draw_key{1}};
  EXPECT_EQ(f.due(), std::nullopt);
  EXPECT_EQ(hits(f, 8), "..xxx...");
  arm.faults[0].at = 2s;
  counted_fault later{arm, 0, 0, draw_key{1}};
  EXPECT_EQ(hits(later, 8), "........");
}

TEST(counted_fault, comes_again_and_again_with_the_means_asked_for) {
  auto f = counted(fault_kind::errors);
  f.after_requests = {};
  f.for_requests = {};
  f.mean_requests_between_failures = 7.5;
  f.mean_requests_to_repair = 2.5;
  auto arm = world_with(f);
  counted_fault x{arm, 0, 0, draw_key{1}};
  auto all = hits(x, 200'000);
  auto hit = static_cast<double>(std::ranges::count(all, 'x'));
  double times = 0;
  for (std::size_t i = 1; i < all.size(); ++i)
    times += all[i] == 'x' && all[i - 1] == '.';
  // 20,000 of them: right to 1 % or so.
  EXPECT_NEAR(hit / times, 2.5, 0.08);
  EXPECT_NEAR((200'000 - hit) / times, 7.5, 0.2);
  // Each replica and each seed has numbers of its own.
  counted_fault other{arm, 0, 1, draw_key{1}};
  counted_fault same{arm, 0, 0, draw_key{1}};
  EXPECT_NE(hits(other, 500), all.substr(0, 500));
  EXPECT_EQ(hits(same, 500), all.substr(0, 500));
}

TEST(counted_fault, with_a_mean_of_one_hits_every_other_request) {
  auto f = counted(fault_kind::errors);
  f.after_requests = {};
  f.for_requests = 1;
  f.mean_requests_between_failures = 1;
  auto arm = world_with(f);
  counted_fault x{arm, 0, 0, draw_key{1}};
  EXPECT_EQ(hits(x, 8), ".x.x.x.x");
}

// A flush takes no time: the request that it comes with is counted already.
TEST(counted_fault, that_takes_no_time_comes_every_so_many_requests) {
  auto f = counted(fault_kind::flush);
  f.after_requests = {};
  f.for_requests = {};
  f.mean_requests_between_failures = 1;
  auto arm = world_with(f);
  counted_fault x{arm, 0, 0, draw_key{1}};
  EXPECT_FALSE(x.request(0s, true).begins);
  for (int i = 0; i < 5; ++i)
    EXPECT_TRUE(x.request(0s, true).begins);
  arm.faults[0].mean_requests_between_failures = {};
  arm.faults[0].after_requests = 2;
  counted_fault once{arm, 0, 0, draw_key{1}};
  strings found;
  for (int i = 0; i < 6; ++i)
    found.emplace_back(once.request(0s, true).begins ? "x" : ".");
  EXPECT_THAT(found, ElementsAre(".", ".", "x", ".", ".", "."));
}

TEST(counted_fault, begins_or_ends_at_a_time_if_only_the_other_is_counted) {
  auto f = counted(fault_kind::stall, 1);
  f.for_requests = {};
  f.lasts = 5s;
  auto arm = world_with(f);
  counted_fault by_time{arm, 0, 0, draw_key{1}};
  EXPECT_FALSE(by_time.request(1s, true).begins);
  EXPECT_EQ(by_time.due(), std::nullopt);
  EXPECT_TRUE(by_time.request(2s, true).begins);
  EXPECT_EQ(by_time.due(), 7s);
  EXPECT_FALSE(by_time.request(3s, true).ends);
  EXPECT_TRUE(by_time.time_is_up(true).ends);
  EXPECT_EQ(by_time.due(), std::nullopt);
  arm.faults[0].after_requests = {};
  arm.faults[0].at = 4s;
  arm.faults[0].for_requests = 1;
  counted_fault by_count{arm, 0, 0, draw_key{1}};
  EXPECT_EQ(by_count.due(), 4s);
  EXPECT_FALSE(by_count.request(4s, true).begins);
  EXPECT_TRUE(by_count.time_is_up(true).begins);
  EXPECT_FALSE(by_count.request(4s, true).ends);
  EXPECT_TRUE(by_count.request(4s, true).ends);
  EXPECT_EQ(by_count.due(), std::nullopt);
}

TEST(counted_fault, does_not_begin_after_the_load_or_when_it_may_not) {
  auto arm = world_with(counted(fault_kind::errors, 1));
  arm.length = 10s;
  counted_fault late{arm, 0, 0, draw_key{1}};
  EXPECT_FALSE(late.request(9s, true).begins);
  EXPECT_FALSE(late.request(10s, true).begins);
  counted_fault capped{arm, 0, 0, draw_key{1}};
  EXPECT_FALSE(capped.request(1s, false).cut_off);
  auto x = capped.request(1s, false);
  EXPECT_TRUE(x.cut_off);
  EXPECT_FALSE(x.begins);
  EXPECT_FALSE(capped.request(1s, true).begins);
}

TEST(fault_recorder, keeps_the_first_times_and_counts_the_rest) {
  fault_recorder x;
  EXPECT_FALSE(x.lasts(1));
  for (int i = 0; i < 100'000; ++i) {
    EXPECT_TRUE(x.may_begin(1));
    auto n = x.begun(1, 2, std::chrono::seconds{i});
    EXPECT_TRUE(x.lasts(1));
    if (i != 3)
      x.ended(1, n, std::chrono::seconds{i} + 10ms);
  }
  EXPECT_FALSE(x.may_begin(1));
  EXPECT_TRUE(x.may_begin(0));
  EXPECT_TRUE(x.may_begin(2));
  auto all = x.times(8s);
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_THAT(all[0].times, IsEmpty());
  EXPECT_EQ(all[1].begun, 100'000u);
  ASSERT_THAT(all[1].times, SizeIs(500));
  EXPECT_EQ(all[1].times[2].lasts, 10ms);
  EXPECT_EQ(all[1].times[3].lasts, 5s);
  EXPECT_EQ(all[1].times[4].at, 4s);
  EXPECT_EQ(all[1].times[4].replica, 2u);
}

// -- in a world ---------------------------------------------------------------

constexpr auto ten_then_three = "kind = 'errors'\nafter_requests = 10\n"
                                "for_requests = 3";

TEST(counted_faults, fail_the_requests_that_they_hit) {
  EXPECT_THAT(log_with(counting_world(ten_then_three), {"fault", "fail s"}),
              ElementsAre("1.000000000 fault s errors begins",
                          "1.001000000 fail s #11", "1.101000000 fail s #12",
                          "1.201000000 fail s #13",
                          "1.300000000 fault s errors ends"));
}

TEST(counted_faults, count_from_at_on) {
  auto r = log_with(counting_world(std::string{ten_then_three} + "\nat = '1s'"),
                    {"fail s"});
  EXPECT_THAT(r, ElementsAre("2.001000000 fail s #21", "2.101000000 fail s #22",
                             "2.201000000 fail s #23"));
  EXPECT_THAT(log_with(counting_world("kind = 'errors'\nat = '1050ms'\n"
                                      "for_requests = 1"),
                       {"fault", "fail s"}),
              ElementsAre("1.050000000 fault s errors begins",
                          "1.101000000 fail s #12",
                          "1.200000000 fault s errors ends"));
}

// Those that find the service down count, too, or it would never be back.
TEST(counted_faults, by_crash_end_when_enough_were_rejected) {
  EXPECT_THAT(log_with(counting_world("kind = 'crash'\nafter_requests = 10\n"
                                      "for_requests = 3",
                                      "time = '150ms'\nworkers = 9\n"),
                       {"fault", "lose", " down s"}),
              ElementsAre("1.000000000 fault s crash begins",
                          "1.000000000 lose s #10", "1.000000000 down s #11",
                          "1.100000000 down s #12", "1.200000000 down s #13",
                          "1.300000000 fault s crash ends"));
}

TEST(counted_faults, by_stall_end_when_enough_have_come) {
  EXPECT_THAT(
    log_with(counting_world("kind = 'stall'\nafter_requests = 2\nfor_requests "
                            "= 2",
                            "time = '1ms'\nqueue = 1\n"),
             {"fault", "refuse", "0.400000000 begin", "0.401000000 begin"}),
    ElementsAre("0.200000000 fault s stall begins", "0.300000000 refuse s #4",
                "0.400000000 fault s stall ends", "0.400000000 begin s #3",
                "0.401000000 begin s #5"));
}

TEST(counted_faults, may_last_for_a_time) {
  EXPECT_THAT(log_with(counting_world("kind = 'errors'\nafter_requests = 10\n"
                                      "for = '150ms'"),
                       {"fault", "fail s"}),
              ElementsAre("1.000000000 fault s errors begins",
                          "1.001000000 fail s #11", "1.101000000 fail s #12",
                          "1.150000000 fault s errors ends"));
}

TEST(counted_faults, empty_caches_before_the_request_is_handled) {
  auto world = [](const std::string& fault) {
    return "length = '3s'\n[service.s]\n"
           "calls = [{ to = 't', cache_keys = 1 }]\n[service.t]\n"
           "time = '1ms'\n[load.u]\nkind = 'constant'\nrate = 10\n"
           "target = 's'\n[[fault]]\nkind = 'flush'\ntarget = 's'\n"
           + fault;
  };
  EXPECT_THAT(log_with(world("after_requests = 10"), {"fault", "arrive t"}),
              ElementsAre("1.000000000 fault s flush begins",
                          "1.000000000 arrive t #11"));
  EXPECT_EQ(
    played(world("mean_requests_between_failures = 1")).services[1].arrivals,
    29u);
}

TEST(counted_faults, overlap_as_others_do) {
  // Both count all requests: 11 to 13 and 13 to 16.
  auto log = log_with(counting_world(std::string{ten_then_three}
                                     + "\n[[fault]]\ntarget = 's'\nkind = "
                                       "'errors'\nafter_requests = 12\n"
                                       "for_requests = 4\n[[fault]]\ntarget = "
                                       "'s'\nkind = 'errors'\nat = '1850ms'\n"
                                       "for = '100ms'"),
                      {"fail s"});
  ASSERT_THAT(log, SizeIs(7));
  EXPECT_EQ(log[5], "1.501000000 fail s #16");
  EXPECT_EQ(log[6], "1.901000000 fail s #20");
}

TEST(counted_faults, count_at_each_replica) {
  auto world = counting_world(ten_then_three, "time = '1ms'\nreplicas = 2\n");
  auto r = played(world);
  EXPECT_EQ(r.services[0].replicas[0].failed, 3u);
  EXPECT_EQ(r.services[0].replicas[1].failed, 3u);
  ASSERT_THAT(r.counted_faults, SizeIs(1));
  ASSERT_THAT(r.counted_faults[0].times, SizeIs(2));
  // Taken in turn: the 11th at the first one is request 21.
  EXPECT_EQ(r.counted_faults[0].times[0].at, 2s);
  EXPECT_EQ(r.counted_faults[0].times[0].lasts, 600ms);
  EXPECT_EQ(r.counted_faults[0].times[0].replica, 1u);
  EXPECT_EQ(r.counted_faults[0].times[1].at, 2100ms);
  EXPECT_EQ(r.counted_faults[0].times[1].replica, 2u);
  world.replace(world.find("target = 's'\nkind"), 12, "target = 's#2'");
  r = played(world);
  EXPECT_EQ(r.services[0].replicas[0].failed, 0u);
  EXPECT_EQ(r.services[0].replicas[1].failed, 3u);
  EXPECT_EQ(r.counted_faults[0].times.at(0).replica, 2u);
}

// A batch is one request.
TEST(counted_faults, count_a_batch_once) {
  auto log = log_with("length = '1s'\n[service.s]\ntime = '1ms'\n[load.u]\n"
                      "kind = 'constant'\nrate = 40\ntarget = 's'\n"
                      "[[edge]]\nstack = 'b'\n[[stack.b.layer]]\nkind = "
                      "'batcher'\nmax_items = 4\nmax_delay = '1s'\n[[fault]]\n"
                      "kind = 'errors'\ntarget = 's'\nafter_requests = 3\n"
                      "for_requests = 2\n",
                      {"fail s"});
  EXPECT_THAT(log, SizeIs(2));
}

// -- connections --------------------------------------------------------------

TEST(counted_faults, by_crash_close_connections) {
  auto opened = [](const std::string& fault) {
    auto r = played("length = '1s'\n[service.s]\nreplicas = 2\ntime = '10ms'\n"
                    "[load.u]\nkind = 'constant'\nrate = 20\ntarget = 's'\n"
                    "timeout = '1s'\n[[edge]]\nconnections = 1\n"
                    + fault);
    return r.edges.at(0).connections.value().opened;
  };
  EXPECT_EQ(opened(""), 2u);
  // The one that it comes with has a connection. The next one opens another,
  // and so does the one that ends it, whose own does not outlive that.
  EXPECT_EQ(opened("[[fault]]\nkind = 'crash'\ntarget = 's#2'\nafter_requests "
                   "= 5\nfor_requests = 2\n"),
            5u);
}

// -- in reports ---------------------------------------------------------------

TEST(counted_faults, are_shown_when_they_came) {
  auto r = test::played_report(
    "length = '20s'\n[service.s]\ntime = '1ms'\n[load.u]\n"
    "kind = 'constant'\nrate = 10\ntarget = 's'\n"
    "[[fault]]\nkind = 'errors'\ntarget = 's'\n"
    "after_requests = 50\nfor_requests = 30\n[arm.a]\n"
    "[arm.b]\nload.u.rate = 5\n");
  EXPECT_THAT(timeline(r, true),
              ElementsAre("a: errors s       xxx", testing::_,
                          "b: errors s            xxxxxx", testing::_,
                          testing::_));
  auto data = html_data(r, html_source{});
  const auto& fault = data["arms"][0]["faults"].at(0);
  EXPECT_EQ(fault["at"], 5);
  EXPECT_EQ(fault["lasts"], 3);
  EXPECT_EQ(data["arms"][1]["faults"].at(0)["at"], 10);
  // Of an arm that was not run nothing is known.
  arm_result none;
  EXPECT_THAT(shown_fault_times(r.arms[0], 0, none), IsEmpty());
}

} // namespace
} // namespace caisson::sim
