// Calls of services, through the gates of their routes.
#include <support/simulated.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace caisson::sim {
namespace {

using namespace std::chrono_literals;
using test::log_with;
using test::played;
using testing::ElementsAre;

// One request, to `a`.
const std::string one_caller = R"(
length = "1s"
load.u = { kind = "constant", rate = 1, target = "a" }
)";

// Many requests, to `a`.
const std::string many = R"(
length = "100s"
load.u = { kind = "poisson", rate = 100, target = "a" }
)";

duration latency_of(const std::string& services) {
  auto r = played(one_caller + services);
  EXPECT_EQ(r.totals.good, 1u);
  return r.latency.max;
}

TEST(simulated_call, is_made_after_the_work_and_one_after_another) {
  EXPECT_EQ(latency_of("service.a = { time = '1ms', calls = ['b', 'b', "
                       "{ work = '4ms' }, 'c'] }\n"
                       "service.b = { time = '10ms', workers = 9 }\n"
                       "service.c = { time = '100ms' }"),
            1ms + 10ms + 10ms + 4ms + 100ms);
}

TEST(simulated_call, is_repeated_one_after_another_or_at_the_same_time) {
  const std::string b = "service.b = { time = '10ms', workers = 9 }\n";
  EXPECT_EQ(latency_of(b + "service.a = { calls = [{ to = 'b', count = 5 }] }"),
            50ms);
  EXPECT_EQ(latency_of(b
                       + "service.a = { calls = [{ to = 'b', count = 5, "
                         "parallel = true }] }"),
            10ms);
}

TEST(simulated_call, of_a_list_is_made_at_the_same_time) {
  EXPECT_EQ(latency_of("service.a = { calls = [['b', { to = 'c', count = 2 }], "
                       "'b'] }\n"
                       "service.b = { time = '30ms', workers = 9 }\n"
                       "service.c = { time = '10ms' }"),
            30ms + 30ms);
}

TEST(simulated_call, takes_the_latency_of_its_edge_both_ways) {
  EXPECT_EQ(latency_of("service.a = { calls = ['b'] }\n"
                       "service.b = { time = '10ms' }\n"
                       "[[edge]]\nfrom = 'a'\nto = 'b'\nlatency = '7ms'\n"
                       "[[edge]]\nfrom = 'u'\nlatency = '100ms'"),
            200ms + 14ms + 10ms);
}

TEST(simulated_call, is_answered_with_the_error_of_the_one_it_needs) {
  auto r = played(one_caller
                  + "service.a = { calls = ['b'] }\n"
                    "service.b = { errors = 1.0 }");
  EXPECT_EQ(r.totals.errors.at("failed"), 1u);
  r = played(one_caller
             + "service.a = { calls = [{ to = 'b', optional = true }] }\n"
               "service.b = { errors = 1.0 }");
  EXPECT_EQ(r.totals.good, 1u);
}

TEST(simulated_call, is_waited_for_as_long_as_it_may_take) {
  const std::string b = "service.b = { time = '100ms' }\n";
  EXPECT_EQ(latency_of(b
                       + "service.a = { calls = [{ to = 'b', timeout = "
                         "'100ms' }] }"),
            100ms);
  auto r = played(one_caller + b
                  + "service.a = { calls = [{ to = 'b', timeout = "
                    "'99ms' }] }");
  EXPECT_EQ(r.totals.errors.at("deadline_exceeded"), 1u);
  EXPECT_EQ(latency_of(b
                       + "service.a = { calls = [{ to = 'b', timeout = '99ms', "
                         "optional = true }] }"),
            99ms + 1ns);
}

TEST(simulated_call, carries_the_deadline_of_its_request) {
  const std::string shop
    = "length = '1s'\n"
      "load.u = { kind = 'constant', rate = 1, target = 'a', timeout = "
      "'50ms' }\n"
      "service.b = { time = '100ms', abandoned = 'cancel' }\n"
      "[service.a]\ncalls = ['b']\n";
  EXPECT_THAT(log_with(shop, {" drop", " fail", " done"}),
              ElementsAre("0.050000001 drop b #1", "0.050000001 fail a #1"));
  EXPECT_THAT(
    log_with(shop + "propagate_deadline = false", {" drop", " fail", " done"}),
    ElementsAre("0.100000000 done b #1", "0.100000000 done a #1"));
}

TEST(simulated_call, is_given_up_when_another_one_fails) {
  EXPECT_THAT(log_with(one_caller
                         + "service.a = { calls = [['b', 'c']] }\n"
                           "service.b = { time = '10ms', errors = 1.0 }\n"
                           "service.c = { time = '1s', abandoned = 'cancel' }",
                       {" drop", " fail a", " fail b"}),
              ElementsAre("0.010000000 fail b #1", "0.010000000 fail a #1",
                          "0.010000000 drop c #1"));
}

// Of five calls the first and the third have ended; one more fails.
TEST(simulated_call, that_is_in_flight_is_given_up_in_the_order_of_calls) {
  EXPECT_THAT(
    log_with(one_caller
               + "service.a = { calls = [['b', 'd', 'c', 'e', 'f']] }\n"
                 "service.b = { time = '10ms' }\n"
                 "service.c = { time = '20ms' }\n"
                 "service.d = { time = '1s', abandoned = 'cancel' }\n"
                 "service.e = { time = '1s', abandoned = 'cancel' }\n"
                 "service.f = { time = '30ms', errors = 1.0 }",
             {" done", " drop", " fail f", " fail a"}),
    ElementsAre("0.010000000 done b #1", "0.020000000 done c #1",
                "0.030000000 fail f #1", "0.030000000 fail a #1",
                "0.030000000 drop d #1", "0.030000000 drop e #1"));
}

TEST(simulated_call, of_one_entry_goes_on_while_others_of_the_step_wait) {
  EXPECT_EQ(latency_of("service.a = { calls = [[{ to = 'b', count = 3 }, "
                       "{ to = 'c', count = 2 }, 'd']] }\n"
                       "service.b = { time = '10ms' }\n"
                       "service.c = { time = '20ms' }\n"
                       "service.d = { time = '35ms' }"),
            40ms);
}

TEST(simulated_call, is_made_with_its_probability) {
  auto r = played(many
                  + "service.a = { workers = 'unlimited', calls = "
                    "[{ to = 'b', count = 2, probability = 0.3 }] }\n"
                    "service.b = { workers = 'unlimited' }");
  auto calls = static_cast<double>(r.services[1].arrivals);
  EXPECT_NEAR(calls / static_cast<double>(r.totals.offered), 0.6, 0.02);
  EXPECT_EQ(r.services[1].arrivals % 2, 0u) << "both, or none";
}

TEST(simulated_call, is_not_made_for_what_the_cache_has) {
  const std::string shop
    = "service.a = { workers = 'unlimited', calls = [{ to = 'b', cache_keys = "
      "10 }] }\n"
      "service.b = { workers = 'unlimited' }\n";
  auto r = played(many + shop);
  EXPECT_EQ(r.services[1].arrivals, 0u) << "it is warm";
  r = played(many + shop
             + "[[fault]]\nkind = 'flush'\ntarget = 'a'\nat = '50s'");
  EXPECT_EQ(r.services[1].arrivals, 10u) << "each key once";
  r = played(many
             + "service.a = { workers = 'unlimited', calls = [{ to = 'b', "
               "cache_keys = 10, cache_ttl = '10s' }] }\n"
               "service.b = { workers = 'unlimited' }\n");
  EXPECT_GE(r.services[1].arrivals, 90u) << "each key every ten seconds";
  EXPECT_LE(r.services[1].arrivals, 100u);
}

TEST(simulated_call, leaves_the_worker_to_others_if_the_service_is_async) {
  const std::string shop = "service.b = { time = '1s', workers = 9 }\n"
                           "[service.a]\ntime = '10ms'\n"
                           "calls = ['b', { work = '10ms' }]\n";
  const std::string two = R"(
length = "1s"
load.u = { kind = "constant", rate = 2, target = "a" }
)";
  EXPECT_EQ(played(two + shop).latency.max, 1020ms - 500ms + 1020ms);
  EXPECT_EQ(played(two + shop + "async = true").latency.max, 1020ms);
}

// -- policies on the way ------------------------------------------------------

TEST(simulated_call, is_attempted_as_often_as_nested_retriers_multiply) {
  auto r = played(one_caller + R"(
service.a = { calls = ["b"] }
service.b = { calls = ["c"] }
service.c = { errors = 1.0 }
[[edge]]
stack = "retry"
[[stack.retry.layer]]
kind = "retrier"
max_attempts = 4
budget = false
)");
  EXPECT_EQ(r.totals.attempts, 4u);
  EXPECT_EQ(r.services[1].arrivals, 16u);
  EXPECT_EQ(r.services[2].arrivals, 64u);
  EXPECT_EQ(r.totals.errors.at("failed"), 1u);
}

TEST(simulated_call, is_not_repeated_where_that_is_not_said_to_be_safe) {
  auto r = played(one_caller + R"(
service.a = { errors = 1.0 }
[[edge]]
stack = "retry"
idempotent = false
[[stack.retry.layer]]
kind = "retrier"
max_attempts = 4
)");
  EXPECT_EQ(r.totals.attempts, 1u);
}

// Two requests, the second one while the only server of `full` is busy.
arm_result two_and_a_retrier(const std::string& services,
                             const std::string& edge) {
  return played("length = '90ms'\n"
                "load.u = { kind = 'constant', rate = 20, target = 'a' }\n"
                + services
                + "[service.full]\ntime = '60ms'\nqueue = 0\n"
                  "[[edge]]\nfrom = 'u'\nto = 'a'\nstack = 'retry'\n"
                + edge
                + "[[stack.retry.layer]]\nkind = 'retrier'\nmax_attempts = 2\n"
                  "backoff = '20ms'\nbudget = false\n");
}

TEST(simulated_call, is_repeated_if_a_full_service_has_turned_it_away) {
  const std::string full = "[service.a]\ntime = '60ms'\nqueue = 0\n";
  for (const std::string edge :
       {"", "latency = '1ms'\n", "loss = 1e-9\n", "connections = 9\n"}) {
    SCOPED_TRACE(edge);
    auto r = two_and_a_retrier(full, edge + "idempotent = false\n");
    EXPECT_EQ(r.totals.good, 2u);
    EXPECT_EQ(r.services[0].refused, 1u);
    EXPECT_EQ(r.services[0].arrivals, 3u);
  }
}

TEST(simulated_call, is_not_repeated_if_its_service_rejected_it) {
  const std::string front = "[service.a]\nworkers = 9\ncalls = ['full']\n";
  for (const std::string edge : {"", "latency = '1ms'\n"}) {
    SCOPED_TRACE(edge);
    auto r = two_and_a_retrier(front, edge + "idempotent = false\n");
    EXPECT_EQ(r.totals.good, 1u);
    EXPECT_EQ(r.totals.errors.at("queue_full"), 1u);
    EXPECT_EQ(r.services[0].arrivals, 2u);
    EXPECT_EQ(two_and_a_retrier(front, edge).services[0].arrivals, 3u);
  }
}

TEST(simulated_call, fails_anew_with_each_attempt) {
  auto r = played(many + R"(
service.a = { errors = 0.5, workers = "unlimited" }
[[edge]]
stack = "retry"
[[stack.retry.layer]]
kind = "retrier"
max_attempts = 3
budget = false
)");
  auto offered = static_cast<double>(r.totals.offered);
  EXPECT_NEAR(static_cast<double>(r.totals.attempts) / offered, 1.75, 0.02);
  EXPECT_NEAR(static_cast<double>(r.totals.good) / offered, 0.875, 0.01);
}

TEST(simulated_call, meets_the_policies_in_front_of_the_service) {
  auto r = played(R"(
length = "1s"
[load.u]
kind = "constant"
rate = 10
target = "a"
[service.a]
workers = 9
time = "1s"
stack = "guard"
[[stack.guard.layer]]
kind = "semaphore"
permits = 3
)");
  EXPECT_EQ(r.totals.attempts, 10u);
  EXPECT_EQ(r.services[0].arrivals, 3u);
  EXPECT_EQ(r.totals.errors.at("queue_full"), 7u);
}

TEST(simulated_call, can_be_answered_by_a_fallback) {
  auto r = played(one_caller + R"(
service.a = { errors = 1.0 }
[[edge]]
stack = "sorry"
[[stack.sorry.layer]]
kind = "fallback"
alternatives = [{ value = "sorry" }]
)");
  EXPECT_EQ(r.totals.good, 1u);
  EXPECT_EQ(r.totals.substituted, 1u);
}

TEST(simulated_call, can_be_one_of_a_batch) {
  // Ten come within 90 ms; the batch is sent after 95 ms and takes 1 ms and
  // ten times 2 ms.
  auto r = played(R"(
length = "100ms"
[load.u]
kind = "constant"
rate = 100
target = "a"
[service.a]
time = "1ms"
item_time = "2ms"
[[edge]]
stack = "batches"
[[stack.batches.layer]]
kind = "batcher"
max_items = 50
max_delay = "95ms"
)");
  EXPECT_EQ(r.totals.good, 10u);
  EXPECT_EQ(r.totals.attempts, 10u);
  EXPECT_EQ(r.services[0].arrivals, 1u);
  EXPECT_EQ(r.latency.max, 95ms + 21ms);
}

TEST(simulated_call, can_be_one_of_a_batch_of_batches) {
  // The caller's gate makes five batches of two, the service's one of five.
  auto r = played(R"(
length = "100ms"
[load.u]
kind = "constant"
rate = 100
target = "a"
[service.a]
item_time = "2ms"
stack = "outer"
[[edge]]
stack = "inner"
[[stack.inner.layer]]
kind = "batcher"
max_items = 2
max_delay = "1s"
max_outstanding = 10
[[stack.outer.layer]]
kind = "batcher"
max_items = 5
max_delay = "1s"
)");
  EXPECT_EQ(r.totals.good, 10u);
  EXPECT_EQ(r.totals.attempts, 10u);
  EXPECT_EQ(r.services[0].arrivals, 1u);
  EXPECT_EQ(r.services[0].mean_service, 20ms);
}

TEST(simulated_call, shows_the_state_of_breakers) {
  auto r = played(R"(
length = "4s"
[load.u]
kind = "constant"
rate = 10
target = "a"
[service.a]
[[fault]]
kind = "errors"
target = "a"
at = "1s"
for = "1s"
[[edge]]
stack = "guard"
[[stack.guard.layer]]
kind = "breaker"
threshold = 1
open = "1500ms"
)");
  ASSERT_THAT(r.breakers, ElementsAre("u -> a/breaker"));
  ASSERT_GE(r.rows.size(), 4u);
  EXPECT_EQ(r.rows[0].breakers[0], "closed");
  EXPECT_EQ(r.rows[1].breakers[0], "open");
  EXPECT_EQ(r.rows[2].breakers[0], "closed");
  EXPECT_EQ(r.totals.errors.at("failed"), 1u);
  EXPECT_EQ(r.totals.errors.at("breaker_open"), 14u);
}

} // namespace
} // namespace caisson::sim
