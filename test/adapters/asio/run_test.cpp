// Calls through guards as operations of Asio.
#include <caisson/adapters/asio/run.hpp>
#include <caisson/coroutines.hpp>
#include <caisson/guard.hpp>

#include <support/coroutine.hpp>

#include <gtest/gtest.h>

#include <asio.hpp>
#include <asio/experimental/awaitable_operators.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

/// Has no default constructor.
struct run_value {
  explicit run_value(int n) : number(n) {}
  int number;
};

asio::awaitable<void> pause(duration d) {
  asio::steady_timer timer{co_await asio::this_coro::executor, d};
  co_await timer.async_wait(asio::use_awaitable);
}

class asio_run_test : public testing::Test {
public:
  using answer = std::optional<result<int>>;

  auto into(answer& out) {
    return asio::bind_executor(context,
                               [&out](result<int> r) { out = std::move(r); });
  }

  /// Waits for ever, unless it is cancelled.
  auto endless() {
    return [this](const attempt& a) -> asio::awaitable<int> {
      ++running;
      try {
        co_await pause(1h);
      } catch (...) {
        --running;
        abandoned += a.abandoned() ? 1 : 0;
        throw;
      }
      co_return 1;
    };
  }

  auto executor() { return context.get_executor(); }

  // Before the context, whose end may end attempts.
  int running = 0, abandoned = 0;
  asio::io_context context;
};

TEST_F(asio_run_test, retries_in_a_coroutine) {
  guard g{stack{"g"}.retrier({.max_attempts = 3,
                              .backoff = schedule::constant(5ms),
                              .idempotent = true})};
  auto home = std::this_thread::get_id();
  auto ask = [&]() -> asio::awaitable<void> {
    auto r = co_await async_run(
      g, co_await asio::this_coro::executor,
      [&](const attempt& a) -> asio::awaitable<run_value> {
        EXPECT_EQ(std::this_thread::get_id(), home);
        co_await pause(1ms);
        if (a.number() < 3)
          throw std::runtime_error{"not yet"};
        co_return run_value{7};
      },
      asio::use_awaitable);
    EXPECT_EQ(r.value().number, 7);
    // No temporary: GCC 12 destroys one with braces wrongly.
    call_options options{.key = "tenant"};
    auto none = co_await async_run(
      g, co_await asio::this_coro::executor,
      []() -> asio::awaitable<void> { co_return; }, options,
      asio::use_awaitable);
    EXPECT_TRUE(none.ok());
  };
  auto ended = false;
  asio::co_spawn(context, ask(),
                 [&](const std::exception_ptr& x) { ended = x == nullptr; });
  auto begun = std::chrono::steady_clock::now();
  context.run();
  EXPECT_TRUE(ended);
  EXPECT_EQ(g.get_status().metric("succeeded"), 2);
  // No timer of the call keeps the context.
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 10s);
}

TEST_F(asio_run_test, calls_back_and_fulfils_futures) {
  guard g{stack{"g"}};
  auto f = []() -> asio::awaitable<int> { co_return 4; };
  answer got;
  async_run(g, executor(), f, into(got));
  EXPECT_FALSE(got);
  context.run();
  EXPECT_TRUE(got && got->ok());
  asio::thread_pool pool{1};
  EXPECT_EQ(
    async_run(g, pool.get_executor(), f, asio::use_future).get().value(), 4);
}

TEST_F(asio_run_test, cancels_what_an_attempt_waits_for_at_the_deadline) {
  guard g{stack{"g"}.deadline({.timeout = 20ms})};
  answer got;
  async_run(g, executor(), endless(), into(got));
  auto begun = std::chrono::steady_clock::now();
  context.run();
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 10s);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->error(), errc::deadline_exceeded);
  EXPECT_EQ(running, 0);
  EXPECT_EQ(abandoned, 1);
}

// Whether the attempt ends does not matter to its caller.
TEST_F(asio_run_test, answers_although_an_attempt_ignores_its_cancellation) {
  guard g{stack{"g"}.deadline({.timeout = 20ms})};
  answer got;
  auto kept = std::make_shared<int>(1);
  std::optional<duration> answered;
  auto begun = std::chrono::steady_clock::now();
  async_run(
    g, executor(),
    [kept]() -> asio::awaitable<int> {
      co_await asio::this_coro::reset_cancellation_state(
        asio::disable_cancellation());
      co_await pause(300ms);
      co_return *kept;
    },
    asio::bind_executor(context, [&](result<int> r) {
      got = std::move(r);
      answered = std::chrono::steady_clock::now() - begun;
    }));
  context.run();
  EXPECT_GE(std::chrono::steady_clock::now() - begun, 300ms);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->error(), errc::deadline_exceeded);
  EXPECT_LT(*answered, 300ms);
  EXPECT_EQ(kept.use_count(), 1);
  EXPECT_EQ(g.get_status().metric("late_results"), 1);
}

TEST_F(asio_run_test, is_cancelled_by_its_slot) {
  guard g{stack{"g"}.semaphore({.permits = 1, .max_waiters = 9})};
  asio::cancellation_signal first, second;
  std::vector<answer> got(2);
  async_run(g, executor(), endless(),
            asio::bind_cancellation_slot(first.slot(), into(got[0])));
  async_run(g, executor(), endless(),
            asio::bind_cancellation_slot(second.slot(), into(got[1])));
  context.poll();
  EXPECT_EQ(running, 1);
  // One that waits, and one that runs.
  second.emit(asio::cancellation_type::total);
  context.poll();
  ASSERT_TRUE(got[1]);
  EXPECT_EQ(got[1]->error(), errc::cancelled);
  EXPECT_FALSE(got[1]->may_have_executed());
  first.emit(asio::cancellation_type::terminal);
  context.run();
  ASSERT_TRUE(got[0]);
  EXPECT_EQ(got[0]->error(), errc::cancelled);
  EXPECT_TRUE(got[0]->may_have_executed());
  EXPECT_EQ(running, 0);
  EXPECT_EQ(abandoned, 1);
  EXPECT_EQ(g.get_status().metric("semaphore", "in_use"), 0);
  EXPECT_EQ(g.get_status().metric("cancelled"), 2);
}

TEST_F(asio_run_test, ends_with_the_coroutine_that_lost_a_race) {
  using namespace asio::experimental::awaitable_operators;
  guard g{stack{"g"}};
  auto race = [&]() -> asio::awaitable<void> {
    auto first = co_await (
      async_run(g, executor(), endless(), asio::use_awaitable) || pause(20ms));
    EXPECT_EQ(first.index(), 1u);
  };
  asio::co_spawn(context, race(), asio::detached);
  context.run();
  EXPECT_EQ(abandoned, 1);
  EXPECT_EQ(g.get_status().metric("cancelled"), 1);
}

TEST_F(asio_run_test, ends_with_its_context) {
  guard g{stack{"g"}.semaphore({.permits = 1, .max_waiters = 9})};
  auto held = std::make_shared<int>(0);
  {
    asio::io_context short_lived;
    for (int i = 0; i < 3; ++i)
      async_run(
        g, short_lived.get_executor(),
        [held]() -> asio::awaitable<int> {
          co_await pause(1h);
          co_return *held;
        },
        asio::bind_executor(short_lived, [held](result<int>) {
          ADD_FAILURE() << "nobody runs it";
        }));
    short_lived.poll();
    EXPECT_EQ(g.get_status().metric("semaphore", "waiting"), 2);
  }
  EXPECT_EQ(held.use_count(), 1);
  auto s = g.get_status();
  EXPECT_EQ(s.metric("semaphore", "in_use"), 0);
  EXPECT_EQ(s.metric("semaphore", "waiting"), 0);
}

// The handler is in one context, the attempts in another.
TEST_F(asio_run_test, ends_with_the_context_of_its_attempts) {
  guard g{stack{"g"}.retrier({.max_attempts = 3,
                              .backoff = schedule::constant(1ms),
                              .idempotent = true})};
  answer got;
  {
    asio::io_context short_lived;
    async_run(g, short_lived.get_executor(), endless(), into(got));
    short_lived.poll();
    EXPECT_EQ(running, 1);
  }
  context.run();
  ASSERT_TRUE(got);
  EXPECT_EQ(got->error(), errc::cancelled);
}

TEST_F(asio_run_test, may_end_before_its_calls) {
  std::vector<answer> got(3);
  {
    guard g{stack{"g"}.semaphore({.permits = 1, .max_waiters = 9})};
    for (auto& x : got)
      async_run(g, executor(), endless(), into(x));
    context.poll();
  }
  context.run();
  for (const auto& x : got) {
    ASSERT_TRUE(x);
    EXPECT_EQ(x->error(), errc::cancelled);
  }
  EXPECT_EQ(running, 0);
}

TEST_F(asio_run_test, serves_many_threads_beside_others) {
  guard g{stack{"g"}
            .deadline({.timeout = 30s})
            .retrier({.max_attempts = 3,
                      .backoff = schedule::constant(1ms),
                      .idempotent = true,
                      .budget = false})
            .semaphore({.permits = 3, .max_waiters = 5000})};
  asio::thread_pool pool{3};
  std::atomic<int> good{0}, busy{0}, most{0};
  auto enter = [&] {
    auto now = ++busy;
    for (auto m = most.load(); m < now && !most.compare_exchange_weak(m, now);)
      continue;
  };
  auto ask = [&]() -> asio::awaitable<void> {
    for (int k = 0; k < 10; ++k) {
      auto r = co_await async_run(
        g, pool.get_executor(),
        [&](const attempt& a) -> asio::awaitable<int> {
          enter();
          co_await asio::post(asio::use_awaitable);
          --busy;
          if (a.number() == 1 && a.deadline() != never && good % 3 == 0)
            throw std::runtime_error{"once"};
          co_return 1;
        },
        asio::use_awaitable);
      good += r.ok() ? 1 : 0;
    }
  };
  for (int i = 0; i < 60; ++i)
    asio::co_spawn(pool, ask(), asio::detached);
  std::jthread other{[&] {
    for (int k = 0; k < 200; ++k)
      (void)g.run([&] {
        enter();
        --busy;
      });
  }};
  other.join();
  pool.join();
  EXPECT_EQ(good, 600);
  EXPECT_LE(most, 3);
  EXPECT_EQ(g.get_status().metric("semaphore", "in_use"), 0);
}

TEST_F(asio_run_test, survives_cancellations_by_many_threads) {
  guard g{stack{"g"}
            .deadline({.timeout = 2ms})
            .semaphore({.permits = 3, .max_waiters = 5000})};
  asio::thread_pool pool{3};
  std::atomic<int> ended{0};
  auto ask = [&](int i) -> asio::awaitable<void> {
    for (int k = 0; k < 10; ++k) {
      (void)co_await async_run(
        g, pool.get_executor(),
        [i, k]() -> asio::awaitable<int> {
          co_await pause(std::chrono::microseconds(1000 + 200 * ((i + k) % 9)));
          co_return 1;
        },
        asio::use_awaitable);
      ++ended;
    }
  };
  for (int i = 0; i < 60; ++i)
    asio::co_spawn(pool, ask(i), asio::detached);
  pool.join();
  EXPECT_EQ(ended, 600);
  EXPECT_EQ(g.get_status().metric("semaphore", "in_use"), 0);
}

// A coroutine of another library, in the loop of Asio.
TEST_F(asio_run_test, is_a_loop_for_other_coroutines) {
  guard g{stack{"g"}.retrier({.max_attempts = 3,
                              .backoff = schedule::constant(5ms),
                              .idempotent = true})};
  auto loop = asio_event_loop(executor());
  std::optional<std::thread::id> home;
  auto count = 0;
  auto ask = [&]() -> coroutine {
    auto r = co_await run_awaitable(g, loop, [&]() -> task<int> {
      if (++count < 3)
        throw std::runtime_error{"not yet"};
      co_return 1;
    });
    EXPECT_TRUE(r);
    home = std::this_thread::get_id();
  };
  auto waiting = ask();
  std::jthread runner{[&] { context.run(); }};
  auto id = runner.get_id();
  runner.join();
  EXPECT_EQ(home, id);
  EXPECT_EQ(count, 3);
}

} // namespace
} // namespace caisson::test
