// Numbers of a run of one arm.
#pragma once

#include <simulator/results/run.hpp>
#include <simulator/scenario/fault_times.hpp>
#include <simulator/world/result_row.hpp>

#include <caisson/base/time.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace caisson::sim {

struct run_details;

/// How long the time is of which a verdict asks whether it was good, at least.
/// An answer within that time is prompt, and so is any that comes in time for a
/// client with a timeout.
inline constexpr std::chrono::seconds verdict_window{5};

/// A gate at the end of the run.
struct gate_summary {
  /// `from -> to`, or `-> service` for the policies in front of a service.
  std::string name;
  std::string stack;
  std::map<std::string, std::int64_t> metrics;
  struct layer {
    std::string name;
    std::string kind;
    std::string state;
    std::map<std::string, std::int64_t> metrics;
  };
  std::vector<layer> layers;
};

/// When something was so for the first time.
struct threshold_time {
  /// As it was asked for: `first(NAME OP NUMBER)` and from when to when.
  std::string metric;
  std::optional<duration> from = {};
  duration to = unlimited;
  /// Nothing if it never was.
  std::optional<duration> at = {};
};

/// When a fault came that counts requests.
struct counted_times {
  /// How often, all replicas together.
  std::uint64_t begun = 0;
  /// The first ones, in order.
  std::vector<fault_time> times;
  /// Whether it would have come more often than it may.
  bool cut_off = false;
};

/// A rule that a run has broken.
struct violation {
  /// The rule and where it is broken: the same for all runs that break it.
  std::string rule;
  /// What there is instead.
  std::string text;

  friend bool operator==(const violation&, const violation&) = default;
};

struct arm_result : run_summary {
  std::string name;
  std::string title;
  std::uint64_t seed = 0;

  /// Of the load; less than the scenario's length if the run was interrupted.
  duration length = duration::zero();
  duration warmup = duration::zero();
  /// When it was over, with the drain: the last row lasts until then.
  duration end = duration::zero();
  bool interrupted = false;

  request_counts totals;
  latency_summary latency;
  /// By operation that a load asks for, in the order of names.
  std::map<std::string, latency_summary> by_operation;
  /// In the order of the arm.
  std::vector<load_summary> loads;

  /// What should be known about the verdict.
  std::vector<std::string> warnings;

  std::vector<service_summary> services;
  std::vector<edge_summary> edges;
  std::vector<gate_summary> gates;
  /// Names of breakers: the gate's name and the layer's.
  std::vector<std::string> breakers;
  /// Seconds per row.
  std::uint32_t step = 1;
  std::vector<result_row> rows;
  /// By second, only those of the load.
  std::vector<second_tally> tallies;
  /// Those that were watched, in their order.
  std::vector<range_sums> ranges;
  /// Those that were looked for.
  std::vector<threshold_time> threshold_times;
  /// By place in the arm; none for faults after the last one that came.
  std::vector<counted_times> counted_faults;
  /// What `run_options::verify` has found.
  std::vector<violation> violations;
  /// Nothing unless they were asked for.
  std::shared_ptr<const run_details> details;

  /// Of the event log.
  std::uint64_t events = 0;
  std::uint64_t digest = 0;

  // -- differs from run to run ------------------------------------------------

  double wall_seconds = 0;
  /// Messages that actors handled.
  std::uint64_t messages = 0;
};

} // namespace caisson::sim
