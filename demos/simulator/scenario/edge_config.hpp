// Settings of edges, which lead from callers to services.
#pragma once

#include <simulator/scenario/count_value.hpp>
#include <simulator/scenario/distribution.hpp>

#include <caisson/base/time.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace caisson::sim {

/// How a caller chooses one of a service's replicas.
enum class balancing {
  /// One after the other.
  round_robin,
  /// Any, with equal probability.
  random,
  /// Of two at random, the one with fewer calls of this caller in flight.
  power_of_two,
  /// The one with the fewest calls of this caller in flight.
  least_pending,
};

/// To which zones a caller's calls go.
enum class zone_routing {
  /// To all replicas, wherever they are.
  any,
  /// To those in the caller's zone, if there are any.
  local,
  /// To those in the caller's zone, but no more than that zone's share of the
  /// replicas; the rest to zones with more replicas than callers.
  proportional,
};

/// The network between a caller and a service. What is said of messages holds
/// for calls and for their answers, each for itself.
struct network_config {
  /// The mean of what is added to the latency of each message, exponentially.
  duration jitter = duration::zero();
  /// Share of the messages that are lost: 0 to 1.
  double loss = 0;
  /// Share of the calls whose answer was lost that arrive a second time: 0 to
  /// 1.
  double duplication = 0;
  /// Bytes per second and direction, for each caller; 0: no limit.
  double bandwidth = 0;
  /// Bytes of a call, per item of a batch, and of its answer: 0 to 1000000000.
  std::uint32_t call_size = 1000;
  std::uint32_t answer_size = 1000;

  friend bool operator==(const network_config&, const network_config&)
    = default;
};

/// What becomes of the connection of a call that its caller has given up.
enum class after_giving_up {
  /// It is closed at once.
  close,
  /// It stays in use until the answer comes.
  keep,
};

/// The connections of one caller to one replica of a service.
struct connection_config {
  /// How many at most: 1 to 1000000; or no_limit, which makes the rest without
  /// effect.
  std::uint32_t most = no_limit;
  /// How many calls may wait for one: 0 to 1000000000, or no_limit.
  std::uint32_t pending = no_limit;
  /// How long a call waits for one at most.
  duration wait = unlimited;
  /// How long it takes to open one.
  distribution connect;
  /// How long one is kept open that is not in use.
  duration idle = unlimited;
  after_giving_up given_up = after_giving_up::close;

  [[nodiscard]] bool limited() const noexcept { return most != no_limit; }

  friend bool operator==(const connection_config&, const connection_config&)
    = default;
};

/// What lies between a caller and a service, resolved for one pair.
struct edge_config {
  /// One way.
  distribution latency;
  /// The policies on the caller's side; "" for none.
  std::string stack;
  /// Whether these calls may be carried out twice.
  bool idempotent = true;
  balancing balancer = balancing::round_robin;
  zone_routing routing = zone_routing::any;
  network_config network = {};
  connection_config connections = {};
};

/// An entry of `[[edge]]`.
struct edge_rule {
  /// Names of loads and services, or "*".
  std::vector<std::string> from = {"*"};
  /// Names of services or operations, or "*".
  std::vector<std::string> to = {"*"};
  std::optional<distribution> latency;
  std::optional<std::string> stack;
  std::optional<bool> idempotent;
  std::optional<balancing> balancer = {};
  std::optional<zone_routing> routing = {};
  std::optional<duration> jitter = {};
  std::optional<double> loss = {};
  std::optional<double> duplication = {};
  std::optional<double> bandwidth = {};
  std::optional<std::int64_t> call_size = {};
  std::optional<std::int64_t> answer_size = {};
  std::optional<count_in<1, 1'000'000>> connections = {};
  std::optional<count_in<0, 1'000'000'000>> pending = {};
  std::optional<duration> wait = {};
  std::optional<distribution> connect = {};
  std::optional<duration> idle = {};
  std::optional<after_giving_up> given_up = {};
};

} // namespace caisson::sim
