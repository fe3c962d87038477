#include <caisson/stack/presets.hpp>

#include <caisson/policies/adaptive_limit/adaptive_limit.hpp>
#include <caisson/stack/add.hpp>
#include <caisson/stack/layers/shedder_layer.hpp>

#include <utility>

namespace caisson::presets {

using namespace std::chrono_literals;

namespace {

/// Few errors among many calls do not open it, and a worker that hangs does.
breaker_config breaker_by_rate() {
  return {.name = "breaker", .trip = breaker_trip::rate_by_time};
}

} // namespace

stack standard(std::string name) {
  return std::move(stack{std::move(name)}
                     .deadline({.name = "deadline", .timeout = 10s})
                     .retrier({.name = "retrier"})
                     .breaker(breaker_by_rate())
                     .semaphore({.name = "semaphore",
                                 .permits = 100,
                                 .max_waiters = 100,
                                 .max_wait = 1s})
                     .deadline({.name = "attempt", .timeout = 3s}));
}

stack reads(std::string name) {
  return std::move(
    stack{std::move(name)}
      .deadline({.name = "deadline", .timeout = 2s})
      .retrier({.name = "retrier",
                .backoff = schedule::exponential(20ms).limit(500ms).jittered(
                  jitter::full),
                .idempotent = true})
      .breaker(breaker_by_rate())
      .semaphore({.name = "semaphore",
                  .permits = 200,
                  .max_waiters = 200,
                  .max_wait = 200ms})
      .deadline({.name = "attempt", .timeout = 600ms}));
}

stack writes(std::string name) {
  return std::move(stack{std::move(name)}
                     .deadline({.name = "deadline", .timeout = 10s})
                     .retrier({.name = "retrier"})
                     .breaker(breaker_by_rate())
                     .semaphore({.name = "semaphore",
                                 .permits = 50,
                                 .max_waiters = 200,
                                 .max_wait = 5s}));
}

stack background(std::string name) {
  return std::move(
    stack{std::move(name)}
      .deadline({.name = "deadline", .timeout = 10min})
      .retrier({.name = "retrier",
                .max_attempts = 10,
                .backoff = schedule::exponential(1s).limit(1min).jittered(
                  jitter::full),
                .idempotent = true,
                .budget_reserve = 1})
      .breaker({.name = "breaker", .threshold = 12})
      .semaphore({.name = "semaphore", .permits = 4, .max_waiters = 10'000})
      .deadline({.name = "attempt", .timeout = 1min}));
}

stack server(std::string name) {
  stack out{std::move(name)};
  out.add<shedder>(
    {.name = "shedder", .in_flight_factor = 3, .increase = 0.05});
  out.deadline({.name = "deadline", .timeout = 10s});
  out.add<adaptive_limit>(
    {.name = "limit",
     .algorithm = limit_algorithm::aimd,
     .initial_limit = 100,
     .min_limit = 10,
     .max_waiters = 100,
     .max_wait = 500ms,
     .order = wait_order::priority,
     .queue = {.reject_hopeless = true},
     .drop_share = 0.2,
     .timeout = 1s,
     .classify = {
       .allow = {"deadline_exceeded", "class:retry_after", "class:shed"}}});
  return out;
}

namespace {

struct entry {
  std::string_view name;
  stack (*make)(std::string);
};

constexpr entry table[] = {
  {"standard", standard},     {"reads", reads},   {"writes", writes},
  {"background", background}, {"server", server},
};

} // namespace

std::optional<stack> named(std::string_view preset, std::string name) {
  for (const auto& x : table)
    if (x.name == preset)
      return x.make(std::move(name));
  return std::nullopt;
}

const std::vector<std::string_view>& names() {
  static const auto all = [] {
    std::vector<std::string_view> out;
    for (const auto& x : table)
      out.push_back(x.name);
    return out;
  }();
  return all;
}

} // namespace caisson::presets
