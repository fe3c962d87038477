// A guard, a loop and a clock for calls that no thread waits for.
#pragma once

#include <caisson/coroutines.hpp>

#include <support/coroutine.hpp>
#include <support/jumping_clock.hpp>
#include <support/scripted_loop.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace caisson::test {

using namespace std::chrono_literals;

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
      co_await loop->pause(d);
      ++ended;
      co_return value;
    };
  }

  auto failing_after(duration d) {
    return [this, d](const attempt&) -> task<int> {
      ++started;
      co_await loop->pause(d);
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

inline stack retried(duration pause = 100ms) {
  return stack{"g"}.retrier({.max_attempts = 3,
                             .backoff = schedule::constant(pause),
                             .idempotent = true});
}

} // namespace caisson::test
