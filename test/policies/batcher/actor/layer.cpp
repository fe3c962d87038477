// Layers of the kind batcher in the tests of stacks.
#include "support/layer_traits.hpp"

#include <caisson/policies/batcher/batcher.hpp>
#include <caisson/stack/layers/batcher_layer.hpp>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

texts batcher_settings(random_settings& r) {
  texts all{{"max_items", r.word({"1", "2", "4"})},
            {"max_weight", r.word({"0", "1", "3"})},
            {"max_delay", r.time({0ms, 10ms, 1'000ms})},
            {"max_outstanding", r.word({"1", "2", "1000"})},
            {"max_waiting", r.word({"4", "1000"})},
            {"deadline_margin", r.time({0ms, 5ms})},
            {"max_shards", r.word({"1", "100000"})},
            {"split_failed", r.word({"0", "1", "20"})}};
  // Without a delay nothing would wait for others.
  if (all["max_delay"] != "0s")
    all["when_blocked"] = r.word({"wait", "wait", "reject"});
  all["adaptive"] = r.word({"false", "true"});
  all["min_delay"] = r.word({"0s", "0s", "5ms"});
  if (all["max_delay"] == "0s")
    all["min_delay"] = "0s";
  all["rate_window"] = r.word({"10ms", "1s"});
  return all;
}

layer_traits batcher_traits() {
  auto x = traits_for<batcher>();
  x.settings = batcher_settings;
  // A batch may be held below its batcher when an item's time is over.
  x.weights = {.prompt = 0};
  x.can_wait = true;
  x.situations = {
    {.name = "in a forming batch",
     .policies =
       [](two_workers&) {
         return stack{}.batcher({.max_items = 5, .max_delay = 20s});
       },
     .before = 1},
    {.name = "in a batch in flight",
     .policies =
       [](two_workers&) {
         return stack{}.batcher({.max_items = 2, .max_delay = 20s});
       },
     .before = 1}};
  return x;
}

const registered_layer registered_batcher{batcher_traits()};

} // namespace
} // namespace caisson::test
