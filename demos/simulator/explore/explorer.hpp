// Injects random faults and looks for broken rules.
#pragma once

#include <simulator/explore/exploration.hpp>
#include <simulator/play/command_parts.hpp>
#include <simulator/play/progress.hpp>

#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace caisson::sim {

/// Executes the runs of a plan on several threads. What it finds is the same
/// for any number of jobs, as results are taken in the order of the runs.
class explorer {
public:
  /// `keep` gets each finding when it is complete, and may set its `file`.
  using finding_handler = std::function<void(finding&)>;

  /// Throws `config_error` if an arm offers no fault within the bounds.
  explorer(const explore_plan& plan, progress_bar& bar,
           const command_parts& parts, finding_handler keep);

  [[nodiscard]] exploration explore(std::size_t jobs);

private:
  using faults = std::vector<fault_config>;
  struct outcome {
    bool interrupted = false;
    std::vector<violation> broken;
  };

  [[nodiscard]] std::size_t arm_of(std::size_t index) const {
    return index % plan_.arms.size();
  }
  [[nodiscard]] std::uint64_t run_of(std::size_t index) const {
    return index / plan_.arms.size();
  }
  [[nodiscard]] faults faults_of(std::size_t index) const;
  [[nodiscard]] bool stopped() const { return parts_.stop && *parts_.stop; }

  [[nodiscard]] arm_result play(const arm_config& arm, std::uint64_t seed,
                                std::function<void(double)> progress) const;
  [[nodiscard]] arm_result play_with(std::size_t arm, const faults& more,
                                     std::uint64_t seed) const;
  outcome play_run(std::size_t index);
  bool take(std::size_t index, outcome o, exploration& all);
  [[nodiscard]] finding* find_known(std::size_t arm, const std::string& rule,
                                    exploration& all) const;
  void find(std::size_t index, const violation& broken, exploration& all);
  void confirm(finding& f);
  void show(std::size_t index, double share);
  void show_shrinking(const finding& f, std::size_t runs);

  const explore_plan& plan_;
  progress_bar& bar_;
  const command_parts& parts_;
  finding_handler keep_;
  /// By arm.
  std::vector<fault_menu> menus_;

  // Guards the bar and what follows.
  std::mutex mutex_;
  std::map<std::size_t, double> shares_;
  std::size_t played_ = 0;
};

} // namespace caisson::sim
