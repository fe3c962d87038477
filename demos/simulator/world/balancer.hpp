// Chooses the replica for a call.
#pragma once

#include <simulator/scenario/random.hpp>
#include <simulator/scenario/scenario.hpp>

#include <cstddef>
#include <cstdint>
#include <set>
#include <tuple>
#include <vector>

namespace caisson::sim {

/// A caller's choice among the replicas of a service. It knows what it has
/// in flight itself, and nothing of other callers. A choice takes time
/// logarithmic in the number of replicas, or less.
class balancer {
public:
  /// `replicas`: at least 1.
  balancer(balancing kind, std::size_t replicas);

  /// The replica for the next call, counted from 0 on. The call is in flight
  /// from now on. Takes at most two numbers of `random`.
  std::size_t choose(keyed_random& random);

  /// A call to this replica is over: answered, or given up by the caller.
  void over(std::size_t replica);

  /// How many calls to this replica are in flight.
  [[nodiscard]] std::uint64_t pending(std::size_t replica) const {
    return replicas_[replica].pending;
  }

private:
  struct state {
    std::uint64_t pending = 0;
    // The number of the choice that fell on it last.
    std::uint64_t chosen = 0;
  };

  // The first one is next: the fewest in progress, the longest not chosen.
  using rank = std::tuple<std::uint64_t, std::uint64_t, std::size_t>;

  [[nodiscard]] rank rank_of(std::size_t i) const;
  std::size_t less_busy_of_two(keyed_random& random) const;
  void change(std::size_t i, std::uint64_t pending);

  balancing kind_;
  std::vector<state> replicas_;
  std::uint64_t choices_ = 0;
  /// Empty unless the fewest in progress count.
  std::set<rank> ranking_;
};

} // namespace caisson::sim
