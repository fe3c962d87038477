// Calls of an operation, distinguished by how many of the same kind came
// before.
#pragma once

#include <simulator/import/visits.hpp>

#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

namespace caisson::sim {

/// The first, second, … call of an operation in a visit.
struct call_slot {
  std::uint32_t operation = 0;
  /// From 0 on.
  std::uint32_t nth = 0;
  /// In how many visits it is, and how often: more only for the last one.
  std::uint64_t visits = 0;
  std::uint64_t calls = 0;
  /// How often it overlaps with the one before it of the same operation.
  std::uint64_t overlaps = 0;
};

/// How often one slot comes right after another.
struct slot_pair {
  std::uint64_t after = 0;
  /// How often they are at the same time instead.
  std::uint64_t together = 0;
};

/// Counts slots and pairs of them over the visits of an operation.
class slot_counter {
public:
  explicit slot_counter(const visit_graph& g) : graph_(g) {}

  void add(std::uint32_t visit);

  std::vector<call_slot> slots;
  /// By slots; for those at the same time the smaller one is the first.
  std::map<std::pair<std::uint32_t, std::uint32_t>, slot_pair> pairs;
  std::uint64_t visits = 0;
  /// Nanoseconds in calls: as they were, and if each step ended with its
  /// longest call.
  double real_time = 0;
  double step_time = 0;

private:
  struct placed_call {
    std::uint32_t step;
    std::uint32_t slot;
    auto operator<=>(const placed_call&) const = default;
  };

  std::uint32_t slot_of(const visit_call& c);
  void place_steps(std::span<const visit_call> calls);
  void count_pairs();

  const visit_graph& graph_;
  std::unordered_map<std::uint64_t, std::uint32_t> numbers_;
  // Of one visit: how many calls of an operation, and the end of the last.
  struct same_calls {
    std::uint32_t count = 0;
    std::int64_t end = 0;
  };
  std::unordered_map<std::uint32_t, same_calls> seen_;
  std::vector<placed_call> placed_;
};

} // namespace caisson::sim
