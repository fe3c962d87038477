// Requests at services, and the calls that they make, put together from spans.
#pragma once

#include <simulator/import/span.hpp>
#include <simulator/import/span_tree.hpp>

#include <compare>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace caisson::sim {

inline constexpr std::uint32_t no_visit = std::numeric_limits<
  std::uint32_t>::max();

/// What a service is asked for, by numbers of names.
struct visited_operation {
  std::uint32_t service = 0;
  std::uint32_t name = 0;
  /// How often it is among its own callers, if it can be.
  std::uint32_t level = 0;

  friend auto operator<=>(const visited_operation&, const visited_operation&)
    = default;
};

/// One request at a service.
struct service_visit {
  /// Its first span there, or that of the client if the service has none.
  std::uint32_t span = 0;
  std::uint32_t operation = 0;
  /// `no_visit` for those from outside.
  std::uint32_t caller = no_visit;
  /// How much longer it took its caller, nanoseconds; less than 0: unknown.
  std::int64_t latency = -1;
  /// Its time without that of its calls, nanoseconds.
  std::int64_t self = 0;
};

/// A call that a visit waits for.
struct visit_call {
  std::uint32_t visit = 0;
  std::uint32_t operation = 0;
  std::int64_t start = 0;
  std::int64_t end = 0;
  bool failed = false;

  friend auto operator<=>(const visit_call&, const visit_call&) = default;
};

/// Who makes requests from outside.
struct request_source {
  enum class kind : std::uint8_t {
    /// Nobody who has spans.
    unknown,
    /// A service whose spans are those of a client only.
    client,
    /// A service that does not wait for them.
    async
  };

  kind what = kind::unknown;
  std::uint32_t service = 0;

  friend auto operator<=>(const request_source&, const request_source&)
    = default;
};

/// A visit from outside.
struct entry_visit {
  std::uint32_t visit = 0;
  request_source from;
};

/// All visits, and what was noticed of them.
struct visit_graph {
  std::vector<visited_operation> operations;
  /// Callers before those whom they call.
  std::vector<service_visit> visits;
  /// By visit, and in the order of their starts.
  std::vector<visit_call> calls;
  /// In the order of their starts.
  std::vector<entry_visit> entries;

  [[nodiscard]] std::span<const visit_call> calls_of(std::uint32_t v) const {
    return std::span{calls}.subspan(first_call[v],
                                    first_call[v + 1] - first_call[v]);
  }

  std::vector<std::uint32_t> first_call;

  // -- what was found ---------------------------------------------------------

  /// Spans of clients for whom nobody is known: time of their own service.
  std::uint64_t calls_to_unknown = 0;
  /// Calls of services that have spans otherwise.
  std::uint64_t calls_without_callee = 0;
  /// Calls whose caller ended before the callee.
  std::uint64_t given_up = 0;
  /// Calls in operations that call themselves more often than that.
  std::uint64_t too_deep = 0;
  /// Visits by clients' spans alone, by service.
  std::map<std::uint32_t, std::uint64_t> known_from_clients;
  /// Calls that outlive their caller, by the services of both.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> not_awaited;
};

/// How often an operation can be among its own callers.
inline constexpr std::uint32_t most_recursion = 20;

/// Puts spans together. n log n.
[[nodiscard]] visit_graph find_visits(const span_tree& tree,
                                      const std::vector<trace_span>& spans);

} // namespace caisson::sim
