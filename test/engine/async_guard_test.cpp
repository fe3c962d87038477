// Calls through guards that no thread waits for.
#include <caisson/coroutines.hpp>

#include <support/coroutine.hpp>
#include <support/engine_world.hpp>
#include <support/jumping_clock.hpp>
#include <support/scripted_loop.hpp>

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <chrono>
#include <coroutine>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

struct async_failure : std::runtime_error {
  async_failure() : std::runtime_error("it has failed") {}
};

struct async_guarded {
  using answer = std::optional<result<int>>;

  explicit async_guarded(const stack& policies,
                         exception_classifier classify = {})
    : calls(std::make_unique<guard>(policies, clock, std::move(classify))) {}

  template <class F>
  coroutine run(answer& out, F f, call_options options = {}) {
    out = co_await run_awaitable(*calls, loop, f, options);
    answered_at = clock.passed();
  }

  /// A function that takes that long.
  auto taking(duration d, int value = 1) {
    return [this, d, value](const attempt&) -> task<int> {
      ++started;
      co_await loop->sleep(d);
      ++ended;
      co_return value;
    };
  }

  auto failing_after(duration d) {
    return [this, d](const attempt&) -> task<int> {
      ++started;
      co_await loop->sleep(d);
      ++ended;
      throw async_failure{};
    };
  }

  std::int64_t metric(const std::string& name) {
    return calls->get_status().metric(name);
  }
  std::int64_t metric(const std::string& layer, const std::string& name) {
    return calls->get_status().metric(layer, name);
  }

  jumping_clock clock;
  std::shared_ptr<scripted_loop> loop = std::make_shared<scripted_loop>(clock);
  std::unique_ptr<guard> calls;
  int started = 0, ended = 0;
  duration answered_at = duration::zero();
};

stack retried(duration pause = 100ms) {
  return stack{"g"}.retrier({.max_attempts = 3,
                             .backoff = schedule::constant(pause),
                             .idempotent = true});
}

// -- calls --------------------------------------------------------------------

TEST(async_guard, gives_what_the_function_gives) {
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

TEST(async_guard, takes_values_of_any_kind) {
  async_guarded g{stack{"g"}};
  auto moved = 0;
  auto slept = false;
  auto waiting = [](async_guarded& x, int& out, bool& done) -> coroutine {
    auto first = co_await run_awaitable(*x.calls, x.loop,
                                        [&]() -> task<std::unique_ptr<int>> {
                                          co_await x.loop->sleep(1s);
                                          co_return std::make_unique<int>(3);
                                        });
    out = *std::move(first).value();
    // A `void` function, whose awaiter is no coroutine.
    auto second = co_await run_awaitable(*x.calls, x.loop,
                                         [&] { return x.loop->sleep(1s); });
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
    co_await g.loop->sleep(1s);
    if (a.number() < 3)
      throw async_failure{};
    co_return 5;
  });
  g.loop->run();
  EXPECT_TRUE(got && got->ok());
  EXPECT_THAT(seen, ElementsAre("1 at 0s", "2 at 1100ms", "3 at 2200ms"));
  EXPECT_EQ(g.loop->timers(), 0u);
}

TEST(async_guard, keeps_what_the_last_attempt_has_thrown) {
  async_guarded g{retried()};
  async_guarded::answer got;
  auto waiting = g.run(got, g.failing_after(0s));
  g.loop->run();
  EXPECT_EQ(g.started, 3);
  ASSERT_TRUE(got && !got->ok());
  EXPECT_THROW((void)got->value(), async_failure);
  EXPECT_TRUE(got->may_have_executed());
}

TEST(async_guard, knows_what_failures_mean) {
  async_guarded g{retried(), [](const std::exception_ptr&) {
                    return std::optional{http_answer(404)};
                  }};
  async_guarded::answer got;
  auto waiting = g.run(got, g.failing_after(0s));
  g.loop->run();
  EXPECT_EQ(g.started, 1);
  auto other = g.run(got, [&](const attempt&) -> task<int> {
    ++g.started;
    co_await g.loop->sleep(0s);
    throw attempt_error{"503", http_answer(503)};
  });
  g.loop->run();
  EXPECT_EQ(g.started, 4);
}

TEST(async_guard, repeats_what_does_not_wait_at_all) {
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
    co_await g.loop->sleep(3s);
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
    co_await g.loop->sleep(number == 1 ? 10s : 500ms);
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

// -- cancellation and ends ----------------------------------------------------

TEST(async_guard, cancels_a_call_that_nobody_awaits_any_more) {
  async_guarded g{stack{"g"}.semaphore({.permits = 1, .max_waiters = 9})};
  async_guarded::answer first, second, third;
  auto abandoned = false;
  auto one = g.run(first, [&](const attempt& a) -> task<int> {
    co_await g.loop->sleep(3s);
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

TEST(async_guard, resumes_nobody_who_was_destroyed_after_the_answer) {
  async_guarded g{stack{"g"}};
  async_guarded::answer got;
  auto waiting = g.run(got, [](const attempt&) -> task<int> { co_return 1; });
  EXPECT_EQ(g.loop->ready(), 1u);
  waiting = {};
  g.loop->run();
  EXPECT_FALSE(got);
}

TEST(async_guard, answers_everybody_when_it_is_stopped) {
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

TEST(async_guard, takes_an_attempt_that_is_destroyed_for_a_failure) {
  async_guarded g{stack{"g"}.breaker({.threshold = 1})};
  async_guarded::answer got;
  // Its function never ends, as its coroutine is destroyed.
  struct never_resumed {
    std::coroutine_handle<>* who;
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> x) { *who = x; }
    int await_resume() const { return 1; }
  };
  std::coroutine_handle<> who;
  auto waiting = g.run(got,
                       [&](const attempt&) { return never_resumed{&who}; });
  who.destroy();
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

// -- against an engine --------------------------------------------------------

struct timed_attempt {
  duration takes;
  bool ok;
};

stack any_async_stack() {
  auto seconds = [](int from, int to) {
    return std::chrono::seconds(*rc::gen::inRange(from, to));
  };
  stack s{gate_config{.name = "gate", .default_deadline = unlimited}};
  if (*rc::gen::arbitrary<bool>())
    s.deadline({.timeout = seconds(1, 20)});
  if (*rc::gen::arbitrary<bool>())
    s.retrier({.max_attempts = *rc::gen::inRange(1u, 5u),
               .backoff = schedule::constant(seconds(1, 4)),
               .idempotent = *rc::gen::arbitrary<bool>()});
  if (*rc::gen::arbitrary<bool>())
    s.breaker({.threshold = *rc::gen::inRange(1u, 5u),
               .open = schedule::constant(seconds(1, 20))});
  if (*rc::gen::arbitrary<bool>())
    s.limiter({.rate = 1,
               .per = seconds(1, 5),
               .burst = *rc::gen::inRange(1u, 4u),
               .max_wait = seconds(1, 5)});
  if (*rc::gen::arbitrary<bool>())
    s.deadline({.name = "attempt", .timeout = seconds(1, 5)});
  if (*rc::gen::arbitrary<bool>())
    s.semaphore({.permits = 2, .max_waiters = 3});
  return s;
}

// What was answered when, as a line for each call.
using timed_plan = std::vector<timed_attempt>;
using arrival_times = std::vector<duration>;

std::string answer_line(std::string text, duration at) {
  return text.substr(0, text.find_first_of(" ,")) + " at " + to_text(at);
}

lines by_an_engine(const stack& s, const timed_plan& plan,
                   const arrival_times& arrivals) {
  world_setup setup;
  setup.config = s.config();
  setup.worker.takes_cancelled = true;
  engine_world w{s.build(), setup};
  lines out;
  std::multimap<duration, std::function<void()>> due;
  std::size_t seen = 0;
  for (auto at : arrivals)
    due.emplace(at, [&] {
      w.call("x");
      out.emplace_back();
    });
  auto look = [&] {
    for (; seen < w.attempts.size(); ++seen) {
      const auto& x = plan[seen % plan.size()];
      due.emplace(w.now() + x.takes,
                  [&w, &x, n = seen] { x.ok ? w.answer(n, "ok") : w.fail(n); });
    }
    for (std::size_t i = 0; i < out.size(); ++i)
      if (out[i].empty() && !w.answer_to(i).empty())
        out[i] = answer_line(w.answer_to(i), w.now());
  };
  while (!due.empty() || w.unanswered() > 0) {
    auto wake = w.next_wake() == never
                  ? unlimited
                  : duration{w.next_wake() - engine_world::origin()};
    if (due.empty() || wake <= due.begin()->first) {
      w.at(wake);
    } else {
      auto next = due.extract(due.begin());
      w.at(next.key());
      next.mapped()();
    }
    look();
  }
  return out;
}

lines by_a_guard(const stack& s, const timed_plan& plan,
                 const arrival_times& arrivals) {
  async_guarded g{s};
  lines out(arrivals.size());
  std::vector<coroutine> waiting;
  std::size_t count = 0;
  auto f = [&]() -> task<int> {
    const auto& x = plan[count++ % plan.size()];
    co_await g.loop->sleep(x.takes);
    if (!x.ok)
      throw async_failure{};
    co_return 1;
  };
  auto call = [&](std::string& line) -> coroutine {
    auto r = co_await run_awaitable(*g.calls, g.loop, f);
    line = answer_line(r ? "ok" : words_of(r.error()), g.clock.passed());
  };
  for (std::size_t i = 0; i < arrivals.size(); ++i)
    g.loop->at(jumping_clock::origin() + arrivals[i],
               [&, i] { waiting.push_back(call(out[i])); });
  g.loop->run();
  EXPECT_EQ(g.loop->timers(), 0u);
  return out;
}

RC_GTEST_PROP(async_guard_property, answers_as_an_engine_does, ()) {
  auto s = any_async_stack();
  auto plan = *rc::gen::nonEmpty(rc::gen::container<timed_plan>(rc::gen::apply(
    [](int takes, bool ok) {
      return timed_attempt{std::chrono::seconds(takes), ok};
    },
    rc::gen::inRange(0, 6), rc::gen::arbitrary<bool>())));
  // No two at the same instant, nor at that of anything else.
  arrival_times arrivals;
  auto at = duration::zero();
  for (int i = 0; i < 12; ++i) {
    at += std::chrono::seconds(*rc::gen::inRange(0, 3)) + 1ms;
    arrivals.push_back(at);
  }
  RC_ASSERT(by_a_guard(s, plan, arrivals) == by_an_engine(s, plan, arrivals));
}

} // namespace
} // namespace caisson::test
