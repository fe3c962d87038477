// Layers of the kind fallback in the tests of stacks.
#include "support/layer_traits.hpp"

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

texts fallback_settings(random_settings& r) {
  // Items of a batch, and calls of a worker that dies, come back at once
  // to a single gate, one by one through a chain: how many places are
  // taken at that moment is not the same. `prompt` has neither.
  return {{"max_concurrent", r.prompt() ? r.word({"0", "1", "10"}) : "0"},
          {"fall_back_on", r.word({"", "", "breaker_open,queue_full"})}};
}

void add_fallback(stack& s, const layer_plan& x,
                  const caf::actor& alternative_actor, problems& found) {
  std::vector<alternative> chain;
  if (x.alternatives != offer::value)
    chain.push_back(alternative::ask(alternative_actor));
  if (x.alternatives != offer::actor)
    chain.push_back(alternative::answer(-1));
  s.fallback(std::move(chain), config_of(x, fallback_config{}, found));
}

layer_traits fallback_traits() {
  layer_traits x{.kind = "fallback"};
  x.add = [](stack& s, const layer_plan& x, const plan_actors& actors,
             problems& found) {
    add_fallback(s, x, actors.alternative, found);
  };
  x.settings = fallback_settings;
  x.weights = {.mixed_in_batch = 1};
  // A gate takes a value from another one for the worker's. If it loses an
  // alternative's, it says that it may have executed.
  x.not_below = {"chaos"};
  x.fit = [](layer_plan& own, auto&, random_settings& r) {
    own.alternatives = r.pick(
      {offer::value, offer::actor, offer::actor_then_value});
  };
  x.situations = {{.name = "under a fallback",
                   .policies =
                     [](two_workers&) {
                       return stack{}.fallback({alternative::answer(-1)});
                     }},
                  {.name = "with an alternative when its attempt is over",
                   .policies =
                     [](two_workers& x) {
                       return stack{}
                         .fallback({alternative::ask(x.second.handle())})
                         .deadline({.timeout = 4s});
                     },
                   .before = 1,
                   .wait = 5s,
                   .has_second = true}};
  return x;
}

const registered_layer registered_fallback{fallback_traits()};

} // namespace
} // namespace caisson::test
