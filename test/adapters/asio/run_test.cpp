// Calls through guards as operations of Asio.
#include <caisson/coroutines.hpp>

#include <adapters/asio/run_fixture.hpp>
#include <support/coroutine.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

namespace caisson::test {
namespace {

/// Has no default constructor.
struct run_value {
  explicit run_value(int n) : number(n) {}
  int number;
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
