// Layers of the kind retrier in the tests of stacks.
#include "support/layer_traits.hpp"
#include "support/situation_configs.hpp"

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

texts retrier_settings(random_settings& r) {
  texts set{{"max_attempts", r.prompt() ? r.word({"1", "2", "3", "5", "0"})
                                        : r.word({"1", "2", "3", "5"})},
            {"idempotent", r.word({"true", "false"})},
            {"budget", r.word({"true", "false"})},
            {"unsafe", "true"},
            // So does a retrier know the breakers of its own gate only.
            {"heed_breakers", "false"},
            {"retry_after_cap", r.time({0ms, 20ms, unlimited, unlimited})},
            {"retry_after_margin", r.time({0ms, 20ms, unlimited, unlimited})},
            {"overload_factor", r.word({"1", "1", "3"})},
            {"budget_cost", r.word({"1", "2"})},
            {"budget_timeout_cost", r.word({"1", "100"})},
            {"budget_overload_cost", r.word({"1", "5"})},
            {"budget_rejection_cost", r.word({"0", "1"})},
            {"verify_timeout", r.time({5ms, 1'000ms})},
            {"verify_attempts", r.word({"1", "3"})},
            {"verify_pause", r.time({1ms, 100ms})},
            {"budget_ratio", r.word({"0", "0.2", "1"})},
            {"budget_reserve", r.word({"0", "1", "10"})}};
  if (r.chance(50)) {
    set["backoff"] = set["max_attempts"] == "0" ? r.time({10ms, 300ms})
                                                : r.time({0ms, 10ms, 300ms});
  } else {
    set["backoff.kind"] = "exponential";
    set["backoff.base"] = r.time({5ms, 100ms});
  }
  return set;
}

/// Longer for some outcomes than for others; for some it does not say.
std::optional<duration> announced_delay(const outcome& o) {
  if (o.ok || o.code % 3 == 0)
    return std::nullopt;
  return duration{7'000'003 * (1 + o.code % 5)};
}

void add_retrier(stack& s, const layer_plan& x, const caf::actor& verifier,
                 problems& found) {
  retrier_config c{
    .backoff = schedule::constant(std::chrono::milliseconds(10))};
  if (x.waits_as_announced)
    c.delay_of = announced_delay;
  if (x.verifies)
    s.retrier(config_of(x, std::move(c), found), verifier::by(verifier));
  else
    add_policy<retrier>(s, x, std::move(c), found);
}

layer_traits retrier_traits() {
  layer_traits x{.kind = "retrier"};
  x.add = [](stack& s, const layer_plan& x, const plan_actors& actors,
             problems& found) { add_retrier(s, x, actors.verifier, found); };
  x.keyable = true;
  x.settings = retrier_settings;
  x.weights = {.prompt = 2, .mixed_in_batch = 1};
  x.fit = [](layer_plan& own, auto&, random_settings& r) {
    own.waits_as_announced = r.chance(30);
    // In `mixed` nothing is asked, as all calls may be repeated.
    own.verifies = !own.per_key && r.chance(40);
  };
  auto verifies = [](two_workers& y) {
    return stack{}
      .retrier(situations::verifying_config(), verifier::by(y.second.handle()))
      .deadline({.timeout = 4s});
  };
  x.situations = {
    {.name = "being verified",
     .policies = verifies,
     .before = 1,
     .wait = 5s,
     .has_second = true},
    {.name = "between two verifications",
     .policies = verifies,
     .before = 1,
     .wait = 5s,
     .prepare =
       [](two_workers& x) {
         x.second.become(scripted_worker::always(verification::unknown()));
       },
     .has_second = true},
    {.name = "between two attempts for its key",
     .policies =
       [](two_workers&) {
         return stack{}
           .add<keyed<retrier>>(
             {{.backoff = schedule::constant(10s), .idempotent = true}})
           .deadline({.timeout = 2s});
       },
     .content = situations::with_key,
     .wait = 3s}};
  return x;
}

const registered_layer registered_retrier{retrier_traits()};

} // namespace
} // namespace caisson::test
