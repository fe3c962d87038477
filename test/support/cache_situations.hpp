// Situations of a call in a cache.
#pragma once

#include <caisson/stack/layers/cache_layer.hpp>

#include "support/situation.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace caisson::test::situations {

inline cache_forms one_key() {
  return cache_forms::keyed_by<int>([](int) { return std::string{"k"}; });
}

/// The first request sets what those after it change.
inline cache_forms first_writes() {
  cache_forms forms;
  forms.write = [](const caf::message& x) -> std::optional<cached_write> {
    auto* n = portable::get_if<int>(x);
    if (!n || *n != 0)
      return std::nullopt;
    return cached_write{"k", x, caf::make_message(true)};
  };
  forms.invalidates = [](const caf::message&) {
    return std::optional<std::string>{"k"};
  };
  return forms;
}

/// Each request sets a key of its own.
inline cache_forms all_write() {
  cache_forms forms;
  forms.write = [](const caf::message& x) -> std::optional<cached_write> {
    auto* n = portable::get_if<int>(x);
    if (!n)
      return std::nullopt;
    return cached_write{std::to_string(*n), x, caf::make_message(true)};
  };
  return forms;
}

inline cache_forms with_a_value() {
  auto forms = one_key();
  forms.preheat = [] {
    return std::vector{std::pair{std::string{"k"}, caf::make_message(5)}};
  };
  return forms;
}

inline list of_caches() {
  return {
    {.name = "loading what others wait for, too",
     .policies = [](two_workers&) { return stack{}.cache({}, one_key()); },
     .before = 2},
    {.name = "loading for itself",
     .policies =
       [](two_workers&) {
         return stack{}.cache({.single_flight = false}, one_key());
       },
     .before = 1},
    {.name = "answered while its value is being refreshed",
     .policies =
       [](two_workers&) {
         return stack{}.cache({.ttl = 1ms, .stale_while = unlimited},
                              with_a_value());
       },
     .before = 1,
     .pause = 10ms},
    {.name = "acknowledged and not written",
     .policies = [](two_workers&) { return stack{}.cache({}, all_write()); },
     .before = 1,
     .writes = true},
    {.name = "acknowledged and being written",
     .policies =
       [](two_workers&) {
         return stack{}.cache({.flush_after = 0s}, all_write());
       },
     .before = 1,
     .wait = 1s,
     .writes = true},
    {.name = "waiting for a write",
     .policies = [](two_workers&) { return stack{}.cache({}, first_writes()); },
     .before = 1,
     .writes = true},
    {.name = "below a cache without room for its write",
     .policies =
       [](two_workers&) {
         return stack{}.cache({.max_unwritten = 1}, all_write());
       },
     .before = 1,
     .writes = true},
  };
}

} // namespace caisson::test::situations
