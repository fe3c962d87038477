// Numbers of a stretch of whole seconds.
#pragma once

#include <simulator/results/edges.hpp>
#include <simulator/results/requests.hpp>
#include <simulator/results/services.hpp>

#include <compare>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace caisson::sim {

/// As many seconds as `arm_result::step` says, but for the last one of a run.
struct result_row {
  /// The second that it begins with, counted from 0.
  std::uint32_t second = 0;
  /// Offered and attempts by when they were made, the rest by the answer.
  request_counts requests;
  /// Of the requests begun in it: how many were answered promptly, with
  /// success, before the end of the load.
  std::uint64_t prompt = 0;
  /// Of those answered with success within it.
  latency_summary latency;
  /// In the order of `arm_result::loads`.
  std::vector<load_row> loads;
  /// In the order of `arm_result::services`.
  std::vector<service_row> services;
  /// Of those of `arm_result::edges` that have limited connections.
  std::vector<connection_row> connections;
  /// The state of each breaker at the end of the row, in the order of
  /// `arm_result::breakers`.
  std::vector<std::string> breakers;
  /// The worst that each had at the end of a second; empty if the row is one
  /// second.
  std::vector<std::string> worst_breakers;

  friend bool operator==(const result_row&, const result_row&) = default;
};

/// Makes `next`, which comes after `row`, a part of it: counts are summed up,
/// the largest are the largest of both, and what is at the end is that of
/// `next`. Latencies cannot be joined in this way: those of `row` stay.
void join(result_row& row, const result_row& next);

/// The worst state of each breaker within the row.
[[nodiscard]] const std::vector<std::string>&
worst_states(const result_row& row);

/// Of two states of a breaker the one to look at.
[[nodiscard]] const std::string& worse_state(const std::string& a,
                                             const std::string& b);

/// For `arm_result::step`: all of a run is one row.
inline constexpr std::uint32_t one_row = std::numeric_limits<
  std::uint32_t>::max();

/// What a verdict asks of the requests of a second. As in `result_row`, and
struct second_tally {
  std::uint64_t offered = 0;
  std::uint64_t good = 0;
  std::uint64_t prompt = 0;
  /// as `prompt`, but in the drain, when nothing else is asked any more.
  std::uint64_t prompt_in_drain = 0;

  void operator+=(const second_tally& x) {
    offered += x.offered;
    good += x.good;
    prompt += x.prompt;
    prompt_in_drain += x.prompt_in_drain;
  }
  void operator-=(const second_tally& x) {
    offered -= x.offered;
    good -= x.good;
    prompt -= x.prompt;
    prompt_in_drain -= x.prompt_in_drain;
  }

  friend bool operator==(const second_tally&, const second_tally&) = default;
};

/// Whole seconds [from, to).
struct second_range {
  std::uint32_t from = 0;
  std::uint32_t to = 0;

  friend auto operator<=>(const second_range&, const second_range&) = default;
};

/// What the servers and cores of a service did, summed up over the ends of
/// seconds.
struct server_seconds {
  std::uint64_t busy = 0;
  std::uint64_t cores_used = 0;
  /// As `service_row::servers`.
  std::uint64_t servers = 0;

  friend bool operator==(const server_seconds&, const server_seconds&)
    = default;
};

/// A range as if it were one row, without latencies.
struct range_sums {
  second_range range;
  /// How many of its seconds have been run.
  std::uint32_t seconds = 0;
  result_row row;
  /// In the order of `arm_result::services`.
  std::vector<server_seconds> servers;

  /// Adds `next`, which covers `n` seconds.
  void add(const result_row& next, std::uint32_t n);
};

} // namespace caisson::sim
