// The cost of a policy per key: memory of each key, time of each call, the
// longest turn of what concerns all keys.
#include <caisson/policies.hpp>
#include <caisson/stack.hpp>

#include "bench/measure.hpp"
#include "bench/one_call.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using namespace std::chrono_literals;

namespace caisson::bench {
namespace {

constexpr std::size_t calls = 1'000'000;

void pass(policy& p, solo_call& x, env& e) {
  e.now += 1us;
  p.admit(x.call, x.notes, e);
  auto o = outcome::success();
  p.complete(x.call, x.notes, o, e);
  p.wakeup();
}

// Nanoseconds for a call in and out again, by keys in a scattered order.
double time_of(policy& p, std::vector<solo_call>& all, env& e) {
  auto step = all.size() > 1 ? std::size_t{7919} : std::size_t{0};
  std::size_t at = 0;
  auto start = thread_seconds();
  for (std::size_t i = 0; i < calls; ++i) {
    pass(p, all[at], e);
    at = (at + step) % all.size();
  }
  return (thread_seconds() - start) * 1e9 / static_cast<double>(calls);
}

std::vector<solo_call> calls_of(std::size_t keys) {
  auto out = numbered_calls(keys);
  for (std::size_t i = 0; i < keys; ++i)
    out[i].call.key = "tenant-" + std::to_string(i);
  return out;
}

// What the policies take alone, of all that is allocated.
template <class Policy>
double bytes_alone(std::size_t keys, const typename Policy::config_type& c) {
  std::vector<std::unique_ptr<Policy>> all;
  all.reserve(keys);
  auto before = heap_mib();
  for (std::size_t i = 0; i < keys; ++i)
    all.push_back(std::make_unique<Policy>(c));
  return (heap_mib() - before) * (1 << 20) / static_cast<double>(keys);
}

// In microseconds.
template <class F>
double time_once(F f) {
  auto start = thread_seconds();
  f();
  return (thread_seconds() - start) * 1e6;
}

template <class Policy>
double status_time(const keyed<Policy>& p) {
  std::vector<metric> ms;
  return time_once([&] {
    p.list_metrics(ms);
    static_cast<void>(p.state());
    static_cast<void>(p.busiest(10));
  });
}

// How long what concerns all keys holds up the gate: what the operator waits
// for, and the longest of the turns that follow.
template <class F>
double longest_turn(policy& p, env& e, F f) {
  auto longest = time_once(f);
  while (p.wakeup() < e.now + 1s) {
    e.now = std::max(e.now, p.wakeup());
    longest = std::max(longest, time_once([&] { p.wake(e); }));
  }
  return longest;
}

template <class Policy>
void print_changes(keyed<Policy>& p, const typename Policy::config_type& c,
                   env& e) {
  auto next = [&](std::uint32_t most) {
    return keyed_config<Policy>{c, {.max_keys = most}};
  };
  auto print = [&](auto f) { fmt::print(" {:>9.0f}", longest_turn(p, e, f)); };
  print([&] { p.command(operator_command::enable, e); });
  print([&] { p.reconfigure(next(1'000'000), e); });
  auto some = static_cast<std::uint32_t>(p.keys() / 2 + 1);
  print([&] { p.reconfigure(next(some), e); });
  print([&] { p.command(operator_command::reset, e); });
  fmt::print("\n");
  std::fflush(stdout);
}

template <class Policy>
void measure(std::string_view name, const typename Policy::config_type& c) {
  solo_env e;
  for (std::size_t keys : {1, 10'000, 1'000'000}) {
    auto all = calls_of(keys);
    auto alone = bytes_alone<Policy>(keys, c);
    auto before = heap_mib();
    auto start = thread_seconds();
    keyed<Policy> p{{c, {.max_keys = 1'000'000}}};
    for (auto& x : all)
      pass(p, x, e);
    auto cost = (thread_seconds() - start) * 1e9;
    auto bytes = (heap_mib() - before) * (1 << 20);
    auto n = static_cast<double>(keys);
    auto per_call = time_of(p, all, e);
    Policy single{c};
    auto alone_call = time_of(single, all, e);
    fmt::print("{:<10} {:>9} {:>9.0f} {:>9.0f} {:>9.0f} {:>9.0f} {:>9.0f} "
               "{:>9.0f}",
               name, keys, alone, bytes / n, cost / n, per_call, alone_call,
               status_time(p));
    print_changes(p, c, e);
  }
}

} // namespace
} // namespace caisson::bench

int main() {
  using namespace caisson;
  using bench::measure;
  fmt::print("{:<10} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} "
             "{:>9} {:>9}\n",
             "policy", "keys", "alone [B]", "keyed [B]", "make [ns]",
             "call [ns]", "one [ns]", "stat [us]", "cmd [us]", "set [us]",
             "fewer[us]", "reset[us]");
  measure<semaphore>("semaphore", {.permits = 10});
  measure<limiter>("limiter", {.rate = 1'000'000'000, .burst = 1'000'000});
  measure<breaker>("breaker", {});
}
