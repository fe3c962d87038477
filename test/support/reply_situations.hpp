// Situations of a call when something happens to the actors around it.
#pragma once

#include <caisson/policies/semaphore.hpp>
#include <caisson/stack/layers/degradation_layer.hpp>
#include <caisson/stack/layers/feature_layer.hpp>

#include "support/cache_situations.hpp"
#include "support/layer_traits.hpp"
#include "support/situation_configs.hpp"

#include <vector>

namespace caisson::test::situations {

// -- of no layer in particular ------------------------------------------------

inline list of_gates() {
  return {
    {.name = "in flight", .policies = [](two_workers&) { return stack{}; }},
    {.name = "behind all layers",
     .policies =
       [](two_workers&) {
         return stack{}
           .deadline({.timeout = 25s})
           .retrier({.backoff = schedule::constant(1s), .idempotent = true})
           .breaker({.threshold = 100})
           .limiter({.rate = 1000, .burst = 100})
           .semaphore({.permits = 100});
       }},
    {.name = "waiting for a worker that is to start again",
     .policies = [](two_workers&) { return stack{}; },
     .before = 1,
     .behind =
       [](two_workers& x) {
         return worker::supervised(x.worker.factory(),
                                   {.restart = schedule::constant(20s),
                                    .on_give_up = give_up_action::refuse});
       },
     .prepare = [](two_workers& x) { x.worker.kill(); }},
  };
}

// -- all of it ----------------------------------------------------------------

inline list of_everything() {
  auto policies = [](two_workers& x) {
    auto slow = only(&chaos_config::latency_rate);
    slow.latency = schedule::constant(1s);
    return stack{}
      .seed(5)
      .deadline({.timeout = 25s})
      .add<degradation>({.min_calls = 1, .check_every = 10ms})
      .add<feature>({.feature = "core"})
      .cache({.stale_if_error = 1h}, one_key())
      .retrier(verifying_config(), verifier::by(x.second.handle()))
      .add<keyed<semaphore>>({{.permits = 5}})
      .add<chaos>(slow)
      .add<canary>(all_calls(), x.second.handle());
  };
  return {
    {.name = "behind nearly all other layers",
     .policies = policies,
     .before = 2,
     .content = with_key,
     .wait = 2s,
     .has_second = true},
  };
}

inline list all() {
  auto out = of_gates();
  for (const auto& x : all_layer_traits())
    out.insert(out.end(), x.situations.begin(), x.situations.end());
  for (auto& x : of_everything())
    out.push_back(std::move(x));
  return out;
}

inline list with_second() {
  auto out = all();
  std::erase_if(out, [](const situation& x) { return !x.has_second; });
  return out;
}

} // namespace caisson::test::situations
