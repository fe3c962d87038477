// The end of calls that no thread waits for, and how they share a guard with
// threads.
#include <support/async_guarded.hpp>

#include <gtest/gtest.h>

#include <coroutine>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace caisson::test {
namespace {

// -- cancellation and ends ----------------------------------------------------

TEST(async_guard, cancels_a_call_whose_coroutine_is_destroyed) {
  async_guarded g{stack{"g"}.semaphore({.permits = 1, .max_waiters = 9})};
  async_guarded::answer first, second, third;
  auto abandoned = false;
  auto one = g.run(first, [&](const attempt& a) -> task<int> {
    co_await g.loop->pause(3s);
    abandoned = a.abandoned();
    co_return 1;
  });
  auto two = g.run(second, g.taking(1s));
  auto three = g.run(third, g.taking(1s));
  g.loop->run_for(100ms);
  two = {};
  EXPECT_EQ(g.metric("semaphore", "waiting"), 1);
  one = {};
  // Its permit is free.
  g.loop->run_for(2s);
  EXPECT_TRUE(third && third->ok());
  EXPECT_EQ(g.started, 1);
  g.loop->run();
  EXPECT_TRUE(abandoned);
  EXPECT_FALSE(first);
  EXPECT_FALSE(second);
  EXPECT_EQ(g.metric("cancelled"), 2);
}

// -- ends within functions of the policies ------------------------------------

// A guard whose breaker calls `f` with the first failure.
struct guard_with_function {
  explicit guard_with_function(std::function<void()> f)
    : g(stack{"g"}
          .breaker({.trip_when =
                      [call = std::move(f)](const breaker_counts&) {
                        call();
                        return false;
                      }})
          .semaphore({.permits = 2})) {}

  void fail() {
    async_guarded::answer got;
    auto run = g.run(got, g.failing_after(1ms));
    g.loop->run_for(10ms);
    EXPECT_TRUE(got);
  }

  async_guarded g;
};

TEST(async_guard, may_lose_a_call_in_a_function_of_a_policy) {
  coroutine held;
  async_guarded::answer got;
  guard_with_function x{[&] { held = {}; }};
  held = x.g.run(got, x.g.taking(1h));
  x.fail();
  EXPECT_FALSE(got);
  EXPECT_EQ(x.g.metric("semaphore", "in_use"), 0);
  EXPECT_EQ(x.g.metric("cancelled"), 1);
  EXPECT_EQ(x.g.metric("in_progress"), 0);
  // The loop has its attempt.
  x.g.loop->run();
}

TEST(async_guard, may_end_an_attempt_in_a_function_of_a_policy) {
  std::coroutine_handle<> waiting;
  struct gate_of_test {
    std::coroutine_handle<>& out;
    bool await_ready() { return false; }
    void await_suspend(std::coroutine_handle<> x) { out = x; }
    void await_resume() {}
  };
  auto resumed = 0;
  guard_with_function x{[&] {
    if (std::exchange(resumed, 1) == 0)
      waiting.resume();
  }};
  async_guarded::answer got;
  auto call = x.g.run(got, [&](const attempt&) -> task<int> {
    gate_of_test until{waiting};
    co_await until;
    co_return 7;
  });
  x.g.loop->run_for(1ms);
  ASSERT_TRUE(waiting);
  x.fail();
  ASSERT_TRUE(got);
  EXPECT_EQ(got->value(), 7);
  EXPECT_EQ(x.g.metric("semaphore", "in_use"), 0);
  EXPECT_EQ(x.g.metric("succeeded"), 1);
}

TEST(async_guard, refuses_a_call_in_a_function_of_a_policy) {
  std::string problem;
  async_guarded* guarded = nullptr;
  auto use = [&]() -> coroutine {
    try {
      auto f = guarded->taking(1ms);
      auto call = run_awaitable(*guarded->calls, guarded->loop, f);
      (void)co_await call;
    } catch (const std::logic_error& e) {
      problem = e.what();
    }
  };
  guard_with_function x{[&] { use(); }};
  guarded = &x.g;
  x.fail();
  EXPECT_EQ(problem, "a function that the policies of the guard \"g\" call "
                     "must not use that guard");
  EXPECT_EQ(x.g.metric("in_progress"), 0);
}

// -- the end of a guard -------------------------------------------------------

TEST(async_guard, resumes_no_coroutine_destroyed_after_the_answer) {
  async_guarded g{stack{"g"}};
  async_guarded::answer got;
  auto waiting = g.run(got, [](const attempt&) -> task<int> { co_return 1; });
  EXPECT_GE(g.loop->ready(), 1u);
  waiting = {};
  g.loop->run();
  EXPECT_FALSE(got);
}

TEST(async_guard, answers_all_calls_when_it_is_stopped) {
  async_guarded g{stack{"g"}.semaphore({.permits = 1, .max_waiters = 9})};
  async_guarded::answer first, second, later;
  auto one = g.run(first, g.taking(1s));
  auto two = g.run(second, g.taking(1s));
  g.calls->stop();
  EXPECT_FALSE(first);
  g.loop->run_ready();
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->error(), errc::cancelled);
  EXPECT_EQ(second->error(), errc::cancelled);
  auto three = g.run(later, g.taking(1s));
  g.loop->run();
  ASSERT_TRUE(later);
  EXPECT_EQ(later->error(), errc::cancelled);
  EXPECT_EQ(g.started, 1);
  g.calls->drain();
}

TEST(async_guard, may_end_before_its_calls) {
  async_guarded g{retried()};
  std::vector<async_guarded::answer> got(2);
  std::vector<coroutine> waiting;
  waiting.push_back(g.run(got[0], g.taking(1s)));
  waiting.push_back(g.run(got[1], g.failing_after(0s)));
  g.loop->run_for(10ms);
  g.calls.reset();
  g.loop->run();
  for (const auto& x : got) {
    ASSERT_TRUE(x);
    EXPECT_EQ(x->error(), errc::cancelled);
  }
  EXPECT_EQ(g.ended, 2);
}

// The first attempt has its effect after the caller has its answer.
TEST(async_guard, may_have_executed_while_an_abandoned_attempt_goes_on) {
  async_guarded g{retried(0s).deadline({.name = "attempt", .timeout = 1s})};
  async_guarded::answer got;
  auto waiting = g.run(got, [&](const attempt& a) -> task<int> {
    if (a.number() == 1) {
      co_await g.loop->pause(10s);
      co_return 1;
    }
    co_await g.loop->pause(1ms);
    throw attempt_error{"refused", answer_info{.kind = answer_class::fail,
                                               .may_have_executed = false}};
  });
  g.loop->run_for(9s);
  ASSERT_TRUE(got && !got->ok());
  EXPECT_TRUE(got->may_have_executed());
  g.loop->run();
  EXPECT_EQ(g.metric("late_results"), 1);
}

TEST(async_guard, abandons_the_attempt_beside_which_an_earlier_one_ends) {
  async_guarded g{retried(0s).deadline({.name = "attempt", .timeout = 1s})};
  async_guarded::answer got;
  std::vector<bool> abandoned;
  auto waiting = g.run(got, [&](const attempt& a) -> task<int> {
    co_await g.loop->pause(1500ms);
    abandoned.push_back(a.abandoned());
    co_return 1;
  });
  g.loop->run();
  EXPECT_EQ(g.answered_at, 3s);
  EXPECT_EQ(abandoned, (std::vector<bool>{true, true, true}));
}

TEST(async_guard, takes_an_attempt_that_is_destroyed_for_a_failure) {
  async_guarded g{stack{"g"}.breaker({.threshold = 1})};
  async_guarded::answer got;
  // Its function never ends, as its coroutine is destroyed.
  struct never_resumed {
    std::coroutine_handle<>* suspended;
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> x) { *suspended = x; }
    int await_resume() const { return 1; }
  };
  std::coroutine_handle<> suspended;
  auto waiting = g.run(
    got, [&](const attempt&) { return never_resumed{&suspended}; });
  suspended.destroy();
  g.loop->run();
  ASSERT_TRUE(got);
  EXPECT_NE(got->text().find("the attempt is gone"), std::string::npos);
  EXPECT_EQ(g.calls->get_status().layer("breaker").state, "open");
}

// -- beside threads -----------------------------------------------------------

TEST(async_guard, shares_permits_with_threads) {
  async_guarded g{stack{"g"}.semaphore({.permits = 1, .max_waiters = 9})};
  async_guarded::answer got, next;
  auto holder = g.run(got, g.taking(5s));
  EXPECT_EQ(g.calls->run([] {}, {.time_left = 1s}).error(),
            errc::deadline_exceeded);
  EXPECT_EQ(g.clock.passed(), 1s);
  g.loop->run();
  EXPECT_TRUE(got && got->ok());
  // A thread gives its permit to a coroutine.
  coroutine waiting;
  EXPECT_TRUE(g.calls->run([&] {
    waiting = g.run(next, g.taking(1s));
    g.loop->run_for(1s);
    EXPECT_FALSE(next);
  }));
  g.loop->run();
  EXPECT_TRUE(next && next->ok());
}

TEST(async_guard, has_events_in_order) {
  async_guarded g{stack{"g"}.breaker({.threshold = 1})};
  std::vector<std::string> seen;
  async_guarded::answer got, inner;
  coroutine nested;
  g.calls->on_event([&](const event& x) {
    if (seen.empty())
      nested = g.run(inner, g.taking(0s));
    seen.push_back(std::string{name_of(x.kind)});
  });
  auto waiting = g.run(got, g.failing_after(0s));
  g.loop->run();
  ASSERT_FALSE(seen.empty());
  EXPECT_EQ(seen[0], "state_changed");
  ASSERT_TRUE(inner);
  EXPECT_EQ(inner->error(), errc::breaker_open);
}

} // namespace
} // namespace caisson::test
