// Report on one key of a policy that keeps a state for each key.
#pragma once

#include <caisson/policy/policy.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace caisson {

/// The state and the numbers of one key.
struct key_report {
  /// Empty: the calls without a key.
  std::string key = {};
  /// The name of the state; static storage.
  std::string_view state = {};
  /// How many calls were admitted since the key was first seen, or since the
  /// last `reset`.
  std::int64_t admitted = 0;
  /// The counters and gauges of the key's policy.
  std::vector<metric> metrics = {};
};

} // namespace caisson
