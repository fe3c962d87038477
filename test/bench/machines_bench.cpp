// The policies without the actor: what a decision costs.
#include <caisson/base/histogram.hpp>
#include <caisson/base/timer_queue.hpp>
#include <caisson/policies.hpp>
#include <caisson/policies/adaptive_limit/adaptive_limit.hpp>
#include <caisson/policies/canary/canary.hpp>
#include <caisson/policies/chaos.hpp>
#include <caisson/policies/degradation/degradation.hpp>
#include <caisson/policies/feature.hpp>
#include <caisson/policies/shedder/shedder.hpp>
#include <caisson/policies/throttle.hpp>
#include <caisson/stack.hpp>

#include "bench/one_call.hpp"

#include <benchmark/benchmark.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

using namespace std::chrono_literals;

namespace caisson {
namespace {

using bench_env = bench::solo_env;
using bench::solo_call;

void admit_and_complete(benchmark::State& state, policy& p) {
  bench_env e;
  solo_call x;
  for (auto _ : state)
    bench::take_one(p, e, x);
}

void deadline_machine(benchmark::State& state) {
  deadline p{{.timeout = 10s}};
  admit_and_complete(state, p);
}
BENCHMARK(deadline_machine);

void semaphore_machine(benchmark::State& state) {
  semaphore p{{.permits = 10}};
  admit_and_complete(state, p);
}
BENCHMARK(semaphore_machine);

void limiter_machine(benchmark::State& state) {
  limiter p{{.rate = 1'000'000'000, .burst = 1'000'000}};
  admit_and_complete(state, p);
}
BENCHMARK(limiter_machine);

void breaker_machine(benchmark::State& state, breaker_trip trip) {
  breaker p{{.trip = trip}};
  admit_and_complete(state, p);
}
BENCHMARK_CAPTURE(breaker_machine, consecutive, breaker_trip::consecutive);
BENCHMARK_CAPTURE(breaker_machine, rate_by_count, breaker_trip::rate_by_count);
BENCHMARK_CAPTURE(breaker_machine, rate_by_time, breaker_trip::rate_by_time);
BENCHMARK_CAPTURE(breaker_machine, score, breaker_trip::score);

void breaker_with_slow_calls(benchmark::State& state) {
  breaker p{{.trip = breaker_trip::rate_by_time, .slow_call = 1s}};
  admit_and_complete(state, p);
}
BENCHMARK(breaker_with_slow_calls);

void retrier_machine(benchmark::State& state) {
  retrier p{{.max_attempts = 3}};
  admit_and_complete(state, p);
}
BENCHMARK(retrier_machine);

void fallback_machine(benchmark::State& state) {
  fallback p{{}, 1};
  admit_and_complete(state, p);
}
BENCHMARK(fallback_machine);

// Per item: 100 items join a batch, which is taken and completed.
void batcher_machine(benchmark::State& state) {
  constexpr std::size_t n = 100;
  batcher p{{.max_items = n}};
  bench_env e;
  auto xs = bench::numbered_calls(n);
  for (auto _ : state)
    bench::take_batch(p, e, xs);
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(n));
}
BENCHMARK(batcher_machine);

void chaos_machine(benchmark::State& state) {
  chaos p{{.enabled = true,
           .error_rate = 0,
           .latency_rate = 0,
           .outcome_rate = 0,
           .silence_rate = 1e-12}};
  admit_and_complete(state, p);
}
BENCHMARK(chaos_machine);

void throttle_machine(benchmark::State& state) {
  throttle p{{}};
  admit_and_complete(state, p);
}
BENCHMARK(throttle_machine);

// All calls are refused by the worker, and nearly all of them here.
void throttle_machine_rejecting(benchmark::State& state) {
  throttle p{{.max_rejection = 0.999, .min_rate = 0}};
  bench_env e;
  call_info call;
  slot notes;
  for (auto _ : state) {
    e.now += 1us;
    auto d = p.admit(call, notes, e);
    if (d.what == decision::kind::pass) {
      auto o = outcome::failure(errc::shed, false);
      p.complete(call, notes, o, e);
    }
    benchmark::DoNotOptimize(d);
    benchmark::DoNotOptimize(p.wakeup());
  }
}
BENCHMARK(throttle_machine_rejecting);

void adaptive_limit_machine(benchmark::State& state) {
  adaptive_limit p{{}};
  admit_and_complete(state, p);
}
BENCHMARK(adaptive_limit_machine);

void shedder_machine(benchmark::State& state) {
  shedder p{{}};
  admit_and_complete(state, p);
}
BENCHMARK(shedder_machine);

void degradation_machine(benchmark::State& state) {
  degradation p{{}};
  admit_and_complete(state, p);
}
BENCHMARK(degradation_machine);

void feature_machine(benchmark::State& state) {
  feature p{{}};
  p.watch(std::make_shared<feature_flags>());
  admit_and_complete(state, p);
}
BENCHMARK(feature_machine);

// Nearly all calls go to the baseline.
void canary_machine(benchmark::State& state) {
  canary p{{.stages = {1e-6}}};
  admit_and_complete(state, p);
}
BENCHMARK(canary_machine);

// -- caches -------------------------------------------------------------------

cache_content texts() {
  cache_content out;
  out.keep = [](const void*) {
    static const auto kept = std::make_shared<const std::string>("kept");
    return kept;
  };
  return out;
}

// A call that the cache answers, by one of that many keys.
void cache_hit(benchmark::State& state) {
  bench_env e;
  cache p{{.ttl = 24h, .max_entries = 1'000'000}, texts()};
  std::vector<call_info> calls(static_cast<std::size_t>(state.range(0)));
  for (std::size_t i = 0; i < calls.size(); ++i) {
    calls[i].id = i + 1;
    calls[i].key = "key " + std::to_string(i);
    p.preheat(calls[i].key, std::make_shared<const std::string>("kept"), e);
  }
  slot notes;
  std::size_t at = 0;
  for (auto _ : state) {
    e.now += 1us;
    auto& call = calls[at];
    at = (at + 7919) % calls.size();
    p.set_next({});
    p.admit(call, notes, e);
    benchmark::DoNotOptimize(p.value(e.actions.back().index));
    auto o = outcome::success();
    auto s = p.complete(call, notes, o, e);
    benchmark::DoNotOptimize(s);
    e.actions.clear();
  }
}
BENCHMARK(cache_hit)->Arg(1)->Arg(10'000)->Arg(1'000'000);

// A call that goes to the worker, and whose answer is kept.
void cache_miss(benchmark::State& state) {
  bench_env e;
  cache p{{.ttl = 1ms, .single_flight = false}, texts()};
  call_info call;
  call.id = 1;
  call.key = "key";
  slot notes;
  auto answer = std::make_shared<const std::string>("kept");
  for (auto _ : state) {
    e.now += 2ms;
    p.set_next({});
    p.admit(call, notes, e);
    auto o = outcome::success();
    o.from_worker = true;
    o.reply = answer.get();
    auto s = p.complete(call, notes, o, e);
    benchmark::DoNotOptimize(s);
  }
}
BENCHMARK(cache_miss);

void rejection_by_an_open_breaker(benchmark::State& state) {
  breaker p{{.threshold = 1, .open = schedule::constant(1h)}};
  bench_env e;
  solo_call x;
  p.admit(x.call, x.notes, e);
  auto o = outcome::failure(errc::worker_down, true);
  p.complete(x.call, x.notes, o, e);
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

// What measuring a duration costs: a gate does it three times a call at most.
void histogram_record(benchmark::State& state) {
  wide_histogram h;
  duration d = 1us;
  for (auto _ : state) {
    h.record(d);
    d = d < 1s ? d + 977ns : 1us;
    benchmark::DoNotOptimize(h);
  }
}
BENCHMARK(histogram_record);

} // namespace
} // namespace caisson

BENCHMARK_MAIN();
