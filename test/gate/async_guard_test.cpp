// Calls through guards that no thread waits for.
#include <support/async_guarded.hpp>

#include <gmock/gmock.h>

#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace caisson::test {
namespace {

using testing::ElementsAre;

// What the docs show: an attempt of a coroutine of any library.
// [run]
coroutine buy(guard& prices, std::shared_ptr<scripted_loop> loop, int& out) {
  auto ask = [loop](const attempt& a) -> task<int> {
    co_await loop->pause(100ms);
    if (a.number() == 1)
      throw std::runtime_error{"connection refused"};
    co_return 3;
  };
  auto price = co_await caisson::run_awaitable(prices, loop, ask);
  if (price)
    out = *price;
}
// [/run]

// -- calls --------------------------------------------------------------------

TEST(async_guard, returns_the_result_of_the_function) {
  async_guarded g{stack{"g"}};
  async_guarded::answer got;
  auto waiting = g.run(got, g.taking(1s, 7));
  EXPECT_FALSE(got);
  g.loop->run();
  ASSERT_TRUE(got && got->ok());
  EXPECT_EQ(**got, 7);
  EXPECT_EQ(g.answered_at, 1s);
  EXPECT_EQ(g.metric("succeeded"), 1);
  EXPECT_EQ(g.loop->timers(), 0u);
}

TEST(async_guard, is_as_the_docs_show) {
  async_guarded g{retried()};
  auto price = 0;
  auto waiting = buy(*g.calls, g.loop, price);
  g.loop->run();
  EXPECT_EQ(price, 3);
}

TEST(async_guard, takes_values_of_any_kind) {
  async_guarded g{stack{"g"}};
  auto moved = 0;
  auto slept = false;
  auto waiting = [](async_guarded& x, int& out, bool& done) -> coroutine {
    auto first = co_await run_awaitable(*x.calls, x.loop,
                                        [&]() -> task<std::unique_ptr<int>> {
                                          co_await x.loop->pause(1s);
                                          co_return std::make_unique<int>(3);
                                        });
    out = *std::move(first).value();
    // A `void` function, whose awaiter is no coroutine.
    auto second = co_await run_awaitable(*x.calls, x.loop,
                                         [&] { return x.loop->pause(1s); });
    done = second.ok();
  }(g, moved, slept);
  g.loop->run();
  EXPECT_EQ(moved, 3);
  EXPECT_TRUE(slept);
}

TEST(async_guard, makes_attempts_with_the_delays_of_the_retrier) {
  async_guarded g{retried()};
  std::vector<std::string> seen;
  async_guarded::answer got;
  auto waiting = g.run(got, [&](const attempt& a) -> task<int> {
    seen.push_back(std::to_string(a.number()) + " at "
                   + to_text(g.clock.passed()));
    co_await g.loop->pause(1s);
    if (a.number() < 3)
      throw async_failure{};
    co_return 5;
  });
  g.loop->run();
  EXPECT_TRUE(got && got->ok());
  EXPECT_THAT(seen, ElementsAre("1 at 0s", "2 at 1100ms", "3 at 2200ms"));
  EXPECT_EQ(g.loop->timers(), 0u);
}

TEST(async_guard, keeps_the_exception_of_the_last_attempt) {
  async_guarded g{retried()};
  async_guarded::answer got;
  auto waiting = g.run(got, g.failing_after(0s));
  g.loop->run();
  EXPECT_EQ(g.started, 3);
  ASSERT_TRUE(got && !got->ok());
  EXPECT_THROW((void)got->value(), async_failure);
  EXPECT_TRUE(got->may_have_executed());
}

TEST(async_guard, classifies_failures) {
  async_guarded g{retried(), [](const std::exception_ptr&) {
                    return std::optional{http_answer(404)};
                  }};
  async_guarded::answer got;
  auto waiting = g.run(got, g.failing_after(0s));
  g.loop->run();
  EXPECT_EQ(g.started, 1);
  auto other = g.run(got, [&](const attempt&) -> task<int> {
    ++g.started;
    co_await g.loop->pause(0s);
    throw attempt_error{"503", http_answer(503)};
  });
  g.loop->run();
  EXPECT_EQ(g.started, 4);
}

TEST(async_guard, repeats_an_attempt_that_does_not_suspend) {
  async_guarded g{stack{"g"}.retrier({.max_attempts = 100,
                                      .backoff = schedule::constant(0s),
                                      .idempotent = true,
                                      .budget = false,
                                      .unsafe = true})};
  async_guarded::answer got;
  auto waiting = g.run(got, [&](const attempt& a) -> task<int> {
    if (a.number() < 100)
      throw async_failure{};
    co_return 1;
  });
  // It goes on in the loop, not within the call.
  EXPECT_FALSE(got);
  g.loop->run();
  EXPECT_TRUE(got && got->ok());
}

TEST(async_guard, takes_the_options_of_a_call) {
  async_guarded g{stack{"g"}};
  async_guarded::answer got;
  auto waiting = g.run(
    got,
    [&](const attempt& a) -> task<int> {
      EXPECT_EQ(a.key(), "a tenant with a name that is long");
      EXPECT_EQ(a.deadline(), g.clock.now() + 3s);
      co_return 1;
    },
    {.time_left = 3s, .key = "a tenant with a name that is long"});
  g.loop->run();
  EXPECT_TRUE(got && got->ok());
}

TEST(async_guard, is_refused_in_the_loop) {
  async_guarded g{
    stack{"g"}.breaker({.threshold = 1, .open = schedule::constant(5s)})};
  async_guarded::answer got;
  auto first = g.run(got, g.failing_after(0s));
  g.loop->run();
  got.reset();
  auto second = g.run(got, g.taking(0s));
  EXPECT_FALSE(got);
  g.loop->run();
  ASSERT_TRUE(got);
  EXPECT_EQ(got->error(), errc::breaker_open);
  EXPECT_FALSE(got->may_have_executed());
  EXPECT_EQ(g.started, 1);
}

TEST(async_guard, is_awaited_only_once) {
  async_guarded g{stack{"g"}};
  auto refused = false;
  auto waiting = [](async_guarded& x, bool& out) -> coroutine {
    auto call = run_awaitable(*x.calls, x.loop, x.taking(0s));
    EXPECT_TRUE(co_await call);
    try {
      (void)co_await call;
    } catch (const std::logic_error&) {
      out = true;
    }
  }(g, refused);
  g.loop->run();
  EXPECT_TRUE(refused);
}

// -- time ---------------------------------------------------------------------

TEST(async_guard, answers_at_the_deadline_although_an_attempt_runs) {
  async_guarded g{stack{"g"}.deadline({.timeout = 1s})};
  async_guarded::answer got;
  auto abandoned = false;
  auto waiting = g.run(got, [&](const attempt& a) -> task<int> {
    co_await g.loop->pause(3s);
    abandoned = a.abandoned();
    co_return 1;
  });
  g.loop->run_for(2s);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->error(), errc::deadline_exceeded);
  EXPECT_TRUE(got->may_have_executed());
  EXPECT_EQ(g.answered_at, 1s);
  EXPECT_FALSE(abandoned);
  // What the attempt uses lives until its end.
  waiting = {};
  g.loop->run();
  EXPECT_TRUE(abandoned);
  EXPECT_EQ(g.metric("late_results"), 1);
}

TEST(async_guard, starts_an_attempt_beside_one_that_takes_too_long) {
  async_guarded g{retried(0s).deadline({.name = "attempt", .timeout = 1s})};
  async_guarded::answer got;
  std::vector<duration> begun;
  auto waiting = g.run(got, [&](const attempt& a) -> task<int> {
    begun.push_back(g.clock.passed());
    const auto number = a.number();
    co_await g.loop->pause(number == 1 ? 10s : 500ms);
    EXPECT_EQ(a.abandoned(), number == 1);
    co_return static_cast<int>(number);
  });
  g.loop->run();
  ASSERT_TRUE(got && got->ok());
  EXPECT_EQ(**got, 2);
  EXPECT_EQ(g.answered_at, 1500ms);
  EXPECT_THAT(begun, ElementsAre(0s, 1s));
}

TEST(async_guard, waits_for_permits_in_turn) {
  async_guarded g{stack{"g"}.semaphore({.permits = 1, .max_waiters = 2})};
  std::vector<async_guarded::answer> got(4);
  std::vector<coroutine> waiting;
  for (auto& x : got)
    waiting.push_back(g.run(x, g.taking(1s)));
  g.loop->run_for(1500ms);
  EXPECT_EQ(g.started, 2);
  EXPECT_TRUE(got[0] && got[0]->ok());
  ASSERT_TRUE(got[3]);
  EXPECT_EQ(got[3]->error(), errc::queue_full);
  g.loop->run();
  EXPECT_EQ(g.started, 3);
  EXPECT_TRUE(got[2] && got[2]->ok());
  EXPECT_EQ(g.answered_at, 3s);
  EXPECT_EQ(g.metric("semaphore", "in_use"), 0);
}

TEST(async_guard, waits_for_tokens) {
  async_guarded g{
    stack{"g"}.limiter({.rate = 1, .per = 1s, .burst = 1, .max_wait = 10s})};
  std::vector<async_guarded::answer> got(3);
  std::vector<coroutine> waiting;
  for (auto& x : got)
    waiting.push_back(g.run(x, g.taking(0s)));
  g.loop->run();
  EXPECT_EQ(g.answered_at, 2s);
  EXPECT_EQ(g.started, 3);
}

} // namespace
} // namespace caisson::test
