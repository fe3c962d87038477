#include <caisson/guard.hpp>
#include <caisson/observe/gate_watch.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <latch>
#include <memory>
#include <thread>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

/// Runs `f` in `n` threads at once.
template <class F>
void in_threads(int n, F f) {
  // Longer there than the threads: one may still look at it as all begin.
  std::latch begin{n};
  std::vector<std::jthread> all;
  all.reserve(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i)
    all.emplace_back([&, i] {
      begin.arrive_and_wait();
      f(i);
    });
}

/// Says when it is let go.
struct gatehouse {
  void enter() {
    inside.count_down();
    let_go.wait();
  }
  std::latch inside;
  std::latch let_go{1};
};

TEST(guard_of_threads, lends_no_more_permits_than_there_are) {
  guard g{stack{"g"}.semaphore({.permits = 2, .max_waiters = 100})};
  std::atomic<int> busy{0}, most{0}, done{0};
  in_threads(6, [&](int) {
    for (int k = 0; k < 300; ++k) {
      auto r = g.run([&] {
        auto now = ++busy;
        for (auto m = most.load();
             m < now && !most.compare_exchange_weak(m, now);)
          ;
        std::this_thread::yield();
        --busy;
      });
      done += r.ok() ? 1 : 0;
    }
  });
  EXPECT_EQ(done, 1'800);
  EXPECT_LE(most, 2);
  auto s = g.get_status();
  EXPECT_EQ(s.metric("succeeded"), 1'800);
  EXPECT_EQ(s.metric("semaphore", "in_use"), 0);
}

TEST(guard_of_threads, ends_each_wait_at_its_time) {
  guard g{stack{"g"}.semaphore({.permits = 1, .max_waiters = 10})};
  gatehouse house{std::latch{1}};
  std::jthread holder{[&] { (void)g.run([&] { house.enter(); }); }};
  house.inside.wait();
  std::atomic<int> in_time{0};
  auto begin = std::chrono::steady_clock::now();
  // Each may be the one who looks at the clock, and leave before others.
  in_threads(5, [&](int i) {
    auto limit = 40ms * (i + 1);
    auto r = g.run([] {}, {.time_left = limit});
    auto took = std::chrono::steady_clock::now() - begin;
    in_time += r.error() == errc::deadline_exceeded && took >= limit
                   && took < limit + 5s
                 ? 1
                 : 0;
  });
  EXPECT_EQ(in_time, 5);
  house.let_go.count_down();
}

TEST(guard_of_threads, ends_waits_when_it_is_stopped) {
  guard g{stack{"g"}.semaphore({.permits = 1, .max_waiters = 10})};
  gatehouse house{std::latch{1}};
  std::atomic<int> cancelled{0};
  std::jthread holder{[&] {
    auto r = g.run([&](const attempt& a) {
      house.enter();
      EXPECT_TRUE(a.abandoned());
    });
    cancelled += r.error() == errc::cancelled ? 1 : 0;
  }};
  house.inside.wait();
  std::vector<std::jthread> waiters;
  waiters.reserve(3);
  for (int i = 0; i < 3; ++i)
    waiters.emplace_back(
      [&] { cancelled += g.run([] {}).error() == errc::cancelled ? 1 : 0; });
  while (g.get_status().metric("semaphore", "waiting") < 3)
    std::this_thread::yield();
  g.stop();
  waiters.clear();
  EXPECT_EQ(cancelled, 3);
  house.let_go.count_down();
  holder.join();
  EXPECT_EQ(cancelled, 4);
}

TEST(guard_of_threads, waits_at_its_end_for_functions_that_run) {
  gatehouse house{std::latch{1}};
  std::atomic<bool> over{false};
  std::jthread holder;
  {
    guard g{stack{"g"}};
    holder = std::jthread{[&] {
      (void)g.run([&] {
        house.enter();
        std::this_thread::sleep_for(20ms);
        over = true;
      });
    }};
    house.inside.wait();
    house.let_go.count_down();
  }
  EXPECT_TRUE(over);
}

TEST(guard_of_threads, is_drained_when_the_last_function_returns) {
  guard g{stack{"g"}};
  gatehouse house{std::latch{2}};
  std::atomic<int> done{0};
  std::vector<std::jthread> all;
  all.reserve(2);
  for (int i = 0; i < 2; ++i)
    all.emplace_back([&] { done += g.run([&] { house.enter(); }).ok(); });
  house.inside.wait();
  auto drained = std::async(std::launch::async, [&] { g.drain(); });
  while (g.run([] {}).ok())
    std::this_thread::yield();
  EXPECT_EQ(drained.wait_for(0s), std::future_status::timeout);
  house.let_go.count_down();
  drained.get();
  all.clear();
  EXPECT_EQ(done, 2);
}

TEST(guard_of_threads, lets_a_half_open_breaker_have_its_probes_only) {
  guard g{stack{"g"}.breaker(
    {.threshold = 1, .open = schedule::constant(1ms), .probes = 1})};
  (void)g.run([] { throw 1; });
  std::this_thread::sleep_for(5ms);
  gatehouse house{std::latch{1}};
  std::jthread probe{[&] { EXPECT_TRUE(g.run([&] { house.enter(); })); }};
  house.inside.wait();
  std::atomic<int> call_count{0};
  in_threads(4, [&](int) { (void)g.run([&] { ++call_count; }); });
  EXPECT_EQ(call_count, 0);
  house.let_go.count_down();
  probe.join();
  EXPECT_TRUE(g.run([] {}));
}

TEST(guard_of_threads, retries_beside_others) {
  guard g{stack{"g"}
            .retrier({.max_attempts = 4,
                      .backoff = schedule::constant(1ms),
                      .idempotent = true,
                      .budget = false})
            .semaphore({.permits = 3, .max_waiters = 100})};
  std::atomic<int> good{0}, call_count{0};
  in_threads(6, [&](int) {
    for (int k = 0; k < 50; ++k)
      good += g.run([&](const attempt& a) {
                 ++call_count;
                 if (a.number() < 3)
                   throw 1;
               }).ok()
                ? 1
                : 0;
  });
  EXPECT_EQ(good, 300);
  EXPECT_EQ(call_count, 900);
}

TEST(guard_of_threads, has_events_one_after_another) {
  guard g{
    stack{"g"}.breaker({.threshold = 1, .open = schedule::constant(1ms)})};
  std::atomic<bool> inside{false};
  std::uint64_t last = 0;
  g.on_event([&](const event& x) {
    EXPECT_FALSE(inside.exchange(true));
    EXPECT_EQ(x.number, last + 1);
    last = x.number;
    inside = false;
  });
  in_threads(4, [&](int) {
    for (int k = 0; k < 100; ++k)
      (void)g.run([] { throw 1; });
  });
  EXPECT_GT(last, 0u);
}

// A listener keeps the thread that would otherwise look at the clock.
TEST(guard_of_threads, keeps_time_while_a_listener_runs) {
  guard g{stack{"g"}.semaphore({.permits = 1, .max_waiters = 10}).emit_waits()};
  gatehouse house{std::latch{1}}, listener{std::latch{1}};
  std::jthread holder{[&] { (void)g.run([&] { house.enter(); }); }};
  house.inside.wait();
  std::atomic<bool> first{true};
  g.on_event([&](const event& x) {
    if (x.kind != event_kind::waiting && first.exchange(false))
      listener.enter();
  });
  // Both wait. The end of the second one is reported by one of them.
  std::vector<std::jthread> both;
  both.reserve(2);
  for (auto limit : {duration{10s}, duration{50ms}})
    both.emplace_back([&, limit] { (void)g.run([] {}, {.time_left = limit}); });
  listener.inside.wait();
  auto begin = std::chrono::steady_clock::now();
  auto in_time = [&] {
    auto r = g.run([] {}, {.time_left = 50ms});
    return r.error() == errc::deadline_exceeded
           && std::chrono::steady_clock::now() - begin < 9s;
  };
  EXPECT_TRUE(in_time());
  house.let_go.count_down();
  holder.join();
  listener.let_go.count_down();
  both.clear();
  // Nobody is left who has forgotten to pass the clock on.
  gatehouse again{std::latch{1}};
  std::jthread next_holder{[&] { (void)g.run([&] { again.enter(); }); }};
  again.inside.wait();
  begin = std::chrono::steady_clock::now();
  EXPECT_TRUE(in_time());
  again.let_go.count_down();
}

TEST(guard_of_threads, lets_a_listener_wait_in_the_guard) {
  guard g{stack{"g"}.semaphore({.permits = 1, .max_waiters = 10}).emit_waits()};
  gatehouse house{std::latch{1}};
  std::jthread holder{[&] { (void)g.run([&] { house.enter(); }); }};
  house.inside.wait();
  std::atomic<int> asked{0};
  g.on_event([&](const event& x) {
    if (x.kind == event_kind::waiting && asked++ == 0) {
      EXPECT_EQ(g.run([] {}, {.time_left = 50ms}).error(),
                errc::deadline_exceeded);
    }
  });
  EXPECT_EQ(g.run([] {}, {.time_left = 100ms}).error(),
            errc::deadline_exceeded);
  EXPECT_GE(asked, 1);
  house.let_go.count_down();
}

TEST(guard_of_threads, calls_no_listener_any_more_once_it_is_removed) {
  guard g{
    stack{"g"}.breaker({.threshold = 1, .open = schedule::constant(1ms)})};
  std::atomic<bool> over{false};
  std::jthread load{[&] {
    while (!over)
      (void)g.run([] { throw 1; });
  }};
  for (int i = 0; i < 50; ++i) {
    auto called = std::make_unique<std::atomic<int>>(0);
    g.on_event([x = called.get()](const event&) {
      ++*x;
      std::this_thread::sleep_for(100us);
    });
    while (*called == 0)
      std::this_thread::yield();
    // It may be destroyed from here on.
    g.on_event({});
    called.reset();
  }
  over = true;
}

TEST(guard_of_threads, keeps_no_thread_for_the_events_of_others) {
  guard g{
    stack{"g"}.breaker({.threshold = 1, .open = schedule::constant(1ms)})};
  g.on_event([](const event&) { std::this_thread::sleep_for(1ms); });
  std::atomic<bool> over{false};
  std::vector<std::atomic<int>> done(3);
  {
    std::vector<std::jthread> all;
    all.reserve(done.size());
    for (auto& n : done)
      all.emplace_back([&] {
        while (!over) {
          (void)g.run([] { throw 1; });
          ++n;
        }
      });
    while (std::any_of(done.begin(), done.end(), [](auto& n) { return n < 3; }))
      std::this_thread::yield();
    over = true;
  }
  g.on_event({});
}

TEST(guard_of_threads, is_in_the_metrics_also_when_it_is_idle) {
  system_config cfg;
  caf::actor_system sys{cfg};
  gate_watch watch{sys, {.every = 10ms}};
  {
    guard g{sys, stack{"g"}};
    EXPECT_EQ(watch.gates().size(), 1u);
    for (int i = 0; i < 100; ++i)
      (void)g.run([] {});
    std::this_thread::sleep_for(20ms);
    auto all = watch.gates();
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(all[0].last->metrics.at("calls"), 100);
  }
  EXPECT_TRUE(watch.gates().empty());
}

// A reader of metrics finds a deadline that is over, and the policies then call
// a function that reads metrics.
TEST(guard_of_threads, has_metrics_that_functions_of_policies_read) {
  system_config cfg;
  caf::actor_system sys{cfg};
  const gate_watch watch{sys};
  auto read = 0;
  guard g{sys, stack{"g"}.breaker({.trip_when = [&](const breaker_counts&) {
            ++read;
            EXPECT_EQ(watch.gates().size(), 1u);
            return false;
          }})};
  auto late = g.admit({.time_left = 1ms});
  std::this_thread::sleep_for(2ms);
  EXPECT_EQ(watch.gates().size(), 1u);
  EXPECT_EQ(read, 1);
}

TEST(guard_of_threads, drains_for_more_than_a_few) {
  guard g{stack{"g"}};
  gatehouse house{std::latch{1}};
  std::jthread holder{[&] { (void)g.run([&] { house.enter(); }); }};
  house.inside.wait();
  std::atomic<int> drained{0};
  std::vector<std::jthread> all;
  all.reserve(300);
  for (int i = 0; i < 300; ++i)
    all.emplace_back([&] {
      g.drain();
      ++drained;
    });
  while (g.run([] {}).ok())
    std::this_thread::yield();
  EXPECT_EQ(drained, 0);
  house.let_go.count_down();
  all.clear();
  EXPECT_EQ(drained, 300);
}

TEST(guard_of_threads, shares_the_retry_budget_of_its_system) {
  system_config cfg;
  caf::actor_system sys{cfg};
  auto s = stack{"g"}.retrier({.max_attempts = 2,
                               .backoff = schedule::constant(0ms),
                               .idempotent = true,
                               .budget_ratio = 0,
                               .budget_reserve = 1,
                               .budget_name = "shared"});
  guard first{sys, s}, second{sys, s}, alone{s};
  auto is_retried = [](guard& g) {
    int call_count = 0;
    (void)g.run([&] {
      ++call_count;
      throw 1;
    });
    return call_count > 1;
  };
  while (is_retried(first))
    continue;
  EXPECT_FALSE(is_retried(second));
  EXPECT_TRUE(is_retried(alone));
}

} // namespace
} // namespace caisson::test
