// Situations of a call when something happens to the actors around it.
#pragma once

#include <caisson/policies/chaos.hpp>
#include <caisson/stack/layers/canary_layer.hpp>
#include <caisson/stack/layers/degradation_layer.hpp>
#include <caisson/stack/layers/feature_layer.hpp>

#include "support/cache_situations.hpp"
#include "support/situation.hpp"

#include <vector>

namespace caisson::test::situations {

// -- without content ----------------------------------------------------------

inline list of_waiting() {
  auto one_at_a_time = semaphore_config{.permits = 1, .max_waiters = 9};
  return {
    {.name = "in flight", .policies = [](cast_of_two&) { return stack{}; }},
    {.name = "parked at a semaphore",
     .policies = [=](cast_of_two&) { return stack{}.semaphore(one_at_a_time); },
     .before = 1},
    {.name = "parked at a limiter",
     .policies =
       [](cast_of_two&) {
         return stack{}.limiter(
           {.rate = 1, .per = 20s, .burst = 1, .max_wait = 60s});
       },
     .before = 1},
    {.name = "in a forming batch",
     .policies =
       [](cast_of_two&) {
         return stack{}.batcher({.max_items = 5, .max_delay = 20s});
       },
     .before = 1},
    {.name = "in a batch under way",
     .policies =
       [](cast_of_two&) {
         return stack{}.batcher({.max_items = 2, .max_delay = 20s});
       },
     .before = 1},
    {.name = "behind all layers",
     .policies =
       [](cast_of_two&) {
         return stack{}
           .deadline({.timeout = 25s})
           .retrier({.backoff = schedule::constant(1s), .idempotent = true})
           .breaker({.threshold = 100})
           .limiter({.rate = 1000, .burst = 100})
           .semaphore({.permits = 100});
       }},
    {.name = "under a fallback",
     .policies =
       [](cast_of_two&) {
         return stack{}.fallback({alternative::answer(-1)});
       }},
    {.name = "under a deadline per attempt",
     .policies =
       [](cast_of_two&) {
         return stack{}
           .retrier({.max_attempts = 3,
                     .backoff = schedule::constant(1s),
                     .idempotent = true})
           .deadline({.timeout = 4s});
       }},
    {.name = "waiting for a worker that is to start again",
     .policies = [](cast_of_two&) { return stack{}; },
     .before = 1,
     .behind =
       [](cast_of_two& x) {
         return worker::supervised(x.worker.factory(),
                                   {.restart = schedule::constant(20s),
                                    .on_give_up = give_up_action::refuse});
       },
     .prepare = [](cast_of_two& x) { x.worker.kill(); }},
  };
}

// -- second actors ------------------------------------------------------------

inline canary_config all_calls() {
  return {.stages = {1.0}, .dwell = unlimited};
}

inline retrier_config looking() {
  return {.backoff = schedule::constant(1s),
          .verify_timeout = 20s,
          .verify_pause = 10s};
}

inline list of_second_actors() {
  auto with_canary = [](canary_config c) {
    return [=](cast_of_two& x) {
      return stack{}.seed(5).add<canary>(c, x.second.handle());
    };
  };
  auto looks = [](cast_of_two& x) {
    return stack{}
      .retrier(looking(), verifying::by(x.second.handle()))
      .deadline({.timeout = 4s});
  };
  return {
    {.name = "with an alternative when its attempt is over",
     .policies =
       [](cast_of_two& x) {
         return stack{}
           .fallback({alternative::ask(x.second.handle())})
           .deadline({.timeout = 4s});
       },
     .before = 1,
     .wait = 5s,
     .has_second = true},
    {.name = "with the canary",
     .policies = with_canary(all_calls()),
     .content = may_be_repeated,
     .has_second = true},
    {.name = "with the baseline after the canary",
     .policies = with_canary(all_calls()),
     .content = may_be_repeated,
     .prepare =
       [](cast_of_two& x) {
         x.second.become(scripted_worker::always(caf::sec::runtime_error));
       },
     .has_second = true},
    {.name = "answered and mirrored",
     .policies = with_canary(
       {.stages = {0.000001}, .mirror_rate = 1, .max_difference_rate = 1}),
     .before = 1,
     .content = may_be_repeated,
     .prepare =
       [](cast_of_two& x) { x.worker.become(scripted_worker::always(1)); },
     .has_second = true},
    {.name = "being looked at",
     .policies = looks,
     .before = 1,
     .wait = 5s,
     .has_second = true},
    {.name = "between two looks",
     .policies = looks,
     .before = 1,
     .wait = 5s,
     .prepare =
       [](cast_of_two& x) {
         x.second.become(scripted_worker::always(verification::unknown()));
       },
     .has_second = true},
  };
}

// -- chaos --------------------------------------------------------------------

inline chaos_config only(double chaos_config::*rate) {
  chaos_config c{.enabled = true,
                 .error_rate = 0,
                 .latency_rate = 0,
                 .latency = schedule::constant(20s),
                 .outcome_rate = 0,
                 .silence_rate = 0,
                 .silence = 24h};
  c.*rate = 1;
  return c;
}

inline list of_chaos() {
  auto with = [](double chaos_config::*rate) {
    return [=](cast_of_two&) { return stack{}.add<chaos>(only(rate)); };
  };
  return {
    {.name = "between two attempts that chaos fails",
     .policies =
       [](cast_of_two&) {
         return stack{}
           .retrier({.backoff = schedule::constant(20s)})
           .add<chaos>(only(&chaos_config::error_rate));
       },
     .before = 1},
    {.name = "delayed by chaos",
     .policies = with(&chaos_config::latency_rate),
     .before = 1},
    {.name = "about to lose its answer to chaos",
     .policies = with(&chaos_config::outcome_rate)},
    {.name = "met by silence",
     .policies = with(&chaos_config::silence_rate),
     .before = 1},
  };
}

// -- keys and features --------------------------------------------------------

inline list of_keys_and_features() {
  return {
    {.name = "waiting for a permit of its key",
     .policies =
       [](cast_of_two&) {
         return stack{}.add<keyed<semaphore>>(
           {{.permits = 1, .max_waiters = 9}});
       },
     .before = 1,
     .content = with_key},
    {.name = "between two attempts for its key",
     .policies =
       [](cast_of_two&) {
         return stack{}
           .add<keyed<retrier>>(
             {{.backoff = schedule::constant(10s), .idempotent = true}})
           .deadline({.timeout = 2s});
       },
     .content = with_key,
     .wait = 3s},
    {.name = "the probe of its key",
     .policies =
       [](cast_of_two&) {
         return stack{}.add<keyed<breaker>>(
           {{.initial = breaker_start::half_open}});
       },
     .before = 1,
     .content = with_key},
    {.name = "met by the silence of its key",
     .policies =
       [](cast_of_two&) {
         return stack{}.add<keyed<chaos>>({only(&chaos_config::silence_rate)});
       },
     .content = with_key},
    {.name = "of a feature that is being judged",
     .policies =
       [](cast_of_two&) {
         return stack{}
           .add<degradation>({.min_calls = 1, .check_every = 10ms})
           .add<feature>({.feature = "extras"});
       },
     .before = 1},
    {.name = "of a feature that is off",
     .policies =
       [](cast_of_two&) {
         return stack{}
           .add<degradation>({.held_off = {"extras"}})
           .fallback({alternative::answer(-1)})
           .add<feature>({.feature = "extras"});
       },
     .before = 1},
  };
}

// -- all of it ----------------------------------------------------------------

inline list of_everything() {
  auto policies = [](cast_of_two& x) {
    auto slow = only(&chaos_config::latency_rate);
    slow.latency = schedule::constant(1s);
    return stack{}
      .seed(5)
      .deadline({.timeout = 25s})
      .add<degradation>({.min_calls = 1, .check_every = 10ms})
      .add<feature>({.feature = "core"})
      .cache({.stale_if_error = 1h}, one_key())
      .retrier(looking(), verifying::by(x.second.handle()))
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
  list out;
  for (const auto& part : {of_waiting(), of_caches(), of_second_actors(),
                           of_chaos(), of_keys_and_features(), of_everything()})
    out.insert(out.end(), part.begin(), part.end());
  return out;
}

inline list with_second() {
  auto out = all();
  std::erase_if(out, [](const situation& x) { return !x.has_second; });
  return out;
}

} // namespace caisson::test::situations
