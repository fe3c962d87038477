// Services whose requests share cores, and faults that hit work in progress.
#include <simulator/report/html_data.hpp>
#include <simulator/report/json.hpp>

#include <support/played_report.hpp>
#include <support/random_world.hpp>
#include <support/simulated.hpp>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <initializer_list>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace caisson::sim {
namespace {

using namespace std::chrono_literals;
using test::log_of;
using test::log_with;
using test::played;
using testing::ElementsAre;

// One request to the service `s` at each of these milliseconds.
std::string requests_at(std::initializer_list<int> instants) {
  std::string out = "length = '1s'\n";
  int n = 0;
  for (auto ms : instants)
    out += fmt::format("load.u{} = {{ kind = 'constant', rate = 1, start = "
                       "'{}ms', stop = '{}ms', target = 's' }}\n",
                       ++n, ms, ms + 1);
  return out;
}

// `n` requests of one client, one after another.
std::string requests_in_turn(int every_ms, int n) {
  return fmt::format("length = '1s'\nload.u = {{ kind = 'constant', rate = {}, "
                     "stop = '{}ms', target = 's' }}\n",
                     1000 / every_ms, every_ms * n);
}

std::string service_with(const std::string& more) {
  return "[service.s]\nworkers = 'unlimited'\ntime = '100ms'\n" + more + "\n";
}

std::string fault(const std::string& kind, int from, int length,
                  const std::string& more = "in_progress = true") {
  return fmt::format("[[fault]]\nkind = '{}'\ntarget = 's'\nat = '{}ms'\nfor = "
                     "'{}ms'\n{}\n",
                     kind, from, length, more);
}

std::vector<std::string> ends_in(const std::string& text) {
  return log_with(text, {" done", " lose", " drop", " fail "});
}

// -- cores --------------------------------------------------------------------

TEST(shared_cores, are_shared_evenly) {
  EXPECT_THAT(ends_in(requests_at({0, 50}) + service_with("cores = 1")),
              ElementsAre("0.150000000 done s #1", "0.200000000 done s #2"));
  EXPECT_THAT(ends_in(requests_at({0, 30, 60}) + service_with("cores = 2")),
              ElementsAre("0.120000000 done s #1", "0.150000000 done s #2",
                          "0.180000000 done s #3"));
}

// With two in at once, the third waits for the first one to end.
TEST(shared_cores, are_shared_by_as_many_as_there_are_servers) {
  EXPECT_THAT(log_with(requests_at({0, 0, 0})
                         + "service.s = { workers = 2, cores = 1, time = "
                           "'100ms' }",
                       {"begin s", "done"}),
              ElementsAre("0.000000000 begin s #1", "0.000000000 begin s #2",
                          "0.200000000 done s #1", "0.200000000 begin s #3",
                          "0.200000000 done s #2", "0.300000000 done s #3"));
}

TEST(shared_cores, are_those_of_each_replica) {
  EXPECT_THAT(
    ends_in(requests_in_turn(25, 3) + service_with("cores = 1\nreplicas = 2")),
    ElementsAre("0.125000000 done s #2 @2", "0.150000000 done s #1 @1",
                "0.200000000 done s #3 @1"));
}

// The first one waits for its call from 100 ms on, and the second one has the
// core for itself.
TEST(shared_cores, are_not_used_while_a_request_waits_for_a_call) {
  EXPECT_THAT(log_with(requests_at({0, 100})
                         + "service.t = { time = '50ms', workers = 9 }\n"
                         + service_with("cores = 1\ncalls = ['t']"),
                       {" done s"}),
              ElementsAre("0.150000000 done s #1", "0.250000000 done s #2"));
}

// At 50 ms the first client gives up.
TEST(shared_cores, are_set_free_by_what_is_cancelled) {
  auto text = "length = '1s'\n"
              "load.u = { kind = 'constant', rate = 1, target = 's', timeout = "
              "'50ms' }\n"
              "load.v = { kind = 'constant', rate = 1, target = 's' }\n"
              + service_with("cores = 1\nabandoned = 'cancel'");
  EXPECT_THAT(log_with(text, {" done", " drop"}),
              ElementsAre("0.050000001 drop s #1", "0.125000001 done s #2"));
}

TEST(shared_cores, slow_batches_down_as_a_whole) {
  // Three requests in one batch: 3 times 10 ms, besides one of 100 ms.
  auto text = requests_at({0})
              + "[service.s]\nworkers = 9\ncores = 1\ntime = '100ms'\n"
                "[service.s.op.items]\nitem_time = '10ms'\n"
                "[service.w]\nworkers = 3\ncalls = ['s.items']\n"
                "[load.v]\nkind = 'constant'\nrate = 1000\nstart = '1ms'\n"
                "stop = '4ms'\ntarget = 'w'\n"
                "[[stack.b.layer]]\nkind = 'batcher'\nmax_items = 3\n"
                "max_delay = '10ms'\n"
                "[[edge]]\nfrom = 'w'\nto = 's'\nstack = 'b'\n";
  EXPECT_THAT(
    log_with(text, {" done s"}),
    ElementsAre("0.063000000 done s.items #2", "0.130000000 done s #1"));
}

TEST(shared_cores, are_what_utilization_is_of) {
  // 300 ms of work in a second.
  auto used = [](const std::string& more) {
    return played(requests_in_turn(50, 3) + service_with(more)).services[0];
  };
  constexpr double rounding = 1e-8;
  EXPECT_NEAR(used("cores = 1").utilization, 0.3, rounding);
  EXPECT_NEAR(used("cores = 2").utilization, 0.15, rounding);
  EXPECT_NEAR(used("cores = 1000").utilization, 0.0003, rounding);
  EXPECT_EQ(used("").utilization, 0);
  auto two = used("cores = 1\nreplicas = 2");
  EXPECT_NEAR(two.utilization, 0.15, rounding);
  EXPECT_NEAR(two.replicas[0].utilization, 0.2, rounding);
  EXPECT_NEAR(two.replicas[1].utilization, 0.1, rounding);
  EXPECT_EQ(two.cores, 2u);
}

// One second after another ends with one, two, and two requests at work.
TEST(shared_cores, are_in_the_rows_of_json_and_of_the_page) {
  auto report = test::played_report(
    "length = '3s'\n"
    "load.u = { kind = 'constant', rate = 1, start = '100ms', target = 's' }\n"
    "service.s = { workers = 'unlimited', cores = 2, replicas = 2, time = "
    "'2500ms' }\n"
    "service.t = { time = '1s' }\n"
    "fault = [{ kind = 'stall', target = 's', in_progress = true, at = "
    "'2500ms', for = '1ms' }]\n");
  std::ostringstream out;
  write_json(out, report);
  auto rows = nlohmann::json::parse(out.str())["runs"][0]["arms"][0]["seconds"];
  std::vector<int> used;
  for (std::size_t i = 0; i < 4; ++i)
    used.push_back(rows[i]["services"]["s"]["cores_used"]);
  EXPECT_THAT(used, ElementsAre(1, 2, 2, 1));
  EXPECT_FALSE(rows[0]["services"]["t"].contains("cores_used"));
  auto page = html_data(report, {"", "", ""})["arms"][0];
  EXPECT_EQ(page["services"][0]["cores"], 4);
  EXPECT_EQ(page["services"][1]["cores"], nullptr);
  auto column = page["service_seconds"][0]["cores_used"];
  EXPECT_EQ(std::vector<int>(column.begin(), column.begin() + 4), used);
  EXPECT_FALSE(page["service_seconds"][1].contains("cores_used"));
  EXPECT_EQ(page["faults"][0]["text"], "stall of all work");
}

// -- slowdown of work in progress ---------------------------------------------

TEST(slowdown_in_progress, follows_the_number_inside) {
  auto service = "slowdown = 1\nslowdown_from = 1\nslowdown_in_progress = true";
  EXPECT_THAT(ends_in(requests_at({0, 50}) + service_with(service)),
              ElementsAre("0.150000000 done s #1", "0.200000000 done s #2"));
  // Who waits slows down, too.
  EXPECT_THAT(
    ends_in(requests_at({0, 50}) + "[service.s]\ntime = '100ms'\n" + service),
    ElementsAre("0.150000000 done s #1", "0.250000000 done s #2"));
}

TEST(slowdown_in_progress, has_the_same_bound) {
  EXPECT_THAT(ends_in(requests_at({0, 0, 0, 0})
                      + service_with("slowdown = 1\nslowdown_max = 3\n"
                                     "slowdown_in_progress = true")),
              ElementsAre("0.300000000 done s #1", "0.300000000 done s #2",
                          "0.300000000 done s #3", "0.300000000 done s #4"));
}

// -- faults that hit work in progress -----------------------------------------

TEST(fault_in_progress, makes_work_stand_still) {
  EXPECT_THAT(
    ends_in(requests_at({0}) + service_with("") + fault("stall", 50, 300)),
    ElementsAre("0.400000000 done s #1"));
  EXPECT_THAT(
    ends_in(requests_at({0}) + service_with("") + fault("stall", 50, 300, "")),
    ElementsAre("0.100000000 done s #1"));
}

TEST(fault_in_progress, slows_work_down_for_as_long_as_it_lasts) {
  EXPECT_THAT(
    ends_in(requests_at({0, 70}) + service_with("")
            + fault("slow", 30, 40, "in_progress = true\nfactor = 4")),
    ElementsAre("0.130000000 done s #1", "0.170000000 done s #2"));
  // What begins during the fault is at full speed afterwards.
  EXPECT_THAT(
    ends_in(requests_at({40}) + service_with("")
            + fault("slow", 30, 40, "in_progress = true\nfactor = 3")),
    ElementsAre("0.160000000 done s #1"));
}

TEST(fault_in_progress, begins_before_work_ends_at_its_instant) {
  EXPECT_THAT(
    ends_in(requests_at({0}) + service_with("") + fault("stall", 100, 50)),
    ElementsAre("0.150000000 done s #1"));
  EXPECT_THAT(
    ends_in(requests_at({0}) + service_with("") + fault("stall", 0, 100)),
    ElementsAre("0.200000000 done s #1"));
}

// 10 ms of work until 10 ms, 5 until 20 ms, 10/6 until 30 ms, 10/3 until 40 ms;
// 80 are left.
TEST(fault_in_progress, multiplies_with_others) {
  EXPECT_THAT(
    ends_in(requests_at({0}) + service_with("")
            + fault("slow", 10, 20, "in_progress = true\nfactor = 2")
            + fault("slow", 20, 20, "in_progress = true\nfactor = 3")),
    ElementsAre("0.120000000 done s #1"));
  // With one that is fixed when work begins.
  EXPECT_THAT(
    ends_in(requests_at({10}) + service_with("")
            + fault("slow", 0, 20, "factor = 2")
            + fault("slow", 10, 10, "in_progress = true\nfactor = 5")),
    ElementsAre("0.218000000 done s #1"));
  // Pauses that overlap, and one that lets work in progress end.
  EXPECT_THAT(ends_in(requests_at({0, 30}) + service_with("")
                      + fault("stall", 10, 50) + fault("stall", 40, 40)
                      + fault("stall", 20, 200, "")),
              ElementsAre("0.170000000 done s #1", "0.320000000 done s #2"));
}

TEST(fault_in_progress, ends_with_a_crash_that_loses_all) {
  auto text = requests_at({0, 10, 300}) + service_with("cores = 1")
              + fault("stall", 50, 300) + fault("crash", 100, 100, "");
  EXPECT_THAT(ends_in(text),
              ElementsAre("0.100000000 lose s #1", "0.100000000 lose s #2",
                          "0.450000000 done s #3"));
}

TEST(fault_in_progress, hits_one_replica_if_asked_to) {
  auto text = requests_in_turn(1, 2) + service_with("replicas = 2")
              + "[[fault]]\nkind = 'stall'\ntarget = 's#2'\nat = '10ms'\nfor = "
                "'50ms'\nin_progress = true\n";
  EXPECT_THAT(ends_in(text), ElementsAre("0.100000000 done s #1 @1",
                                         "0.151000000 done s #2 @2"));
}

// The answer comes at 60 ms, during the pause.
TEST(fault_in_progress, lets_answers_wait) {
  auto text = requests_at({0})
              + "[service.s]\nasync = true\n"
                "calls = ['t', { work = '10ms' }]\n"
                "[service.t]\ntime = '60ms'\n"
              + fault("stall", 50, 100);
  EXPECT_THAT(log_with(text, {" done"}),
              ElementsAre("0.060000000 done t #1", "0.160000000 done s #1"));
}

// -- what makes no difference makes none --------------------------------------

class unhurried_world : public testing::TestWithParam<std::uint64_t> {};

std::string replaced(const std::string& text, const char* what,
                     const char* with) {
  return std::regex_replace(text, std::regex{what}, with);
}

// A random world whose work goes by timers of its own.
std::string world_without_clock(std::uint64_t seed) {
  auto text = test::random_world{seed}.text();
  text = replaced(text, "(cores = .*|(slowdown_)?in_progress = .*)\n", "");
  return replaced(text, "\"utilization\"", "\"queue\"");
}

TEST_P(unhurried_world, is_the_same_with_more_cores_than_it_needs) {
  auto text = world_without_clock(GetParam());
  auto shared = replaced(text, "\nqueue = ", "\ncores = 1000000\nqueue = ");
  ASSERT_NE(text, shared);
  EXPECT_EQ(log_of(shared, {}, GetParam()), log_of(text, {}, GetParam()))
    << text;
}

TEST_P(unhurried_world,
       is_the_same_with_a_fault_in_progress_that_slows_nothing) {
  auto text = world_without_clock(GetParam())
              + "[[fault]]\nkind = 'slow'\ntarget = 's0'\nfor = '100h'\n"
                "factor = 1\n";
  EXPECT_EQ(log_of(text + "in_progress = true\n", {}, GetParam()),
            log_of(text, {}, GetParam()))
    << text;
}

INSTANTIATE_TEST_SUITE_P(seeds, unhurried_world,
                         testing::Range(std::uint64_t{0}, std::uint64_t{25}));

} // namespace
} // namespace caisson::sim
