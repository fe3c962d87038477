// Cycles in a graph.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace caisson::sim {

using graph_edge = std::pair<std::uint32_t, std::uint32_t>;

/// The nodes of a graph by what they can reach and be reached from.
struct graph_cycles {
  /// For each node the number of its strongly connected component.
  std::vector<std::uint32_t> component;
  /// For each component whether there is a cycle in it.
  std::vector<bool> cyclic;

  [[nodiscard]] bool in_one(std::uint32_t a, std::uint32_t b) const {
    return component[a] == component[b] && cyclic[component[a]];
  }
};

/// Tarjan's algorithm, without recursion. `edges` may have an edge twice; they
/// are sorted, and each is left once.
[[nodiscard]] graph_cycles find_cycles(std::uint32_t nodes,
                                       std::vector<graph_edge>& edges);

} // namespace caisson::sim
