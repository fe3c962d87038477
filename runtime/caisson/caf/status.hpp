// Status of a gate.
#pragma once

#include <caisson/base/time.hpp>
#include <caisson/caf/caf.hpp>
#include <caisson/policy/measurements.hpp>
#include <caisson/policy/operation.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace caisson {

// -- enumerations -------------------------------------------------------------

/// Whether a gate accepts new calls.
enum class gate_state : std::uint8_t { accepting, draining };

[[nodiscard]] std::string_view name_of(gate_state x) noexcept;

/// What a gate knows about its worker.
enum class worker_state : std::uint8_t {
  /// There is none: the gate only lends permits.
  none,
  up,
  /// It is being started, or will be.
  restarting,
  down,
  /// It died too often.
  given_up,
  /// It has ended, and is not to be started again (`worker_lifetime`).
  ended,
};

[[nodiscard]] std::string_view name_of(worker_state x) noexcept;

CAISSON_ENUM(mode, mode::off)
CAISSON_ENUM(gate_state, gate_state::draining)
CAISSON_ENUM(worker_state, worker_state::ended)
CAISSON_ENUM(measured, measured::waits)
CAISSON_ENUM(tallied, tallied::limit_used)

// -- status -------------------------------------------------------------------

/// One key of a layer that keeps a policy for each key.
struct key_status {
  /// Empty: the calls without a key.
  std::string key = {};
  /// The state's name; empty for policies without states.
  std::string state = {};
  /// How many calls it has admitted since the key was first seen.
  std::int64_t admitted = 0;
  /// Its counters and gauges.
  std::map<std::string, std::int64_t> metrics = {};
};
CAISSON_MESSAGE(key_status, key, state, admitted, metrics)

/// One layer of a gate.
struct layer_status {
  /// Its name within the gate, by which `reconfigure` and `command` find it.
  std::string name = {};
  /// That of its policy, such as `breaker`.
  std::string kind = {};
  /// The current mode.
  caisson::mode mode = caisson::mode::enforce;
  /// The state's name; empty for policies without states.
  std::string state = {};
  /// Counters and gauges.
  std::map<std::string, std::int64_t> metrics = {};
  /// Every setting, as text.
  std::map<std::string, std::string> config = {};
  /// What the layer says in words, by what it is about; docs say which.
  std::map<std::string, std::string> notes = {};
  /// Of a layer with a policy for each key: the keys with the most calls
  /// admitted, at most ten, in descending order.
  std::vector<key_status> keys = {};
};
CAISSON_MESSAGE(layer_status, name, kind, mode, state, metrics, config, notes,
                keys)

/// How long something took; see docs/gate.md. Percentiles are within 6.25 %.
struct duration_summary {
  /// What was measured.
  measured what = measured::calls;
  /// Of calls and attempts: whether they succeeded. Of waits: whether the call
  /// was eventually sent.
  bool ok = true;
  /// How many there were.
  std::uint64_t count = 0;
  /// Half of them took at most this long.
  duration p50 = duration::zero();
  /// 90 % of them took at most this long.
  duration p90 = duration::zero();
  /// 99 % of them took at most this long.
  duration p99 = duration::zero();
  /// The longest of them, exactly.
  duration max = duration::zero();
};
CAISSON_MESSAGE(duration_summary, what, ok, count, p50, p90, p99, max)

/// How many calls needed how much of something; see docs/gate.md.
struct tally_summary {
  /// What was counted.
  tallied what = tallied::attempts;
  /// Whether these calls succeeded.
  bool ok = true;
  /// How many there were.
  std::uint64_t count = 0;
  /// What they needed together, in the unit of `what`.
  std::uint64_t sum = 0;
  /// How many of them needed at most the first of `bounds_of(what)`, more than
  /// that and at most the second, and so on; the last number is of those that
  /// needed more than the last bound.
  std::vector<std::uint64_t> counts = {};

  /// The smallest bound that at least the share `q` of the calls did not
  /// exceed; nothing if more than `1 - q` of them exceed the last bound, or if
  /// there are none.
  [[nodiscard]] std::optional<std::uint32_t> quantile(double q) const;
};
CAISSON_MESSAGE(tally_summary, what, ok, count, sum, counts)

/// A gate at one instant: the answer to `get_status`.
struct status {
  /// The gate's name, from its config.
  std::string name = {};
  /// Whether it takes new calls.
  gate_state state = gate_state::accepting;
  /// What it knows about its worker.
  worker_state worker = worker_state::none;
  /// The gate's own counters and gauges (docs/gate.md).
  std::map<std::string, std::int64_t> metrics = {};
  /// From the outside in.
  std::vector<layer_status> layers = {};
  /// Since the gate started or was reset; what never happened is left out.
  std::vector<duration_summary> durations = {};
  /// The same of what calls needed.
  std::vector<tally_summary> tallies = {};

  /// The layer with that name; throws `std::out_of_range` if there is none.
  [[nodiscard]] const layer_status& layer(std::string_view layer_name) const;

  /// A metric of the gate itself. Throws `std::out_of_range` if there is none
  /// with that name.
  [[nodiscard]] std::int64_t metric(const std::string& metric_name) const;
  /// A metric of the layer with that name. Throws `std::out_of_range` if there
  /// is no such layer, or if it has no such metric.
  [[nodiscard]] std::int64_t metric(std::string_view layer_name,
                                    const std::string& metric_name) const;

  /// How long something took; a summary of none if it never happened.
  [[nodiscard]] duration_summary duration_of(measured what, bool ok) const;

  /// How much of something calls needed; a summary of none if there were none.
  [[nodiscard]] tally_summary tally_of(tallied what, bool ok) const;
};
CAISSON_MESSAGE(status, name, state, worker, metrics, layers, durations,
                tallies)

} // namespace caisson
