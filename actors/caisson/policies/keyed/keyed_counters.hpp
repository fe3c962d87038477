// The counters of a keyed policy.
#pragma once

#include <caisson/policy/counters.hpp>

#include <cstdint>
#include <string_view>

namespace caisson {

/// What a keyed policy counts itself; docs/keyed.md says what each means.
enum class keyed_counter : std::uint8_t {
  keys_made,
  keys_evicted,
  keys_expired,
  keyless,
  refused_keys,
  refused_keyless,
  count_
};

template <>
struct enum_names<keyed_counter> {
  static constexpr std::string_view value[] = {
    "keys_made", "keys_evicted", "keys_expired",
    "keyless",   "refused_keys", "refused_keyless",
  };
};

} // namespace caisson
