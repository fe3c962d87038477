// Work that a guard admits and does not run.
#include <caisson/guard.hpp>

#include <support/jumping_clock.hpp>

#include <gtest/gtest.h>

#include <optional>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

constexpr answer_info server_failed{.kind = answer_class::retry};

std::int64_t status_metric(guard& g, const std::string& name) {
  for (const auto& [key, value] : g.get_status().metrics)
    if (key == name)
      return value;
  return -1;
}

TEST(admission, holds_a_permit_until_it_is_over) {
  jumping_clock clock;
  guard g{stack{"s"}.semaphore({.permits = 2, .max_waiters = 10}), clock};
  auto a = g.admit();
  auto b = g.admit();
  EXPECT_TRUE(a);
  EXPECT_TRUE(b);
  auto c = g.admit();
  EXPECT_FALSE(c);
  EXPECT_EQ(c.error(), errc::queue_full);
  a.succeed();
  EXPECT_FALSE(a);
  EXPECT_TRUE(g.admit());
  // That one was over at once.
  auto d = g.admit();
  EXPECT_TRUE(d);
  auto e = std::move(d);
  EXPECT_FALSE(d);
  EXPECT_TRUE(e);
  EXPECT_FALSE(g.admit());
  e = {};
  EXPECT_TRUE(g.admit());
}

TEST(admission, is_over_for_a_drain_at_its_deadline) {
  jumping_clock clock;
  guard g{stack{"s"}, clock};
  auto a = g.admit({.time_left = 2s});
  auto b = g.admit({.time_left = 1s});
  g.drain();
  EXPECT_EQ(clock.passed(), 2s);
  EXPECT_FALSE(g.admit());
  a.succeed();
}

// Another thread may keep the time, and leave with its own call.
TEST(admission, is_over_for_a_drain_on_the_real_clock) {
  guard g{stack{"s"}.semaphore({.permits = 1, .max_waiters = 1})};
  auto a = g.admit({.time_left = 100ms});
  std::thread other{
    [&] { EXPECT_FALSE(g.run([] { return 1; }, {.time_left = 50ms})); }};
  g.drain();
  EXPECT_TRUE(a);
  other.join();
}

TEST(admission, is_shared_with_functions) {
  jumping_clock clock;
  guard g{stack{"s"}.semaphore({.permits = 1, .max_waiters = 0}), clock};
  auto a = g.admit();
  EXPECT_EQ(g.run([] {}).error(), errc::queue_full);
  a.cancel();
  EXPECT_TRUE(g.run([&] { EXPECT_FALSE(g.admit()); }));
}

TEST(admission, of_a_stream) {
  jumping_clock clock;
  guard streams{stack{"streams"}.breaker().semaphore({.permits = 100}), clock};
  std::string status;
  // [admit]
  auto a = streams.admit({.time_left = unlimited, .key = "tenant-7"});
  if (!a)
    status = to_text(a.error());
  // Later, perhaps in another thread.
  a.fail("UNAVAILABLE", grpc_answer(14));
  // [/admit]
  EXPECT_EQ(status, "");
  EXPECT_FALSE(a);
}

TEST(admission, counts_in_a_breaker) {
  jumping_clock clock;
  guard g{stack{"s"}.breaker({.threshold = 2, .open = schedule::constant(1s)}),
          clock};
  for (int i = 0; i < 2; ++i)
    g.admit().fail("no", server_failed);
  auto refused = g.admit();
  EXPECT_EQ(refused.error(), errc::breaker_open);
  EXPECT_EQ(refused.retry_after(), 1s);
  clock.pass(1s);
  // A probe that says nothing is given back.
  g.admit().cancel();
  auto probe = g.admit();
  EXPECT_TRUE(probe);
  EXPECT_FALSE(g.admit());
  probe.succeed();
  EXPECT_TRUE(g.admit());
}

TEST(admission, that_failed_by_its_own_fault_is_no_failure_of_the_breaker) {
  jumping_clock clock;
  guard g{stack{"s"}.breaker({.threshold = 1}), clock};
  g.admit().fail("wrong", {.kind = answer_class::fail});
  EXPECT_TRUE(g.admit());
}

TEST(admission, is_over_for_the_layers_at_the_deadline) {
  jumping_clock clock;
  guard g{stack{"s"}.breaker({.threshold = 1}).semaphore({.permits = 1}),
          clock};
  auto a = g.admit({.time_left = 1s});
  EXPECT_EQ(a.deadline(), clock.now() + 1s);
  clock.pass(1s);
  EXPECT_EQ(g.admit().error(), errc::breaker_open);
  EXPECT_TRUE(a);
  a.succeed();
  EXPECT_EQ(g.admit().error(), errc::breaker_open);
}

TEST(admission, has_no_deadline_if_unlimited) {
  jumping_clock clock;
  guard g{stack{"s"}.semaphore({.permits = 1}), clock};
  auto a = g.admit({.time_left = unlimited});
  EXPECT_EQ(a.deadline(), never);
  clock.pass(48h);
  EXPECT_FALSE(g.admit());
}

TEST(admission, is_refused_if_no_time_is_left) {
  jumping_clock clock;
  guard g{stack{"s"}, clock};
  EXPECT_EQ(g.admit({.time_left = no_time_left}).error(),
            errc::deadline_exceeded);
}

TEST(admission, is_not_repeated_by_a_retrier) {
  jumping_clock clock;
  guard g{stack{"s"}
            .retrier({.max_attempts = 5,
                      .backoff = schedule::constant(1s),
                      .idempotent = true})
            .breaker({.threshold = 3}),
          clock};
  g.admit().fail("no", server_failed);
  EXPECT_EQ(status_metric(g, "calls"), 1);
  clock.pass(10s);
  EXPECT_TRUE(g.admit());
}

// Neither is it if the deadline is in an inner layer, and nobody reports.
TEST(admission, is_not_repeated_after_a_deadline_below_a_retrier) {
  jumping_clock clock;
  guard g{stack{"s"}
            .retrier({.max_attempts = 3,
                      .backoff = schedule::constant(1s),
                      .idempotent = true,
                      .heed_breakers = false})
            .breaker()
            .deadline({.timeout = 1s})
            .semaphore({.permits = 1}),
          clock};
  auto a = g.admit({.time_left = unlimited, .idempotent = idempotence::yes});
  ASSERT_TRUE(a);
  clock.pass(10s);
  auto s = g.get_status();
  EXPECT_EQ(s.metric("retrier", "retried"), 0);
  EXPECT_EQ(s.metric("breaker", "failures"), 1);
  EXPECT_EQ(s.metric("semaphore", "in_use"), 0);
  EXPECT_EQ(s.metric("failed"), 1);
}

TEST(admission, that_failed_late_is_a_failure_outside_of_a_retrier) {
  jumping_clock clock;
  guard g{stack{"s"}
            .breaker({.threshold = 3})
            .retrier({.backoff = schedule::constant(1s), .idempotent = true})
            .deadline({.timeout = 100ms}),
          clock};
  for (int i = 0; i < 3; ++i) {
    auto a = g.admit();
    clock.pass(100ms);
    a.fail("late", server_failed);
  }
  auto s = g.get_status();
  EXPECT_EQ(s.layer("breaker").state, "open");
  EXPECT_EQ(s.metric("failed"), 3);
  EXPECT_EQ(s.metric("cancelled"), 0);
}

TEST(admission, that_failed_is_a_failure_outside_of_a_retrier) {
  jumping_clock clock;
  for (const auto& info :
       {server_failed, answer_info{},
        answer_info{.kind = answer_class::retry, .may_have_executed = false}}) {
    guard g{stack{"s"}
              .breaker({.threshold = 3})
              .retrier({.max_attempts = 5,
                        .backoff = schedule::constant(1s),
                        .idempotent = true}),
            clock};
    for (int i = 0; i < 3; ++i)
      g.admit().fail("no", info);
    auto s = g.get_status();
    EXPECT_EQ(s.layer("breaker").state, "open");
    EXPECT_EQ(s.metric("failed"), 3);
    EXPECT_EQ(s.metric("cancelled"), 0);
    EXPECT_EQ(s.metric("retrier", "retried"), 0);
  }
}

TEST(admission, ends_after_the_function_of_a_policy_that_lets_go_of_it) {
  jumping_clock clock;
  std::optional<admission> held;
  guard g{stack{"s"}
            .breaker({.trip_when =
                        [&](const breaker_counts&) {
                          held.reset();
                          return false;
                        }})
            .semaphore({.permits = 2}),
          clock};
  held = g.admit();
  EXPECT_EQ(g.get_status().metric("semaphore", "in_use"), 1);
  g.admit().fail("no", server_failed);
  EXPECT_FALSE(held);
  auto s = g.get_status();
  EXPECT_EQ(s.metric("semaphore", "in_use"), 0);
  EXPECT_EQ(s.metric("in_progress"), 0);
  EXPECT_EQ(s.metric("cancelled"), 1);
}

TEST(admission, has_the_options_of_its_call) {
  jumping_clock clock;
  guard g{stack{"s"}, clock};
  call_options options{.key = "tenant-7", .idempotency_key = "k"};
  options.idempotent = idempotence::yes;
  auto a = g.admit(options);
  EXPECT_EQ(a.options().idempotent, idempotence::yes);
  EXPECT_EQ(a.options().key, "tenant-7");
  EXPECT_EQ(a.options().idempotency_key, "k");
  EXPECT_EQ(a.deadline(), clock.now() + 30s);
}

TEST(admission, is_refused_by_a_guard_that_was_stopped) {
  jumping_clock clock;
  guard g{stack{"s"}.semaphore({.permits = 1}), clock};
  auto a = g.admit();
  g.stop();
  EXPECT_EQ(g.admit().error(), errc::cancelled);
  a.fail("no", server_failed);
}

TEST(admission, is_waited_for_at_the_end_of_the_guard) {
  std::optional<guard> g{std::in_place, stack{"s"}};
  std::atomic<bool> over{false};
  auto a = g->admit();
  std::thread end{[&] {
    g.reset();
    over = true;
  }};
  // Once it refuses, the end has begun.
  EXPECT_FALSE(over);
  a.succeed();
  end.join();
  EXPECT_TRUE(over);
}

TEST(admission, can_be_used_by_many_threads) {
  guard g{stack{"s"}.breaker().semaphore({.permits = 3})};
  std::atomic<int> now{0};
  std::atomic<int> most{0};
  std::atomic<int> admitted{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i)
        if (auto a = g.admit()) {
          auto n = ++now;
          for (auto seen = most.load(); seen < n;)
            if (most.compare_exchange_weak(seen, n))
              break;
          ++admitted;
          --now;
          a.succeed();
        }
    });
  for (auto& x : threads)
    x.join();
  EXPECT_LE(most, 3);
  EXPECT_GT(admitted, 0);
  EXPECT_EQ(status_metric(g, "calls"), 4'000);
}

} // namespace
} // namespace caisson::test
