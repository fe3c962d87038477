// Spans of distributed traces.
#pragma once

#include <simulator/import/name_pool.hpp>

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace caisson::sim {

/// What a span says of its part in a call.
enum class span_kind : std::uint8_t {
  internal,
  client,
  server,
  producer,
  consumer
};

struct trace_number {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  friend auto operator<=>(const trace_number&, const trace_number&) = default;
};

struct trace_span {
  trace_number trace;
  std::uint64_t id = 0;
  /// 0: none.
  std::uint64_t parent = 0;
  /// Nanoseconds since 1970.
  std::int64_t start = 0;
  std::int64_t end = 0;
  /// Numbers in the pool of names; `peer` is whom a client calls, if it says.
  std::uint32_t service = 0;
  std::uint32_t name = 0;
  std::uint32_t peer = 0;
  span_kind kind = span_kind::internal;
  bool failed = false;
  /// Its parent does not wait for it.
  bool follows = false;

  friend auto operator<=>(const trace_span&, const trace_span&) = default;
};

/// What readers have found.
struct span_set {
  name_pool names;
  std::vector<trace_span> spans;

  /// Set before reading: of the files of `caisson run --spans` only what
  /// belongs to this arm.
  std::optional<std::string> only_arm = {};
  /// The arms of those files, each of which is a run of its own, and how many
  /// spans each has.
  std::map<std::string, std::uint64_t> arms = {};
  /// Left out, as they are not of `only_arm`.
  std::uint64_t of_other_arms = 0;

  /// Spans that are not in it: without ids, or without a readable time.
  std::uint64_t without_ids = 0;
  std::uint64_t without_times = 0;
  /// Spans that end before they begin, taken as of no length.
  std::uint64_t backwards = 0;
  /// Spans whose service has no name.
  std::uint64_t without_service = 0;
};

} // namespace caisson::sim
