// Calls that no thread waits for are answered as by an engine.
#include <support/async_guarded.hpp>
#include <support/engine_world.hpp>

#include <rapidcheck/gtest.h>

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace caisson::test {
namespace {

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
  // Also what comes after the last answer: a breaker may be half-open.
  while (!due.empty() || w.unanswered() > 0 || w.next_wake() != never) {
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
    co_await g.loop->pause(x.takes);
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
