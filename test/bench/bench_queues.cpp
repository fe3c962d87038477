// The cost of waiting, for each order: time and memory per call; and
// that of a shedder's look at the machine.
#include <caisson/base/system_load.hpp>
#include <caisson/base/time.hpp>
#include <caisson/policies/shedder/shedder.hpp>
#include <caisson/policy/waiting_queue.hpp>

#include "bench/measure.hpp"
#include "bench/one_call.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

using namespace std::chrono_literals;

namespace caisson::bench {
namespace {

struct waiting_call {
  call_info call;
  waiting_queue::stay stay;
};

// Calls with a key each, the worst that can be, and deadlines and priorities
// that are drawn.
std::vector<waiting_call> draw_calls(std::size_t n, random_source& random) {
  std::vector<waiting_call> out(n);
  for (std::size_t i = 0; i < n; ++i) {
    auto& x = out[i].call;
    x.id = i + 1;
    x.key = fmt::format("tenant-{}", i);
    x.deadline = time_point{}
                 + duration{static_cast<std::int64_t>(random.below(1u << 30))};
    x.priority = static_cast<std::int32_t>(random.below(8));
  }
  return out;
}

struct cost {
  double join = 0;  // Nanoseconds.
  double serve = 0; // Nanoseconds.
  double bytes = 0;
};

// All begin to wait, then all are served.
cost measure(wait_order order, std::size_t n) {
  random_source random{7};
  auto calls = draw_calls(n, random);
  auto rounds = 1 + 200'000 / n;
  cost out;
  for (std::size_t round = 0; round < rounds; ++round) {
    auto before = heap_mib();
    waiting_queue q{order};
    auto now = time_point{} + 1h;
    auto begun = thread_seconds();
    for (auto& x : calls)
      q.join(x.call, x.stay, now += 1us);
    auto joined = thread_seconds();
    out.bytes = (heap_mib() - before) * (1 << 20) / static_cast<double>(n);
    auto first = thread_seconds();
    while (!q.empty())
      keep(q.take_next());
    out.serve += thread_seconds() - first;
    out.join += joined - begun;
  }
  auto per_call = 1e9 / static_cast<double>(n * rounds);
  out.join *= per_call;
  out.serve *= per_call;
  return out;
}

void print_orders(const std::vector<std::size_t>& sizes) {
  fmt::print("| order | calls | to join | to be served | memory per call |\n"
             "| --- | --- | --- | --- | --- |\n");
  for (std::size_t i = 0; i < std::size(enum_names<wait_order>::value); ++i)
    for (auto n : sizes) {
      auto order = static_cast<wait_order>(i);
      auto c = measure(order, n);
      fmt::print("| {} | {} | {:.0f} ns | {:.0f} ns | {:.0f} bytes |\n",
                 enum_names<wait_order>::value[i], n, c.join, c.serve, c.bytes);
    }
}

template <class F>
double ns_each(std::size_t n, F f) {
  auto begun = thread_seconds();
  for (std::size_t i = 0; i < n; ++i)
    f();
  return (thread_seconds() - begun) * 1e9 / static_cast<double>(n);
}

void print_shedder() {
  system_load load;
  auto now = time_point{} + 1h;
  auto read = ns_each(2'000, [&] { keep(load.read(now += 250ms)); });
  shedder p{{}};
  solo_env e;
  solo_call x;
  auto decide = ns_each(1'000'000, [&] { take_one(p, e, x); });
  fmt::print(
    "\na look at the machine: {:.1f} us of CPU time, {:.0f} a second\n"
    "a shedder's decision and its call's end: {:.0f} ns, {:.1f} million "
    "a second\n",
    read / 1000, 1e9 / read, decide, 1e3 / decide);
}

} // namespace
} // namespace caisson::bench

int main(int argc, char** argv) {
  CLI::App app{"What it costs that calls wait, for each order."};
  std::vector<std::size_t> sizes{10, 1'000, 100'000};
  app.add_option("--calls", sizes, "how many calls wait")
    ->check(CLI::Range(1, 10'000'000));
  CLI11_PARSE(app, argc, argv);
  caisson::bench::print_orders(sizes);
  caisson::bench::print_shedder();
}
