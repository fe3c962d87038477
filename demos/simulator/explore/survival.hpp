// Finds which faults a system survives, and for how long.
#pragma once

#include <simulator/explore/exploration.hpp>
#include <simulator/explore/fault_menu.hpp>
#include <simulator/play/command_parts.hpp>
#include <simulator/play/progress.hpp>

#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace caisson::sim {

/// One kind of fault at one place of one arm.
struct survival {
  std::size_t arm = 0;
  /// The most severe one within the bounds; `lasts` is the longest that was
  /// survived, 0 if none was.
  fault_config fault;
  /// Whether there was no longer one to try.
  bool longest = false;
  /// The shortest that was tried and not survived, unless `longest`.
  duration fatal = duration::zero();
  /// Nothing if it was not executed to the end.
  bool known = false;
};

struct survival_map {
  /// By arm, place and kind.
  std::vector<survival> all;
  /// By arm: whether it is healthy without any fault. If not, nothing else is
  /// tried.
  std::vector<bool> well;
  bool interrupted = false;
};

/// For each service, each pair of a caller and a service, and each kind of
/// fault with a length: the longest fault of the largest size within the bounds
/// that begins at `fault_menu::from` and after which the run recovers, by
/// bisection over round numbers, with one seed. Faults of the file, and its
/// `recovery_from`, are left out. The same for any number of jobs.
class survival_prober {
public:
  survival_prober(const explore_plan& plan, progress_bar& bar,
                  const command_parts& parts);

  [[nodiscard]] survival_map probe_all(std::size_t jobs);

private:
  void add_questions(std::size_t arm);
  [[nodiscard]] survival probe(survival s);
  /// Nothing if it was interrupted.
  [[nodiscard]] std::optional<bool> survives(std::size_t arm,
                                             const fault_config* fault);
  [[nodiscard]] bool stopped() const { return parts_.stop && *parts_.stop; }

  const explore_plan& plan_;
  progress_bar& bar_;
  const command_parts& parts_;
  /// By arm, without faults.
  std::vector<arm_config> arms_;
  std::vector<fault_menu> menus_;
  std::vector<survival> questions_;

  // Guards the bar and what follows.
  std::mutex mutex_;
  std::size_t done_ = 0;
};

} // namespace caisson::sim
