// Coroutines that await answers of gates, in virtual time.
#include <caisson/coroutines.hpp>

#include <support/coroutine.hpp>

#include "support/world.hpp"

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

// [request]
coroutine order(caf::actor_system& system, caf::actor shop, int& out) {
  auto number = co_await caisson::request_awaitable<int>(
    system, shop, 2s, caisson::wrap(4).key("table 7"));
  if (number)
    out = *number;
}
// [/request]

class request_awaitable_test : public world_test {
protected:
  using answer = std::optional<result<int>>;

  coroutine ask(const caf::actor& gate, answer& out, duration timeout = 5s,
                resumer resume = {}) {
    out = co_await request_awaitable<int>(world, gate, timeout, 4, resume);
  }
};
CAISSON_ALL_ORDERS(request_awaitable_test);

TEST_P(request_awaitable_test, gets_the_answer) {
  auto w = make_worker(doubles());
  auto g = gate(w.handle(), stack{"g"}.breaker({}));
  answer got;
  auto waiting = ask(g, got);
  EXPECT_FALSE(got);
  world.run_until_idle();
  ASSERT_TRUE(got && got->ok());
  EXPECT_EQ(**got, 8);
  EXPECT_TRUE(waiting.done());
}

TEST_P(request_awaitable_test, is_as_the_docs_show) {
  auto w = make_worker(doubles());
  auto g = gate(w.handle(), stack{"g"});
  auto number = 0;
  auto waiting = order(world, g, number);
  world.run_until_idle();
  EXPECT_EQ(number, 8);
}

TEST_P(request_awaitable_test, awaits_one_after_another) {
  auto w = make_worker(doubles());
  auto g = gate(w.handle(), stack{"g"});
  auto sum = 0;
  auto waiting = [](auto& where, const caf::actor& to, int& out) -> coroutine {
    for (int i = 0; i < 20; ++i) {
      auto r = co_await request_awaitable<int>(
        where, to, 1s, wrap(i).key("a key that is longer than a few bytes"));
      out += r.value();
    }
    auto text = co_await request_awaitable<caf::message>(
      where, to, 1s, std::string("another text that is longer"));
    EXPECT_TRUE(text.error() == caf::sec::unexpected_message);
  }(world, g, sum);
  world.run_until_idle();
  EXPECT_TRUE(waiting.done());
  EXPECT_EQ(sum, 380);
}

TEST_P(request_awaitable_test, says_why_there_is_no_value) {
  auto w = make_worker();
  auto g = gate(w.handle(), stack{"g"}.deadline({.timeout = 1s}));
  answer late, nowhere;
  auto waiting = ask(g, late);
  auto other = ask(caf::actor{}, nowhere);
  world.run_until_idle();
  ASSERT_TRUE(nowhere);
  EXPECT_EQ(nowhere->error(), errc::worker_down);
  EXPECT_FALSE(late);
  world.advance(1s);
  ASSERT_TRUE(late);
  EXPECT_EQ(late->error(), errc::deadline_exceeded);
  EXPECT_TRUE(late->may_have_executed());
}

TEST_P(request_awaitable_test, cancels_the_call_if_it_is_destroyed) {
  auto w = make_worker();
  auto g = gate(worker{w.handle()}.takes_cancelled(), stack{"g"});
  answer got;
  {
    auto waiting = ask(g, got);
    world.run_until_idle();
    EXPECT_EQ(w.open(), 1u);
  }
  world.run_until_idle();
  EXPECT_EQ(w.cancelled_count(), 1u);
  EXPECT_EQ(metric_of(g, "cancelled"), 1);
  EXPECT_FALSE(got);
}

TEST_P(request_awaitable_test, gives_back_its_place_in_a_queue) {
  auto w = make_worker();
  auto g = gate(w.handle(),
                stack{"g"}.semaphore({.permits = 1, .max_waiters = 5}));
  answer first, second;
  auto holder = ask(g, first, unlimited);
  world.run_until_idle();
  {
    auto waiting = ask(g, second, unlimited);
    world.run_until_idle();
    EXPECT_EQ(metric_of(g, "semaphore", "waiting"), 1);
  }
  world.run_until_idle();
  EXPECT_EQ(metric_of(g, "semaphore", "waiting"), 0);
  w.answer(3);
  world.run_until_idle();
  EXPECT_TRUE(first && first->ok());
  EXPECT_FALSE(second);
}

TEST_P(request_awaitable_test, drops_the_answer_if_it_is_destroyed_then) {
  auto w = make_worker(doubles());
  auto g = gate(w.handle(), stack{"g"});
  std::deque<std::function<void()>> later;
  answer got;
  {
    auto waiting = ask(g, got, 5s,
                       [&](auto f) { later.push_back(std::move(f)); });
    world.run_until_idle();
  }
  ASSERT_EQ(later.size(), 1u);
  later.front()();
  EXPECT_FALSE(got);
}

TEST_P(request_awaitable_test, goes_on_where_it_is_said) {
  auto w = make_worker(doubles());
  auto g = gate(w.handle(), stack{"g"});
  std::deque<std::function<void()>> later;
  answer got;
  auto waiting = ask(g, got, 5s,
                     [&](auto f) { later.push_back(std::move(f)); });
  world.run_until_idle();
  EXPECT_FALSE(got);
  ASSERT_EQ(later.size(), 1u);
  later.front()();
  EXPECT_TRUE(got && got->ok());
}

// It tells only gates that a request was taken back: others would not know
// what that means.
TEST_P(request_awaitable_test, sends_workers_nothing_more) {
  auto w = make_worker();
  answer got;
  {
    auto waiting = ask(w.handle(), got);
    world.run_until_idle();
  }
  world.run_until_idle();
  EXPECT_EQ(w.count(), 1u);
  EXPECT_EQ(w.cancelled_count(), 0u);
}

TEST_P(request_awaitable_test, sends_nothing_before_it_is_awaited) {
  auto w = make_worker(doubles());
  auto g = gate(w.handle(), stack{"g"});
  {
    auto unused = request_awaitable<int>(world, g, 1s, 4);
    auto moved = std::move(unused);
  }
  world.run_until_idle();
  EXPECT_EQ(w.count(), 0u);
}

TEST_P(request_awaitable_test, is_awaited_only_once) {
  auto w = make_worker(doubles());
  auto g = gate(w.handle(), stack{"g"});
  auto refused = false;
  auto waiting = [](auto& where, const caf::actor& to, bool& out) -> coroutine {
    auto x = request_awaitable<int>(where, to, 1s, 4);
    EXPECT_TRUE(co_await x);
    try {
      (void)co_await x;
    } catch (const std::logic_error&) {
      out = true;
    }
  }(world, g, refused);
  world.run_until_idle();
  EXPECT_TRUE(refused);
}

} // namespace
} // namespace caisson::test
