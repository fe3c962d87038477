// The cost of a guard: the time per call of a function that does next to
// nothing, by itself and through policies, from 1, 2 and 4 threads.
#include <caisson/guard.hpp>

#include "bench/measure.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

namespace {

using namespace caisson;

thread_local volatile int counter = 0;

[[gnu::noinline]] void work() {
  counter = counter + 1;
}

using function = std::function<void()>;

struct subject {
  std::string name;
  std::function<function()> make;
};

function through(const stack& s) {
  return [g = std::make_shared<guard>(s)] {
    if (!g->run(work))
      std::abort();
  };
}

std::vector<subject> subjects() {
  auto guarded = [](const stack& s) { return [s] { return through(s); }; };
  return {
    {"the function alone", [] { return function{work}; }},
    {"no policy", guarded(stack{})},
    {"deadline", guarded(stack{}.deadline({.timeout = 10s}))},
    {"retrier",
     guarded(stack{}.retrier({.max_attempts = 3, .idempotent = true}))},
    {"breaker", guarded(stack{}.breaker({.threshold = 5}))},
    {"semaphore", guarded(stack{}.semaphore({.permits = 1000}))},
    {"deadline, retrier, breaker, semaphore",
     guarded(stack{}
               .deadline({.timeout = 10s})
               .retrier({.max_attempts = 3, .idempotent = true})
               .breaker({.threshold = 5})
               .semaphore({.permits = 1000}))},
    {"the same and a limiter",
     guarded(stack{}
               .deadline({.timeout = 10s})
               .retrier({.max_attempts = 3, .idempotent = true})
               .breaker({.threshold = 5})
               .limiter({.rate = 1'000'000'000, .burst = 1'000'000})
               .semaphore({.permits = 1000}))},
  };
}

// Of all threads together, so that less than with one means that they help.
double ns_per_call(const function& f, std::size_t threads, std::size_t calls) {
  auto begun = bench::wall_clock::now();
  std::vector<std::thread> all;
  for (std::size_t t = 0; t < threads; ++t)
    all.emplace_back([&] {
      for (std::size_t i = 0; i < calls / threads; ++i)
        f();
    });
  for (auto& x : all)
    x.join();
  return 1e9 * bench::seconds_since(begun) / static_cast<double>(calls);
}

} // namespace

int main(int argc, char** argv) {
  CLI::App app{"What a guard costs: nanoseconds per call."};
  std::size_t rounds = 7;
  std::size_t calls = 300'000;
  app.add_option("--rounds", rounds, "how often; the best one counts")
    ->check(CLI::Range(1, 1000));
  app.add_option("--calls", calls, "how many calls in a round")
    ->check(CLI::Range(4, 1'000'000'000));
  CLI11_PARSE(app, argc, argv);
  fmt::print("| {:38} | {:>9} | {:>9} | {:>9} |\n| --- | --- | --- | --- |\n",
             "through", "1 thread", "2 threads", "4 threads");
  for (const auto& x : subjects()) {
    auto f = x.make();
    fmt::print("| {:38} |", x.name);
    for (std::size_t threads : {1, 2, 4}) {
      auto best = ns_per_call(f, threads, calls);
      for (std::size_t i = 1; i < rounds; ++i)
        best = std::min(best, ns_per_call(f, threads, calls));
      fmt::print(" {:>6.0f} ns |", best);
    }
    fmt::print("\n");
  }
}
