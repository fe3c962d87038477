// Nodes that are reused.
#pragma once

#include <caisson/base/ensure.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace caisson::detail {

/// Nodes in one vector, named by their index. Those that were put back are
/// taken again, the last one first, so that memory never exceeds the largest
/// number of nodes in use at once. A `Node` has a member `std::uint32_t next`,
/// which belongs to the pool while the node is free; the rest of it stays as it
/// is.
template <class Node>
class index_pool {
public:
  using index = std::uint32_t;
  static constexpr index none = 0xffffffff;

  [[nodiscard]] Node& operator[](index i) noexcept { return nodes_[i]; }
  [[nodiscard]] const Node& operator[](index i) const noexcept {
    return nodes_[i];
  }

  /// For how many nodes there is memory: their indexes are below it.
  [[nodiscard]] std::size_t capacity() const noexcept { return nodes_.size(); }

  /// A node that is free; a new one begins as `fresh`.
  index take(Node&& fresh = {}) {
    if (free_ != none)
      return std::exchange(free_, nodes_[free_].next);
    CAISSON_ENSURE(nodes_.size() < none, "{} nodes are in use", nodes_.size());
    nodes_.push_back(std::move(fresh));
    return static_cast<index>(nodes_.size() - 1);
  }

  void put_back(index i) noexcept {
    nodes_[i].next = free_;
    free_ = i;
  }

  /// Whether there has been a peak: the memory is more than is worth keeping
  /// while no node is in use.
  [[nodiscard]] bool oversized() const noexcept { return nodes_.size() > kept; }

  /// Gives all memory back. @pre no node is in use
  void release() noexcept {
    std::vector<Node>{}.swap(nodes_);
    free_ = none;
  }

private:
  static constexpr std::size_t kept = 1024;

  std::vector<Node> nodes_;
  index free_ = none;
};

} // namespace caisson::detail
