#include <simulator/import/cycles.hpp>

#include <algorithm>
#include <limits>

namespace caisson::sim {

namespace {

class component_finder {
public:
  component_finder(std::uint32_t nodes, const std::vector<graph_edge>& edges)
    : edges_(edges), first_(nodes + 1, 0), index_(nodes, unseen),
      low_(nodes, 0), on_stack_(nodes, false) {
    for (const auto& [from, to] : edges)
      ++first_[from + 1];
    for (std::size_t i = 1; i < first_.size(); ++i)
      first_[i] += first_[i - 1];
    out_.component.assign(nodes, 0);
  }

  graph_cycles find() {
    for (std::uint32_t i = 0; i < index_.size(); ++i)
      if (index_[i] == unseen)
        search(i);
    for (const auto& [from, to] : edges_)
      if (from == to)
        out_.cyclic[out_.component[from]] = true;
    return std::move(out_);
  }

private:
  static constexpr auto unseen = std::numeric_limits<std::uint32_t>::max();

  // A node and which of its edges is next.
  struct visited {
    std::uint32_t node;
    std::uint32_t next;
  };

  void open(std::uint32_t node) {
    index_[node] = low_[node] = count_++;
    stack_.push_back(node);
    on_stack_[node] = true;
    path_.push_back({node, first_[node]});
  }

  void search(std::uint32_t from) {
    open(from);
    while (!path_.empty()) {
      auto& here = path_.back();
      if (here.next == first_[here.node + 1]) {
        close();
        continue;
      }
      auto node = here.node;
      auto to = edges_[here.next++].second;
      if (index_[to] == unseen)
        open(to);
      else if (on_stack_[to])
        low_[node] = std::min(low_[node], index_[to]);
    }
  }

  void close() {
    auto node = path_.back().node;
    path_.pop_back();
    if (!path_.empty())
      low_[path_.back().node] = std::min(low_[path_.back().node], low_[node]);
    if (low_[node] != index_[node])
      return;
    auto number = static_cast<std::uint32_t>(out_.cyclic.size());
    out_.cyclic.push_back(stack_.back() != node);
    for (;;) {
      auto member = stack_.back();
      stack_.pop_back();
      on_stack_[member] = false;
      out_.component[member] = number;
      if (member == node)
        return;
    }
  }

  const std::vector<graph_edge>& edges_;
  std::vector<std::uint32_t> first_;
  std::vector<std::uint32_t> index_;
  std::vector<std::uint32_t> low_;
  std::vector<bool> on_stack_;
  std::vector<std::uint32_t> stack_;
  std::vector<visited> path_;
  std::uint32_t count_ = 0;
  graph_cycles out_;
};

} // namespace

graph_cycles find_cycles(std::uint32_t nodes, std::vector<graph_edge>& edges) {
  std::ranges::sort(edges);
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  return component_finder{nodes, edges}.find();
}

} // namespace caisson::sim
