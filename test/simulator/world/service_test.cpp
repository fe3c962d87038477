// Services and requests, one rule at a time. A load of a few requests
// at known instants, and the event log by which one sees what became of them.
#include <support/simulated.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace caisson::sim {
namespace {

using namespace std::chrono_literals;
using test::log_with;
using test::played;
using testing::ElementsAre;

// Requests every 100 ms from 0 on, 4 of them, to the service `s`.
const std::string four = R"(
length = "400ms"
load.u = { kind = "constant", rate = 10, target = "s" }
)";

// -- queues -------------------------------------------------------------------

TEST(simulated_service, serves_the_oldest_first_and_refuses_beyond_its_bound) {
  auto text = four + "service.s = { time = '250ms', queue = 1 }";
  EXPECT_THAT(log_with(text, {" begin s", " refuse", " done"}),
              ElementsAre("0.000000000 begin s #1",  //
                          "0.200000000 refuse s #3", //
                          "0.250000000 done s #1",   //
                          "0.250000000 begin s #2",  //
                          "0.500000000 done s #2",   //
                          "0.500000000 begin s #4",  //
                          "0.750000000 done s #4"));
  auto r = played(text);
  EXPECT_EQ(r.totals.offered, 4u);
  EXPECT_EQ(r.totals.good, 3u);
  EXPECT_EQ(r.totals.errors.at("queue_full"), 1u);
  EXPECT_EQ(r.services[0].arrivals, 4u);
  EXPECT_EQ(r.services[0].refused, 1u);
  EXPECT_EQ(r.services[0].started, 3u);
  EXPECT_EQ(r.services[0].waited, 2u);
  EXPECT_EQ(r.services[0].queue_max, 1u);
  // Waits of 0, 150 and 200 ms.
  EXPECT_EQ(r.services[0].mean_wait, 116'666'667ns);
  EXPECT_EQ(r.services[0].mean_service, 250ms);
  EXPECT_EQ(r.services[0].mean_sojourn, 366'666'667ns);
}

TEST(simulated_service, can_serve_the_latest_first) {
  EXPECT_THAT(log_with(four + "service.s = { time = '250ms', order = 'lifo' }",
                       {"begin"}),
              ElementsAre("0.000000000 begin s #1", "0.250000000 begin s #3",
                          "0.500000000 begin s #4", "0.750000000 begin s #2"));
}

TEST(simulated_service, ends_work_before_it_handles_arrivals) {
  EXPECT_THAT(log_with(four + "service.s = { time = '100ms', queue = 0 }",
                       {"begin", "refuse"}),
              ElementsAre("0.000000000 begin s #1", "0.100000000 begin s #2",
                          "0.200000000 begin s #3", "0.300000000 begin s #4"));
}

TEST(simulated_service, works_on_as_many_as_it_has_servers) {
  auto r = played(four + "service.s = { time = '1s', workers = 3 }");
  EXPECT_EQ(r.services[0].waited, 1u);
  EXPECT_EQ(r.latency.max, 1700ms);
  r = played(four + "service.s = { time = '1s', workers = 'unlimited' }");
  EXPECT_EQ(r.services[0].waited, 0u);
  EXPECT_EQ(r.services[0].utilization, 0);
  EXPECT_EQ(r.latency.max, 1s);
}

TEST(simulated_service, slows_down_with_what_is_inside) {
  // One, two, three and four are inside when the work begins.
  auto r = played(four
                  + "service.s = { time = '1s', workers = 4, slowdown = 0.5,"
                    " slowdown_from = 1, slowdown_max = 1.8 }");
  EXPECT_EQ(r.latency.max, 1800ms);
  EXPECT_EQ(r.services[0].mean_service, (1s + 1500ms + 1800ms + 1800ms) / 4);
}

// -- work that nobody waits for -----------------------------------------------

// The client waits 140 ms; 250 ms of work for each.
std::string abandoned(const std::string& what) {
  return "length = '400ms'\n"
         "load.u = { kind = 'constant', rate = 10, target = 's', timeout = "
         "'140ms' }\n"
         "service.s = { time = '250ms', abandoned = '"
         + what + "' }";
}

// The run ends with the last answer to a client, at 440 ms.
TEST(simulated_service, finishes_what_nobody_waits_for) {
  auto text = abandoned("finish");
  EXPECT_THAT(log_with(text, {" begin s", " done", " drop"}),
              ElementsAre("0.000000000 begin s #1", "0.250000000 done s #1",
                          "0.250000000 begin s #2"));
  auto r = played(text);
  EXPECT_EQ(r.totals.errors.at("timeout"), 4u);
  EXPECT_EQ(r.services[0].late, 1u);
}

TEST(simulated_service, can_skip_what_it_has_not_begun) {
  auto text = abandoned("skip");
  EXPECT_THAT(log_with(text, {" begin s", " done", " drop"}),
              ElementsAre("0.000000000 begin s #1", "0.250000000 done s #1",
                          "0.250000000 drop s #2", "0.250000000 begin s #3"));
  EXPECT_EQ(played(text).services[0].abandoned, 1u);
}

// Every call takes longer to arrive than its client waits.
TEST(simulated_service, does_not_begin_what_comes_too_late) {
  auto late = [](const std::string& what) {
    return "length = '400ms'\nedge = [{ latency = '20ms' }]\n"
           "load.u = { kind = 'constant', rate = 10, target = 's', timeout = "
           "'10ms' }\n"
           "service.s = { time = '1ms', workers = 9, abandoned = '"
           + what + "' }";
  };
  for (const auto* what : {"skip", "cancel"}) {
    auto s = played(late(what)).services[0];
    EXPECT_EQ(s.arrivals, 4u) << what;
    EXPECT_EQ(s.abandoned, 4u) << what;
    EXPECT_EQ(s.started, 0u) << what;
    EXPECT_EQ(s.late, 0u) << what;
    EXPECT_EQ(s.little_error, 0) << what;
  }
  auto s = played(late("finish")).services[0];
  EXPECT_EQ(s.abandoned, 0u);
  EXPECT_EQ(s.late, 4u);
}

TEST(simulated_service, can_cancel_what_it_has_begun) {
  EXPECT_THAT(log_with(abandoned("cancel"), {" begin s", " done", " drop"}),
              ElementsAre("0.000000000 begin s #1", //
                          "0.140000001 drop s #1",  //
                          "0.140000001 begin s #2", //
                          "0.240000001 drop s #2",  //
                          "0.240000001 begin s #3", //
                          "0.340000001 drop s #3",  //
                          "0.340000001 begin s #4", //
                          "0.440000001 drop s #4"));
}

// -- faults -------------------------------------------------------------------

std::string with_fault(const std::string& fault,
                       const std::string& service = "time = '40ms'") {
  return four + "[service.s]\n" + service + "\n[[fault]]\ntarget = 's'\n"
         + fault;
}

TEST(simulated_service, is_slow_for_work_that_begins_during_the_fault) {
  EXPECT_THAT(log_with(with_fault("kind = 'slow'\nat = '100ms'\n"
                                  "for = '100ms'\nfactor = 2"),
                       {"done"}),
              ElementsAre("0.040000000 done s #1", "0.180000000 done s #2",
                          "0.240000000 done s #3", "0.340000000 done s #4"));
}

TEST(simulated_service, fails_a_share_of_its_requests) {
  auto text = with_fault("kind = 'errors'\nat = '100ms'\nfor = '200ms'");
  EXPECT_THAT(log_with(text, {"done", "fail "}),
              ElementsAre("0.040000000 done s #1", "0.140000000 fail s #2",
                          "0.240000000 fail s #3", "0.340000000 done s #4"));
  EXPECT_EQ(played(text).totals.errors.at("failed"), 2u);
}

TEST(simulated_service, begins_nothing_while_it_stands_still) {
  EXPECT_THAT(
    log_with(with_fault("kind = 'stall'\nat = '20ms'\nfor = '200ms'"),
             {"begin", "done", "fault"}),
    ElementsAre("0.000000000 begin s #1", "0.020000000 fault s stall begins",
                "0.040000000 done s #1", "0.220000000 fault s stall ends",
                "0.220000000 begin s #2", "0.260000000 done s #2",
                "0.260000000 begin s #3", "0.300000000 done s #3",
                "0.300000000 begin s #4", "0.340000000 done s #4"));
}

// The fourth one has the place that the second one had.
TEST(simulated_service, loses_what_is_inside_in_the_order_of_arrival) {
  auto text = "length = '1s'\n"
              "load.u = { kind = 'constant', rate = 10, target = 's' }\n"
              "[service.s]\nworkers = 2\ntime = '1500ms'\n"
              "[service.s.op.short]\ntime = '150ms'\n"
              "[load.v]\nkind = 'constant'\nrate = 10\nstart = '20ms'\n"
              "stop = '30ms'\ntarget = 's.short'\n"
              "[[fault]]\nkind = 'crash'\ntarget = 's'\nat = '450ms'\n"
              "for = '1s'\n";
  EXPECT_THAT(log_with(text, {" done", " lose"}),
              ElementsAre("0.170000000 done s.short #2", //
                          "0.450000000 lose s #1", "0.450000000 lose s #3",
                          "0.450000000 lose s #4", "0.450000000 lose s #5",
                          "0.450000000 lose s #6"));
}

TEST(simulated_service, loses_what_is_inside_when_it_crashes) {
  auto text = with_fault("kind = 'crash'\nat = '120ms'\nfor = '150ms'",
                         "time = '110ms'");
  EXPECT_THAT(log_with(text, {" begin s", " done", " lose", " answer"}),
              ElementsAre("0.000000000 begin s #1",            //
                          "0.110000000 done s #1",             //
                          "0.110000000 begin s #2",            //
                          "0.110000000 answer #1 good",        //
                          "0.120000000 lose s #2",             //
                          "0.120000000 answer #2 worker_down", //
                          "0.200000000 answer #3 worker_down", //
                          "0.300000000 begin s #4",            //
                          "0.410000000 done s #4",             //
                          "0.410000000 answer #4 good"));
  auto r = played(text);
  EXPECT_EQ(r.services[0].lost, 1u);
  EXPECT_EQ(r.services[0].down, 1u);
  EXPECT_LT(r.services[0].little_error, 1e-9);
}

TEST(simulated_service, has_fewer_servers_for_a_while) {
  EXPECT_THAT(
    log_with(with_fault("kind = 'capacity'\nat = '50ms'\nfor = '160ms'\n"
                        "workers = 0",
                        "time = '10ms'\nworkers = 2"),
             {" begin s"}),
    ElementsAre("0.000000000 begin s #1", "0.210000000 begin s #2",
                "0.210000000 begin s #3", "0.300000000 begin s #4"));
}

TEST(simulated_service, suffers_from_several_faults_at_once) {
  // 40 ms, 2 · 3 times as long.
  auto r = played(with_fault("kind = 'slow'\nat = '0s'\nfor = '1s'\n"
                             "factor = 2\n[[fault]]\ntarget = 's'\n"
                             "kind = 'slow'\nat = '0s'\nfor = '1s'\nfactor = 3",
                             "time = '40ms'\nworkers = 9"));
  EXPECT_EQ(r.latency.max, 240ms);
}

} // namespace
} // namespace caisson::sim
