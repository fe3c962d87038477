// Plays what a sweep is about.
#pragma once

#include <sim/sweep/cell_runner.hpp>
#include <sim/sweep/recent.hpp>
#include <sim/sweep/sweep_plan.hpp>
#include <sim/sweep/sweep_report.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace caisson::sim {

/// Plays the cells of a plan.
class sweeper {
public:
  /// `worlds`: the hash of each arm at each point, by point and arm.
  sweeper(const sweep_plan& plan, const std::vector<std::uint64_t>& worlds,
          cell_runner& runner)
    : plan_(plan), worlds_(worlds), runner_(runner) {}

  [[nodiscard]] sweep_report play_all(std::size_t jobs);

private:
  [[nodiscard]] cell_job job_of(std::size_t cell);
  [[nodiscard]] std::string label_of(const sweep_cell& c) const;

  const sweep_plan& plan_;
  const std::vector<std::uint64_t>& worlds_;
  cell_runner& runner_;
  // The arms of points: building them from their settings takes a while.
  recent<std::vector<arm_config>> recent_;
};

} // namespace caisson::sim
