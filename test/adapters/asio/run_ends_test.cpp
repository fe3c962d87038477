// The end of calls through guards that are operations of Asio: with their
// contexts, with their guards, and beside threads.
#include <adapters/asio/run_fixture.hpp>

#include <asio/experimental/awaitable_operators.hpp>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace caisson::test {
namespace {

// -- the end of a context -----------------------------------------------------

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

TEST_F(asio_run_test, has_not_failed_if_the_context_of_its_attempts_ends) {
  guard g{stack{"g"}.breaker({.threshold = 1})};
  answer got;
  {
    asio::io_context short_lived;
    async_run(g, short_lived.get_executor(), endless(), into(got));
    short_lived.poll();
  }
  context.run();
  ASSERT_TRUE(got);
  EXPECT_EQ(got->error(), errc::cancelled);
  EXPECT_EQ(g.get_status().layer("breaker").state, "closed");
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

// One that waits keeps the time, and lets go of calls whose time is over.
TEST_F(asio_run_test, gives_up_beside_threads_that_wait) {
  struct slow_to_end {
    ~slow_to_end() { std::this_thread::sleep_for(2ms); }
  };
  guard g{stack{"g"}.semaphore({.permits = 1, .max_waiters = 1000})};
  asio::thread_pool pool{3};
  std::atomic<bool> end{false};
  std::vector<std::jthread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&] {
      while (!end)
        (void)g.run([] { std::this_thread::sleep_for(1ms); },
                    {.time_left = 3ms});
    });
  constexpr int calls = 400;
  std::atomic<int> answered{0};
  for (int i = 0; i < calls; ++i) {
    auto f =
      [held = std::make_shared<slow_to_end>()]() -> asio::awaitable<int> {
      co_return 1;
    };
    async_run(g, pool.get_executor(), std::move(f),
              call_options{.time_left = 1ms}, [&](result<int>) { ++answered; });
    std::this_thread::sleep_for(500us);
  }
  end = true;
  threads.clear();
  pool.join();
  EXPECT_EQ(answered, calls);
}

// The signal that ends an attempt may come before its first step.
TEST_F(asio_run_test, gives_up_attempts_as_they_start) {
  guard g{stack{"g"}};
  std::atomic<int> in_it{0}, answered{0};
  constexpr int calls = 3000;
  for (int i = 0; i < calls; ++i)
    async_run(
      g, executor(),
      [&]() -> asio::awaitable<int> {
        struct counted {
          explicit counted(std::atomic<int>& n) : n(n) { ++n; }
          ~counted() { --n; }
          std::atomic<int>& n;
        } now{in_it};
        co_await pause(1h);
        co_return 1;
      },
      call_options{.time_left = std::chrono::microseconds(1 + i % 40)},
      [&](result<int>) { ++answered; });
  auto run = [&] { EXPECT_NO_THROW(context.run()); };
  std::jthread other{run};
  run();
  other.join();
  EXPECT_EQ(answered, calls);
  EXPECT_EQ(in_it, 0);
}

TEST_F(asio_run_test, ends_with_the_strand_of_its_handler) {
  guard g{stack{"g"}};
  asio::thread_pool attempts{1};
  std::promise<void> over;
  auto ended = over.get_future().share();
  {
    asio::io_context callers;
    auto ask = [&]() -> asio::awaitable<void> {
      // GCC 12 destroys one that has no name twice.
      auto f = [ended]() -> asio::awaitable<int> {
        ended.wait();
        co_return 1;
      };
      (void)co_await async_run(g, attempts.get_executor(), f,
                               asio::use_awaitable);
    };
    asio::co_spawn(asio::make_strand(callers), ask(), asio::detached);
    callers.poll();
  }
  over.set_value();
  attempts.join();
  EXPECT_EQ(g.get_status().metric("cancelled"), 1);
}

TEST_F(asio_run_test, keeps_the_time_beside_a_strand_that_is_busy) {
  guard g{stack{"g"}};
  asio::thread_pool pool{3};
  auto strand = asio::make_strand(pool);
  auto wait = []() -> asio::awaitable<int> {
    co_await pause(1h);
    co_return 1;
  };
  async_run(g, strand, wait, call_options{.time_left = 60s}, [](auto) {});
  std::promise<void> second;
  std::atomic<bool> in_time{false};
  asio::post(strand, [&] {
    in_time = second.get_future().wait_for(10s) == std::future_status::ready;
    g.stop();
  });
  async_run(g, pool.get_executor(), wait, call_options{.time_left = 50ms},
            [&](auto) { second.set_value(); });
  pool.join();
  EXPECT_TRUE(in_time);
}

// -- a guard's end ------------------------------------------------------------

// Nobody runs the context when the call is over.
TEST_F(asio_run_test, is_over_for_those_who_drain_by_whatever_happens) {
  for (auto ends : {false, true}) {
    auto g = std::make_unique<guard>(stack{"g"}.deadline({.timeout = 100ms}));
    answer got;
    async_run(*g, executor(), endless(), into(got));
    auto drained = std::async(std::launch::async, [&] { g->drain(); });
    while (g->get_status().state != gate_state::draining
           && drained.wait_for(1ms) != ready)
      continue;
    if (ends) {
      g.reset();
    } else {
      std::this_thread::sleep_for(100ms);
      EXPECT_EQ(g->get_status().metric("in_progress"), 0);
    }
    EXPECT_EQ(drained.wait_for(10s), ready);
    if (g)
      g->stop();
    drained.wait();
    context.restart();
    context.run();
  }
}

// It waits for its turn, until an operator lets it go on and it is refused.
TEST_F(asio_run_test, is_over_for_those_who_drain_if_an_operator_ends_it) {
  guard g{stack{"g"}
            .limiter({.rate = 1, .per = 1h, .burst = 1, .max_wait = 1h})
            .breaker()};
  EXPECT_TRUE(g.run([] { return 1; }).ok());
  EXPECT_EQ(g.command({operator_command::force_open, "breaker"}), caf::none);
  answer got;
  async_run(g, executor(), endless(), call_options{.time_left = 1h}, into(got));
  auto drained = std::async(std::launch::async, [&] { g.drain(); });
  while (g.get_status().state != gate_state::draining)
    std::this_thread::yield();
  EXPECT_EQ(drained.wait_for(5ms), std::future_status::timeout);
  EXPECT_EQ(g.reconfigure({"limiter", {{"per", "1ms"}}}), caf::none);
  EXPECT_EQ(drained.wait_for(10s), ready);
  g.stop();
  context.run();
  ASSERT_TRUE(got);
  EXPECT_EQ(got->error(), errc::breaker_open);
}

TEST_F(asio_run_test, may_end_while_attempts_end) {
  constexpr int calls = 20;
  asio::thread_pool pool{2};
  std::atomic<int> answered{0};
  for (int i = 0; i < 100; ++i) {
    guard g{stack{"g"}};
    for (int k = 0; k < calls; ++k)
      async_run(
        g, pool.get_executor(),
        [k]() -> asio::awaitable<int> {
          co_await pause(std::chrono::microseconds(50 * (k % 5)));
          co_return 1;
        },
        // Else it would be called by a thread of the system's executor.
        asio::bind_executor(pool, [&](result<int>) { ++answered; }));
    std::this_thread::sleep_for(std::chrono::microseconds(10 * (i % 30)));
  }
  pool.join();
  EXPECT_EQ(answered, 100 * calls);
}

// -- many threads -------------------------------------------------------------

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

} // namespace
} // namespace caisson::test
