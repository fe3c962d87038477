// Coroutines that await answers of gates, on the real scheduler.
#include <caisson/coroutines.hpp>
#include <caisson/gate.hpp>

#include <support/coroutine.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <latch>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

class awaited_requests : public testing::Test {
public:
  awaited_requests() : sys(cfg) {
    auto echo = sys.spawn(
      []() -> caf::behavior { return {[](int x) { return x; }}; });
    gate = spawn_gate(sys, echo,
                      stack{"desk"}.retrier().breaker().semaphore(
                        {.permits = 4, .max_waiters = 5000}));
  }

  void TearDown() override { stop_gate(gate); }

  system_config cfg;
  caf::actor_system sys;
  caf::actor gate;
};

TEST_F(awaited_requests, are_answered_in_threads_of_the_scheduler) {
  constexpr int count = 500;
  std::atomic<int> good{0};
  std::atomic<bool> elsewhere{true};
  std::latch all{count};
  std::vector<coroutine> waiting;
  waiting.reserve(count);
  for (int i = 0; i < count; ++i)
    waiting.push_back([](awaited_requests& t, auto& n, auto& other, auto& end,
                         int x, std::thread::id from) -> coroutine {
      for (int k = 0; k < 3; ++k) {
        auto r = co_await request_awaitable<int>(t.sys, t.gate, 30s, x);
        n += r && *r == x ? 1 : 0;
        if (std::this_thread::get_id() == from)
          other = false;
      }
      end.count_down();
    }(*this, good, elsewhere, all, i, std::this_thread::get_id()));
  all.wait();
  while (!std::all_of(waiting.begin(), waiting.end(),
                      [](const auto& x) { return x.done(); }))
    std::this_thread::yield();
  EXPECT_EQ(good, 3 * count);
  EXPECT_TRUE(elsewhere);
}

// The thread that runs them destroys some of them, whose answers may be there.
TEST_F(awaited_requests, may_be_destroyed_while_answers_come) {
  std::mutex mutex;
  std::vector<std::function<void()>> ready;
  auto resume = [&](std::function<void()> f) {
    std::lock_guard guard{mutex};
    ready.push_back(std::move(f));
  };
  auto run = [&] {
    std::vector<std::function<void()>> now;
    {
      std::lock_guard guard{mutex};
      now.swap(ready);
    }
    for (auto& f : now)
      f();
  };
  std::mt19937 random{7};
  int good = 0;
  for (int i = 0; i < 2000; ++i) {
    auto waiting = [](awaited_requests& t, auto where, int& n) -> coroutine {
      auto r = co_await request_awaitable<int>(t.sys, t.gate, 30s, 1, where);
      n += r.ok() ? 1 : 0;
    }(*this, resume, good);
    for (auto k = random() % 50; k > 0; --k) {
      std::this_thread::yield();
      run();
    }
  }
  stop_gate(gate);
  sys.await_all_actors_done();
  run();
  EXPECT_LE(good, 2000);
}

} // namespace
} // namespace caisson::test
