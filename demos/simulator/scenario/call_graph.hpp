// Graph of the calls between operations.
#pragma once

#include <simulator/scenario/scenario.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace caisson::sim {

/// A call, or what a load asks for.
struct call_site {
  /// A service or a load.
  std::string_view caller;
  /// The operation that makes the call; empty for a load.
  std::string_view operation;
  /// What is called.
  std::string_view to;
  /// How often, at most.
  std::uint32_t count = 1;
  /// Where in the scenario the name of what is called stands.
  setting_path key;
  /// What a service says of the call; null for a load.
  const call_config* config = nullptr;
};

/// `a` of the operation `a.b`, or of the service `a`.
[[nodiscard]] std::string_view
service_of_operation(std::string_view operation) noexcept;

/// All calls in the order of the services, and then what the loads ask for.
/// Calls without a name are left out. Refers to `arm`.
[[nodiscard]] std::vector<call_site> calls_of(const arm_config& arm);

/// Each caller with each service that it calls, once, in the order of the
/// calls. Refers to `arm`.
[[nodiscard]] std::vector<std::pair<std::string, const service_config*>>
called_pairs(const arm_config& arm);

/// Reports calls that go in a circle, and requests that can lead to too many
/// calls. Graphs of any depth are walked without recursion, in linear time.
void check_call_graph(const arm_config& arm,
                      const std::vector<call_site>& calls, problems& out);

} // namespace caisson::sim
