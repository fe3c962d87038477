// Snapshots that gates publish for metrics, and the settings of that.
#pragma once

#include <caisson/base/histogram.hpp>
#include <caisson/base/time.hpp>
#include <caisson/caf/messages.hpp>
#include <caisson/policy/errc.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace caisson {

/// A counter or gauge of a layer.
struct snapshot_number {
  std::string name = {};
  std::int64_t value = 0;
  bool gauge = false;
};

/// One key of a layer with a policy for each key.
struct key_snapshot {
  std::string key = {};
  /// Empty for policies without states.
  std::string state = {};
  std::int64_t admitted = 0;
};

/// One layer of a gate.
struct layer_snapshot {
  std::string name = {};
  std::string kind = {};
  caisson::mode mode = caisson::mode::enforce;
  /// Empty for policies without states.
  std::string state = {};
  std::vector<snapshot_number> numbers = {};
  /// The busiest keys, as many as a `gate_watch` asks for.
  std::vector<key_snapshot> keys = {};
};

/// How long something took; as `duration_summary`, with the whole histogram.
struct duration_snapshot {
  measured what = measured::calls;
  bool ok = true;
  wide_histogram counts = {};
};

/// The state of a gate at one instant.
struct gate_snapshot {
  time_point taken = {};
  gate_state state = gate_state::accepting;
  worker_state worker = worker_state::none;
  /// The gate's own counters and gauges, as in `status`.
  std::map<std::string, std::int64_t> metrics = {};
  /// How many calls and leases ended with each of Caisson's errors, by their
  /// number, wherever they came from; under 0 those with another error.
  std::array<std::int64_t, std::size_t{last_errc} + 1> errors = {};
  /// From the outside in.
  std::vector<layer_snapshot> layers = {};
  /// What never happened is left out.
  std::vector<duration_snapshot> durations = {};
  std::vector<tally_summary> tallies = {};
};

/// One gate, and what it has published last.
struct watched_gate {
  std::string name = {};
  /// Distinguishes gates with the same name: 1 for the first, and for each
  /// further one the lowest number that is free when it starts.
  std::uint32_t number = 1;
  /// Never null; does not change.
  std::shared_ptr<const gate_snapshot> last = {};
};

struct gate_watch_config {
  /// A gate publishes what has changed after at most this time, and not more
  /// often: 10 ms to 1 h, default 1 s. If there are several watches, the
  /// shortest time applies.
  duration every = std::chrono::seconds(1);

  /// How many keys of a layer with a policy for each key are published, the
  /// busiest first: 0 to 100, default none. If there are several watches, the
  /// largest number applies.
  std::uint32_t keys = 0;
};

} // namespace caisson
