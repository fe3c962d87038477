// Takes calls in and out of a policy alone, so that what a call takes there can
// be counted: caisson_bench_policies SUBJECT CALLS, or --subjects for a list.
#include <caisson/guard.hpp>
#include <caisson/policies.hpp>
#include <caisson/policies/adaptive_limit/adaptive_limit.hpp>
#include <caisson/policies/chaos.hpp>
#include <caisson/policies/cooldown.hpp>
#include <caisson/policies/degradation/degradation.hpp>
#include <caisson/policies/keyed/keyed.hpp>
#include <caisson/policies/shedder/shedder.hpp>
#include <caisson/policies/throttle.hpp>
#include <caisson/stack.hpp>

#include "bench/one_call.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

using namespace std::chrono_literals;

namespace {

using namespace caisson;

struct subject {
  std::string name;
  std::function<void(std::size_t calls)> play;
};

/// Does nothing: what the loop itself takes.
struct idle_policy final : policy {
  [[nodiscard]] std::string_view kind() const noexcept override {
    return "idle";
  }
  decision admit(call_info&, slot&, env&) override { return decision::pass(); }
  decision complete(call_info&, slot&, outcome&, env&) override {
    return decision::pass();
  }
  void abandon(call_info&, slot&, const outcome&, bool, env&) override {}
  void list_metrics(std::vector<metric>&) const override {}
  bool command(policy_command, env&) override { return false; }
};

/// A policy as it is with all calls admitted and answered.
template <class F>
subject alone(std::string name, F make, std::string key = {}) {
  return {"policy: " + std::move(name), [make, key](std::size_t calls) {
            auto p = make();
            bench::solo_env e;
            bench::solo_call x;
            x.call.key = key;
            while (calls-- > 0)
              bench::take_one(*p, e, x);
          }};
}

template <class Policy, class... Ts>
auto make(typename Policy::config_type c, Ts... xs) {
  return [=] { return std::make_unique<Policy>(c, xs...); };
}

template <class Policy>
subject per_key(std::string name, typename Policy::config_type c) {
  return alone(
    "keyed " + std::move(name),
    [c] {
      return std::make_unique<keyed<Policy>>(keyed_config<Policy>{c, {}});
    },
    "a key");
}

subject open_breaker() {
  return {"policy: breaker, open", [](std::size_t calls) {
            breaker p{{.threshold = 1, .open = schedule::constant(1h)}};
            bench::solo_env e;
            bench::solo_call x;
            p.admit(x.call, x.notes, e);
            auto o = outcome::failure(errc::worker_down, true);
            p.complete(x.call, x.notes, o, e);
            while (calls-- > 0)
              bench::keep(p.admit(x.call, x.notes, e));
          }};
}

volatile int counter = 0;

subject guarded(std::string name, const stack& s) {
  return {"guard, " + std::move(name), [s](std::size_t calls) {
            guard g{s};
            while (calls-- > 0)
              if (!g.run([] { counter = counter + 1; }))
                std::abort();
          }};
}

const limiter_config wide{.rate = 1'000'000'000, .burst = 1'000'000};

semaphore_config divided() {
  semaphore_config c{.permits = 10, .max_waiters = 100};
  c.partitions.list = {{"batch", 0.2}, {"web", 0.8}};
  return c;
}

/// Per item, in batches of a hundred.
subject batched() {
  return {"policy: batcher, an item", [](std::size_t calls) {
            constexpr std::size_t n = 100;
            batcher p{{.max_items = n}};
            bench::solo_env e;
            auto xs = bench::numbered_calls(n);
            for (std::size_t done = 0; done < calls; done += n)
              bench::take_batch(p, e, xs);
          }};
}

std::vector<subject> policies() {
  return {
    alone("none", [] { return std::make_unique<idle_policy>(); }),
    alone("deadline", make<deadline>({.timeout = 10s})),
    alone("retrier", make<retrier>({.max_attempts = 3})),
    alone("breaker, consecutive",
          make<breaker>({.trip = breaker_trip::consecutive})),
    alone("breaker, rate_by_count",
          make<breaker>({.trip = breaker_trip::rate_by_count})),
    alone("breaker, rate_by_time",
          make<breaker>({.trip = breaker_trip::rate_by_time})),
    alone("breaker, score", make<breaker>({.trip = breaker_trip::score})),
    open_breaker(),
    alone("limiter", make<limiter>(wide)),
    alone("semaphore", make<semaphore>({.permits = 10})),
    alone("semaphore, partitions", make<semaphore>(divided()), "web"),
    alone("adaptive_limit", make<adaptive_limit>({})),
    alone("cooldown", make<cooldown>({})),
    alone("throttle", make<throttle>({})),
    alone("shedder", make<shedder>({})),
    alone("fallback", make<fallback>({}, std::size_t{1})),
    alone("degradation", make<degradation>({})),
    batched(),
    alone("chaos", make<chaos>({.enabled = true, .error_rate = 0})),
    per_key<limiter>("limiter, one key", wide),
    per_key<breaker>("breaker, one key", {}),
    per_key<semaphore>("semaphore, one key", {.permits = 10}),
  };
}

std::vector<subject> subjects() {
  auto all = policies();
  all.push_back(guarded("empty", stack{}));
  all.push_back(guarded("stack of five", stack{}
                                           .deadline({.timeout = 10s})
                                           .retrier({.idempotent = true})
                                           .breaker({.threshold = 5})
                                           .limiter(wide)
                                           .semaphore({.permits = 1000})));
  return all;
}

} // namespace

int main(int argc, char** argv) {
  auto all = subjects();
  if (argc == 2 && argv[1] == std::string_view{"--subjects"}) {
    for (const auto& x : all)
      fmt::print("{}\n", x.name);
    return 0;
  }
  std::size_t calls = 0;
  if (argc == 3) {
    std::string_view number = argv[2];
    std::from_chars(number.data(), number.data() + number.size(), calls);
    for (const auto& x : all)
      if (calls > 0 && x.name == argv[1]) {
        x.play(calls);
        return 0;
      }
  }
  fmt::print(stderr, "usage: {} SUBJECT CALLS | --subjects\n", argv[0]);
  return 2;
}
