// Plays what a sweep is about.
#pragma once

#include <sim/command/command_parts.hpp>
#include <sim/command/progress.hpp>
#include <sim/sweep/cell_store.hpp>
#include <sim/sweep/sweep_plan.hpp>
#include <sim/sweep/sweep_report.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace caisson::sim {

/// Plays the cells of a plan that a store does not have, on several threads.
/// What comes out is the same for any number of jobs, and whatever was kept.
class sweeper {
public:
  /// `worlds`: the hash of each arm at each point, by point and arm. `store`
  /// may be null.
  sweeper(const sweep_plan& plan, const std::vector<std::uint64_t>& worlds,
          cell_store* store, progress_bar& bar, const command_parts& parts);

  [[nodiscard]] sweep_report play_all(std::size_t jobs);

  /// Results that were not played again.
  [[nodiscard]] std::size_t kept() const noexcept { return kept_; }

private:
  using arms = std::vector<arm_config>;

  void find_kept(sweep_report& r);
  bool play(std::size_t cell, sweep_report& r);
  [[nodiscard]] std::shared_ptr<const arms> arms_at(std::size_t point);
  void show(std::size_t cell, double share);
  [[nodiscard]] std::string key_of(std::size_t cell) const;
  [[nodiscard]] std::string label_of(const sweep_cell& c) const;
  [[nodiscard]] bool stopped() const { return parts_.stop && *parts_.stop; }

  const sweep_plan& plan_;
  const std::vector<std::uint64_t>& worlds_;
  cell_store* store_;
  progress_bar& bar_;
  const command_parts& parts_;
  std::size_t kept_ = 0;
  std::vector<std::size_t> missing_;

  // Guards the bar and what follows, and the report.
  std::mutex mutex_;
  std::map<std::size_t, double> shares_;
  std::size_t played_ = 0;
  // What was played last: building a world from its settings takes a while.
  std::vector<std::pair<std::size_t, std::shared_ptr<const arms>>> recent_;
};

} // namespace caisson::sim
