#include <simulator/import/recursion.hpp>

#include <simulator/import/cycles.hpp>

#include <algorithm>
#include <map>

namespace caisson::sim {

void unroll_recursion(visit_graph& g) {
  std::vector<graph_edge> edges;
  edges.reserve(g.calls.size());
  for (const auto& c : g.calls)
    edges.emplace_back(g.visits[c.visit].operation, c.operation);
  auto cycles = find_cycles(static_cast<std::uint32_t>(g.operations.size()),
                            edges);
  if (std::ranges::none_of(cycles.cyclic, [](bool x) { return x; }))
    return;
  const auto before = g.operations;
  std::map<graph_edge, std::uint32_t> numbers;
  auto at_level = [&](std::uint32_t operation, std::uint32_t level) {
    if (level == 0)
      return operation;
    auto [at, fresh] = numbers.try_emplace(
      {operation, level}, static_cast<std::uint32_t>(g.operations.size()));
    if (fresh) {
      g.operations.push_back(before[operation]);
      g.operations.back().level = level;
    }
    return at->second;
  };
  std::vector<std::uint32_t> original;
  std::vector<std::uint32_t> levels;
  for (auto& v : g.visits) {
    original.push_back(v.operation);
    auto deeper = v.caller != no_visit
                  && cycles.in_one(original[v.caller], v.operation);
    levels.push_back(deeper ? std::min(most_recursion, levels[v.caller] + 1)
                            : 0);
    v.operation = at_level(v.operation, levels.back());
  }
  std::size_t kept = 0;
  for (auto c : g.calls) {
    auto deeper = cycles.in_one(original[c.visit], c.operation);
    if (deeper && levels[c.visit] == most_recursion) {
      ++g.too_deep;
      continue;
    }
    c.operation = at_level(c.operation, deeper ? levels[c.visit] + 1 : 0);
    g.calls[kept++] = c;
  }
  g.calls.resize(kept);
}

} // namespace caisson::sim
