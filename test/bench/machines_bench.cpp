// The policies without the actor: what a decision costs.
#include <caisson/detail/timer_queue.hpp>
#include <caisson/stack.hpp>

#include <benchmark/benchmark.h>

#include <memory>

using namespace std::chrono_literals;

namespace caisson {
namespace {

// Plays the gate's part with no more than it must.
struct bench_env final : env {
  bench_env() : env(time_point{} + 1h, source) {}
  random_source source{1};
};

struct pair_of_calls {
  call_info call;
  slot notes;
};

// One call in and out again; a microsecond passes between two calls.
void admit_and_settle(benchmark::State& state, policy& p) {
  bench_env e;
  pair_of_calls x;
  x.call.id = 1;
  x.call.deadline = never;
  x.call.idempotent = idempotence::yes;
  for (auto _ : state) {
    e.now += 1us;
    auto d = p.admit(x.call, x.notes, e);
    benchmark::DoNotOptimize(d);
    auto o = outcome::success();
    auto s = p.settle(x.call, x.notes, o, e);
    x.call.deadline = never;
    benchmark::DoNotOptimize(s);
    benchmark::DoNotOptimize(p.wakeup());
  }
}

void deadline_machine(benchmark::State& state) {
  deadline p{{.timeout = 10s}};
  admit_and_settle(state, p);
}
BENCHMARK(deadline_machine);

void semaphore_machine(benchmark::State& state) {
  semaphore p{{.permits = 10}};
  admit_and_settle(state, p);
}
BENCHMARK(semaphore_machine);

void limiter_machine(benchmark::State& state) {
  limiter p{{.rate = 1'000'000'000, .burst = 1'000'000}};
  admit_and_settle(state, p);
}
BENCHMARK(limiter_machine);

void breaker_machine(benchmark::State& state, breaker_trip trip) {
  breaker p{{.trip = trip}};
  admit_and_settle(state, p);
}
BENCHMARK_CAPTURE(breaker_machine, consecutive, breaker_trip::consecutive);
BENCHMARK_CAPTURE(breaker_machine, rate_by_count, breaker_trip::rate_by_count);
BENCHMARK_CAPTURE(breaker_machine, rate_by_time, breaker_trip::rate_by_time);

void retrier_machine(benchmark::State& state) {
  retrier p{{.max_attempts = 3}};
  admit_and_settle(state, p);
}
BENCHMARK(retrier_machine);

void fallback_machine(benchmark::State& state) {
  fallback p{{}, 1};
  admit_and_settle(state, p);
}
BENCHMARK(fallback_machine);

// Per item: 100 items join a batch, which is taken and settled.
void batcher_machine(benchmark::State& state) {
  constexpr std::size_t n = 100;
  batcher p{{.max_items = n}};
  bench_env e;
  auto xs = std::make_unique<pair_of_calls[]>(n);
  for (std::size_t i = 0; i < n; ++i) {
    xs[i].call.id = i + 1;
    xs[i].call.deadline = never;
  }
  for (auto _ : state) {
    e.now += 1us;
    for (std::size_t i = 0; i < n; ++i)
      benchmark::DoNotOptimize(p.admit(xs[i].call, xs[i].notes, e));
    auto batch = e.actions.at(0).index;
    e.actions.clear();
    for (std::size_t i = 0; i < n; ++i) {
      auto o = outcome::success();
      benchmark::DoNotOptimize(p.settle(xs[i].call, xs[i].notes, o, e));
    }
    auto o = outcome::success();
    benchmark::DoNotOptimize(p.child_done(batch, o, e));
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(n));
}
BENCHMARK(batcher_machine);

void rejection_by_an_open_breaker(benchmark::State& state) {
  breaker p{{.threshold = 1, .open = schedule::constant(1h)}};
  bench_env e;
  pair_of_calls x;
  p.admit(x.call, x.notes, e);
  auto o = outcome::failure(errc::worker_down, true);
  p.settle(x.call, x.notes, o, e);
  for (auto _ : state)
    benchmark::DoNotOptimize(p.admit(x.call, x.notes, e));
}
BENCHMARK(rejection_by_an_open_breaker);

// Sets a timer among n others and takes it out again, as a call does with its
// deadline.
void timer_set_and_cancel(benchmark::State& state) {
  timer_queue<std::uint32_t> timers;
  random_source random{7};
  auto n = static_cast<std::uint64_t>(state.range(0));
  for (std::uint64_t i = 0; i < n; ++i)
    timers.push(
      time_point{}
        + duration(static_cast<std::int64_t>(random.below(1'000'000'000))),
      static_cast<std::uint32_t>(i));
  for (auto _ : state) {
    auto h = timers.push(
      time_point{}
        + duration(static_cast<std::int64_t>(random.below(1'000'000'000))),
      0);
    timers.cancel(h);
  }
}
BENCHMARK(timer_set_and_cancel)->Arg(10)->Arg(1'000'000);

// Fires the earliest of n timers and sets a new one.
void timer_fire_and_set(benchmark::State& state) {
  timer_queue<std::uint32_t> timers;
  random_source random{7};
  auto n = static_cast<std::uint64_t>(state.range(0));
  auto some_time = [&] {
    return duration(static_cast<std::int64_t>(random.below(1'000'000'000)));
  };
  for (std::uint64_t i = 0; i < n; ++i)
    timers.push(time_point{} + some_time(), static_cast<std::uint32_t>(i));
  for (auto _ : state) {
    auto now = timers.next();
    benchmark::DoNotOptimize(timers.pop_due(now));
    timers.push(now + some_time(), 0);
  }
}
BENCHMARK(timer_fire_and_set)->Arg(10)->Arg(1'000'000);

} // namespace
} // namespace caisson

BENCHMARK_MAIN();
