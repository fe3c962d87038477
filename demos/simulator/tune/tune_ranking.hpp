// Ranks candidates.
#pragma once

#include <simulator/tune/tune_targets.hpp>

#include <cstddef>
#include <vector>

namespace caisson::sim {

/// From when on it counts as sure that needs are met.
inline constexpr double sure_enough = 0.95;

/// A candidate in a comparison.
struct tune_contender {
  std::size_t id = 0;
  const tune_rows* rows = nullptr;
  /// How sure it is that it meets the needs: 0 to 1.
  double sure = 1;
};

/// The identifiers, the best first, by the first `trials` rows. Those that meet
/// all needs come before others ("An efficient constraint handling method",
/// Deb 2000), those that surely do before those that may have done so by
/// chance; then those that miss least. Among equals the objective counts, with
/// two of them the front and then the room on it, and at last the smaller
/// identifier.
[[nodiscard]] std::vector<std::size_t>
best_first(const std::vector<tune_contender>& all, std::size_t trials,
           const tune_targets& targets);

/// The members of the front of what is traded, by the first of the two numbers
/// from the best to the worst; nothing if nothing is traded. Of equals the
/// first one.
[[nodiscard]] std::vector<std::size_t>
front_of(const std::vector<tune_contender>& all, std::size_t trials,
         const std::vector<tune_target>& traded);

/// As `best_first`, but if one objective is weighed against a need, each third
/// place goes to one that is on the front of both, so that the front is found,
/// too.
[[nodiscard]] std::vector<std::size_t>
best_with_front(const std::vector<tune_contender>& all, std::size_t trials,
                const tune_targets& targets);

/// The one of a front that is nearest to the best of both numbers, each as a
/// share of what they are apart on the front (the "knee"). The front must have
/// members.
[[nodiscard]] std::size_t knee_of(const std::vector<tune_contender>& front,
                                  std::size_t trials,
                                  const std::vector<tune_target>& traded);

} // namespace caisson::sim
