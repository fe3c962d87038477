// The settings of a gate itself.
#pragma once

#include <caisson/base/time.hpp>
#include <caisson/settings/fwd.hpp>

#include <chrono>
#include <cstdint>
#include <string>

namespace caisson {

/// The settings of a gate itself.
struct gate_config {
  /// The gate's name in errors, events and status. Default: `gate`.
  std::string name = "gate";

  /// The deadline of a call without one: 1 ms to unlimited, default 30 s. With
  /// `unlimited` a worker that never answers keeps its callers waiting forever.
  duration default_deadline = std::chrono::seconds(30);

  /// How many calls the gate holds at once, independently of its layers; beyond
  /// that they are refused with `shed`. 1 to 16000000, default 1000000.
  std::uint32_t max_calls = 1'000'000;

  /// Seeds the gate's random source. 0: in virtual time a seed derived from the
  /// gate's actor ID, otherwise one from the machine's entropy.
  std::int64_t seed = 0;

  /// How long a permit may be held, with all its renewals, counted from its
  /// grant: 1 ms to unlimited, default unlimited.
  duration max_lease = unlimited;

  /// Whether an event reports that a call begins to wait for permits, tokens, a
  /// batch or the worker. Default false: under load there are as many as calls.
  bool emit_waits = false;
};

void describe(field_visitor& v, gate_config& c);

} // namespace caisson
