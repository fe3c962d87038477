// A world with numbers instead of names.
#pragma once

#include <simulator/scenario/message_fault_index.hpp>
#include <simulator/scenario/scenario.hpp>
#include <simulator/scenario/zones.hpp>
#include <simulator/world/message_faults.hpp>
#include <simulator/world/popularity.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace caisson::sim {

/// What a caller uses to reach a service: one gate each, or if the caller has
/// replicas, one for each of them.
struct route {
  /// `from -> to`, and from the second one between the two on its number, as in
  /// `from -> to (2)`.
  std::string name;
  /// The name of a load or of a service.
  std::string from;
  /// Index of that load or service.
  std::uint32_t from_index = 0;
  /// Index of the service.
  std::uint32_t to = 0;
  bool from_client = false;
  edge_config edge;
  /// How many replicas the caller has.
  std::uint32_t callers = 1;
  /// Whether messages may go from one zone to another.
  bool zoned = false;
  /// By zone: how many of those that call the service are there, replicas of
  /// the caller or, if that is a load, loads. Only where it counts.
  std::vector<std::uint32_t> callers_by_zone = {};
  /// Whether messages may get lost, or be slower than their latency.
  bool has_network = false;
  /// Whether results have it as an edge.
  [[nodiscard]] bool is_recorded() const {
    return has_network || zoned || edge.connections.limited();
  }
  /// Index of its first gate among those of all routes; the others follow.
  std::uint32_t first_gate = 0;

  /// The name of the gate of one replica of the caller: that of the route, or
  /// `from#3 -> to`.
  [[nodiscard]] std::string gate_name(std::uint32_t caller) const;
};

/// One call of an operation, ready to be made.
struct planned_call {
  call_config config;
  std::uint32_t operation = 0;
  std::uint32_t route = 0;
  bool idempotent = true;
  /// Index among the service's caches; `no_cache` if there is none.
  std::uint32_t cache = no_cache;

  /// Of its keys; null if there is no cache.
  std::shared_ptr<const popularity> keys;

  static constexpr std::uint32_t no_cache = 0xffffffff;
};

struct planned_step {
  std::vector<planned_call> calls;
  distribution work;
};

struct planned_operation {
  std::string name;
  std::uint32_t service = 0;
  distribution time;
  distribution item_time;
  std::vector<planned_step> steps;
};

/// What a load asks for.
struct planned_target {
  std::uint32_t operation = 0;
  std::uint32_t route = 0;
  bool idempotent = true;
  /// Sum of the weights up to and including this one, divided by all: 0 to 1.
  double upto = 1;
};

/// One of a service's replicas.
struct service_instance {
  /// Index of the service.
  std::uint32_t service = 0;
  /// Which one of its replicas, from 0 on.
  std::uint32_t replica = 0;
};

/// A cache of a service: the keys of one call.
struct planned_cache {
  std::uint32_t keys = 0;
  duration ttl = unlimited;
};

/// Everything of an arm that is looked up by name, looked up. Callers share a
/// route where from, to, policies and the network are the same.
struct world_plan {
  explicit world_plan(const arm_config& arm);

  world_plan(const world_plan&) = delete;
  world_plan& operator=(const world_plan&) = delete;

  /// Who calls whom on a route; `caller`: which replica of the caller, from 0
  /// on.
  [[nodiscard]] route_ends ends_of(const route& r, std::uint32_t caller) const;

  /// The zone in which a caller is; `zone_map::nowhere` if there is none.
  [[nodiscard]] std::uint32_t zone_of_caller(const route& r,
                                             std::uint32_t caller) const {
    return r.from_client ? zones.of_load(r.from_index)
                         : zones.of_replica(r.from_index, caller);
  }

  const arm_config& arm;
  zone_map zones;
  message_fault_index message_faults_of_arm;
  /// In the order of the services.
  std::vector<service_instance> instances;
  /// By service: the index of its first instance, followed by the others.
  std::vector<std::uint32_t> first_instance;
  std::vector<planned_operation> operations;
  std::vector<route> routes;
  /// By service.
  std::vector<std::vector<planned_cache>> caches;
  /// By load.
  std::vector<std::vector<planned_target>> targets;

private:
  [[nodiscard]] std::uint32_t operation_named(std::string_view name) const;
  std::uint32_t route_for(std::uint32_t from, bool from_client,
                          std::uint32_t to, const edge_config& edge);
  void add_instances();
  void add_operations();
  void plan_steps(std::uint32_t service, const operation_config& from,
                  planned_operation& into);
  void plan_loads();
  void number_gates();
  void find_zones();
  void find_networks();

  std::map<std::string, std::uint32_t, std::less<>> operation_index_;
  // By caller and service.
  std::map<std::pair<std::string, std::uint32_t>, std::vector<std::uint32_t>>
    routes_between_;
};

} // namespace caisson::sim
