// Layers of the kind cache in the tests of stacks.
#include "support/cache_situations.hpp"
#include "support/layer_traits.hpp"
#include "support/situation_configs.hpp"

#include <caisson/stack/layers/cache_layer.hpp>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

texts cache_settings(random_settings& r) {
  return {
    {"ttl", r.time({1ms, 400ms, 60'000ms, unlimited})},
    {"max_entries", r.word({"1", "10000"})},
    {"cacheable", r.word({"keyed", "idempotent"})},
    // Who waits for another call's answer may have another deadline, and what
    // has been sent to the next gate keeps the one that it was sent with.
    {"single_flight",
     r.patient() ? r.word({"true", "true", "false"}) : "false"},
    {"join_within", r.time({1ms, 700ms, unlimited})},
    // Calls have one of two keys, which other layers may be kept for, too.
    {"unsafe", "true"},
    {"stale_while", r.time({0ms, 0ms, 500ms, unlimited})},
    {"stale_if_error", r.time({0ms, 500ms, unlimited})},
    {"refresh_timeout", r.time({50ms, 10'000ms})},
    {"refresh_backoff", r.time({1ms, 1'000ms})},
    {"flush_after", r.time({0ms, 100ms, 1'000ms})},
    {"flush_timeout", r.time({20ms, 2'000ms})},
    {"flush_backoff", r.time({1ms, 200ms})},
    {"flushes", r.word({"1", "8"})},
    {"staleness", r.time({5'000ms, unlimited})},
    {"max_unwritten", r.word({"1", "1000"})},
  };
}

/// Without writes, calls with the same key get the same answer. Otherwise one
/// in three sets what is read, one in three changes it, and the rest read it.
cache_forms forms_of(const layer_plan& x) {
  if (!x.writes)
    return {};
  auto part = [](const caf::message& content, int n) {
    auto* id = portable::get_if<int>(content);
    return id && *id % 3 == n ? std::optional{fmt::format("k{}", *id % 2)}
                              : std::nullopt;
  };
  cache_forms forms;
  forms.key = [=](const caf::message& m) { return part(m, 0); };
  forms.invalidates = [=](const caf::message& m) { return part(m, 1); };
  forms.write = [=](const caf::message& m) -> std::optional<cached_write> {
    auto key = part(m, 2);
    if (!key)
      return std::nullopt;
    return cached_write{*key, caf::make_message(m.get_as<int>(0) * 100),
                        caf::make_message(-2)};
  };
  return forms;
}

layer_traits cache_traits() {
  layer_traits x{.kind = "cache"};
  x.add = [](stack& s, const layer_plan& x, const plan_actors&,
             problems& found) {
    s.cache(config_of(x, cache_config{}, found), forms_of(x));
  };
  x.settings = cache_settings;
  x.weights = {.patient = 2};
  // The same of a value from a cache, and if it cannot share one among the
  // items of a batch.
  x.not_below = {"chaos", "batcher"};
  x.situations = situations::of_caches();
  return x;
}

const registered_layer registered_cache{cache_traits()};

} // namespace
} // namespace caisson::test
