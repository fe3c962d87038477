// Records the times of faults that count requests.
#pragma once

#include <simulator/world/result.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace caisson::sim {

/// Keeps the first instants of each fault, and how often it came. Instants are
/// since the start of the run.
class fault_recorder {
public:
  /// How often a fault may come, all replicas together.
  [[nodiscard]] bool may_begin(std::size_t fault) const;

  /// A fault that wanted to come again may not.
  void refused(std::size_t fault);

  /// The fault, by its place in the arm, begins. `replica`: which one it hits,
  /// from 1 on; 0 if there is only one. Returns its number, for its end.
  std::uint64_t begun(std::size_t fault, std::uint32_t replica, duration now);
  void ended(std::size_t fault, std::uint64_t number, duration now);

  /// Whether it lasts for any replica.
  [[nodiscard]] bool lasts(std::size_t fault) const;

  /// By place in the arm; not longer than it must be. What lasts, lasts until
  /// `end`.
  [[nodiscard]] std::vector<counted_times> times(duration end) const;

private:
  counted_times& of(std::size_t fault);

  /// By place in the arm.
  std::vector<counted_times> all_;
  std::vector<std::uint64_t> lasting_;
};

} // namespace caisson::sim
