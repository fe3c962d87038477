// Details of a run, recorded on demand only.
#pragma once

#include <simulator/results/edges.hpp>

#include <caisson/base/time.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace caisson::sim {

/// What a service did for one attempt of a call. Times are since the start of
/// the request.
struct sample_work {
  duration arrived = duration::zero();
  std::optional<duration> begun = {};
  std::optional<duration> left = {};
  /// `done`, `fail`, `drop`, `lose`, `refuse` or `down`; empty before it left.
  std::string_view how = {};
};

/// The way of an attempt through the network, seen from the gate of its route.
/// Times as above.
struct sample_trip {
  duration sent = duration::zero();
  /// Nothing if no answer came back.
  std::optional<duration> back = {};
};

/// A call that a client or a service made for a request. Times as above.
struct sample_call {
  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  /// The call for which it was made, by index; `none` for those of clients.
  std::size_t parent = none;
  /// Indexes in the plan.
  std::uint32_t operation = 0;
  std::uint32_t route = 0;
  duration sent_at = duration::zero();
  std::optional<duration> ended = {};
  /// The name of an `ending`, or `given_up`; empty before it ended.
  std::string_view how = {};
  std::vector<sample_work> works = {};
  /// Only of traces, and only where the route has a network.
  std::vector<sample_trip> trips = {};
};

/// A request of a client with all that was done for it.
struct sample_request {
  std::uint64_t number = 0;
  std::size_t load = 0;
  duration begun = duration::zero();
  std::optional<duration> took = {};
  /// The name of an `ending`; empty without an answer.
  std::string_view how = {};
  std::vector<sample_call> calls = {};
  /// Calls and attempts that are not kept.
  std::uint64_t more = 0;
};

/// Which requests are kept as samples: the first `requests` of those that begin
/// in a second that is a multiple of `every`.
struct sample_settings {
  std::uint32_t every = 1;
  std::uint32_t requests = 2;
  /// Of one request.
  std::size_t calls = 64;
  /// Of one call.
  std::size_t works = 8;
};

/// Which requests are traced: all that begin in [from, to), with all that is
/// done for them, also later.
struct trace_settings {
  duration from = duration::zero();
  duration to = unlimited;
  /// Of requests, calls, attempts and trips together. Requests that begin when
  /// half of them are there are left out, so that there is room for what is
  /// done for the others.
  std::size_t most = 250'000;
};

/// A breaker went into another state. The time is since the start of the run.
struct breaker_change {
  duration at = duration::zero();
  /// Index in `arm_result::breakers`.
  std::size_t breaker = 0;
  std::string state;
};

struct trace_details {
  trace_settings settings;
  /// In the order in which they began.
  std::vector<sample_request> requests;
  /// Requests of the time that are not in it.
  std::uint64_t left_out = 0;
  /// Those of the time, at most `trace_settings::most`.
  std::vector<breaker_change> breakers;
  /// When the run ended: what has no end lasts until then.
  duration end = duration::zero();
};

struct run_details {
  /// By row, in the order of the plan's routes.
  std::vector<std::vector<edge_row>> edges;
  /// In the order in which they began.
  std::vector<sample_request> samples;
  std::optional<trace_details> trace;
};

} // namespace caisson::sim
