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
  /// As in `status`.
  std::string name = {};
  /// At the instant of the snapshot.
  std::int64_t value = 0;
  /// Whether it goes up and down; otherwise it only increases.
  bool gauge = false;
};

/// One key of a layer with a policy for each key.
struct key_snapshot {
  /// Empty: the calls without a key.
  std::string key = {};
  /// Empty for policies without states.
  std::string state = {};
  /// How many calls it has admitted since the key was first seen.
  std::int64_t admitted = 0;
};

/// One layer of a gate.
struct layer_snapshot {
  /// The layer's name within its gate.
  std::string name = {};
  /// That of its policy, as in configurations.
  std::string kind = {};
  /// The current mode, an operator's included.
  caisson::mode mode = caisson::mode::enforce;
  /// Empty for policies without states.
  std::string state = {};
  /// The policy's counters and gauges, and `observed_passes`.
  std::vector<snapshot_number> numbers = {};
  /// The busiest keys, as many as a `gate_watch` asks for.
  std::vector<key_snapshot> keys = {};
};

/// A call of a distributed trace that is recorded, as an example of what one
/// bucket counts.
struct duration_exemplar {
  std::uint64_t trace_high = 0; ///< The upper 64 bits of the trace's id.
  std::uint64_t trace_low = 0;  ///< The lower ones.
  /// The gate's span for the call, or the attempt's; not 0.
  std::uint64_t span = 0;
  time_point at = {};               ///< When it ended, on the gate's clock.
  duration took = duration::zero(); ///< What was measured.
};

/// How long something took; as `duration_summary`, with the whole histogram.
struct duration_snapshot {
  /// What was measured.
  measured what = measured::calls;
  /// As in `duration_summary`.
  bool ok = true;
  /// The number of measurements by how long they took, since the gate started
  /// or was reset.
  wide_histogram counts = {};
  /// Of the buckets that metrics have, the last example of each; by how long it
  /// took, and none where no such call was.
  std::vector<duration_exemplar> exemplars = {};
};

/// The state of a gate at one instant.
struct gate_snapshot {
  /// When it was taken, on the gate's clock.
  time_point taken = {};
  /// Whether the gate takes new calls.
  gate_state state = gate_state::accepting;
  /// What the gate knows about its worker.
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
  /// What calls needed, as in `status`.
  std::vector<tally_summary> tallies = {};
};

/// One gate, and what it has published last.
struct watched_gate {
  /// The gate's name, from its config.
  std::string name = {};
  /// Distinguishes gates with the same name: 1 for the first, and for each
  /// further one the lowest number that is free when it starts.
  std::uint32_t number = 1;
  /// Never null; does not change.
  std::shared_ptr<const gate_snapshot> last = {};
  /// Whether a reload has removed it: it finishes what it has, and gets no more
  /// by its name.
  bool leaving = false;
};

/// How often gates publish what they know, and how much of it.
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
