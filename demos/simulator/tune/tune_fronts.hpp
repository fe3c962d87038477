// Sorts candidates into Pareto fronts.
#pragma once

#include <simulator/tune/tune_targets.hpp>

#include <cstddef>
#include <vector>

namespace caisson::sim {

/// Two numbers of which less is better.
struct tune_trade {
  tune_estimate first;
  tune_estimate second;

  friend auto operator<=>(const tune_trade&, const tune_trade&) = default;
};

/// The front that each belongs to: 0 if nothing is better in one number and not
/// worse in the other, 1 if that is so without those of front 0, and so on.
/// Equals belong to the same front. Takes n log n steps.
[[nodiscard]] std::vector<std::size_t>
fronts_of(const std::vector<tune_trade>& all);

/// How much room each has on its front, as a share of the front's length; the
/// ends are infinite ("crowding distance", Deb et al., "A fast and elitist
/// multiobjective genetic algorithm: NSGA-II", 2002). Equals after the first
/// have none.
[[nodiscard]] std::vector<double>
room_on_fronts(const std::vector<tune_trade>& all,
               const std::vector<std::size_t>& fronts);

} // namespace caisson::sim
