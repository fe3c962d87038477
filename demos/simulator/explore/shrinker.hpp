// Shrinks a set of faults to the smallest that breaks the same rule.
#pragma once

#include <simulator/explore/fault_menu.hpp>

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace caisson::sim {

/// Looks for the fewest and smallest faults that still break the same rule:
/// first fewer (delta debugging, Zeller and Hildebrandt 2002), then each one in
/// a smaller place, shorter, weaker, and at a rounder time, again and again
/// until nothing gets smaller. Lengths and sizes are bisected over the round
/// numbers of the menu, so they are the smallest ones that do it where smaller
/// faults do less.
class shrinker {
public:
  using faults = std::vector<fault_config>;
  /// Whether these break it; nothing: no answer, and no further question.
  using question = std::function<std::optional<bool>(const faults&)>;

  struct result {
    faults least;
    /// How often was asked.
    std::size_t runs = 0;
    /// Whether it was tried to the end.
    bool complete = true;
  };

  /// Asks `breaks` `most_runs` times, at most.
  shrinker(const fault_menu& menu, question breaks, std::size_t most_runs)
    : menu_(menu), breaks_(std::move(breaks)), most_runs_(most_runs) {}

  /// `found` break it.
  [[nodiscard]] result shrink(faults found);

private:
  [[nodiscard]] bool try_all(const faults& candidate);
  [[nodiscard]] bool take_if_breaks(faults candidate);
  [[nodiscard]] bool replace(std::size_t i, const fault_config& with);
  [[nodiscard]] bool fewer();
  [[nodiscard]] bool remove_part(std::size_t parts);
  [[nodiscard]] bool smaller_place(std::size_t i);
  [[nodiscard]] bool least_of(std::size_t i, const faults& ascending);
  [[nodiscard]] bool shorter(std::size_t i);
  [[nodiscard]] bool weaker(std::size_t i);
  [[nodiscard]] bool rounder(std::size_t i);

  const fault_menu& menu_;
  question breaks_;
  std::size_t most_runs_;
  result result_;
  // What was asked already.
  std::map<std::string, bool> known_;
};

} // namespace caisson::sim
