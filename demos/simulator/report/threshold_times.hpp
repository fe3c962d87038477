// Finds times to threshold during a run.
#pragma once

#include <simulator/report/blank_result.hpp>
#include <simulator/scenario/threshold.hpp>
#include <simulator/world/run_recorder.hpp>

#include <deque>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace caisson::sim {

/// Throws `std::invalid_argument` with what is wrong if what `p` compares is
/// neither a level nor kept per second, or not in a result with these names.
void check_threshold(const arm_result& names, const threshold& p);

/// The thresholds that are asked for by the expectations of an arm, and by
/// those who run it. Those that the arm cannot have are left out. Rows and
/// levels that nobody asks for cost nothing.
class threshold_watch {
public:
  /// `metrics`: names of numbers; those that are no times to threshold are
  /// ignored. `recorder` must outlive this, and gets what to look for.
  threshold_watch(const arm_config& arm,
                  const std::vector<std::string>& metrics,
                  run_recorder& recorder);

  threshold_watch(const threshold_watch&) = delete;
  threshold_watch& operator=(const threshold_watch&) = delete;

  /// The instants from which on levels are looked for, ascending.
  [[nodiscard]] const std::set<duration>& begins() const noexcept {
    return begins_;
  }

  /// The run has come to one of these instants: what is due then has not
  /// happened yet.
  void begin(duration at);

  /// What was found.
  [[nodiscard]] std::vector<threshold_time> take();

private:
  struct entry {
    threshold_time result;
    threshold what;
    /// Of rows, whole seconds [from, to); of levels, from when on.
    second_range seconds = {};
    duration from = duration::zero();
    level_watch::goal goal = {};
  };

  void add(const arm_config& arm, const metric_bound& b);
  void add_level(const arm_config& arm, entry& e, duration until);
  void second_ended(const result_row& row);

  run_recorder& recorder_;
  /// Lazily made, as it takes a plan of the world.
  std::optional<arm_result> names_;
  /// The second that has ended, with all these names.
  std::optional<arm_result> second_;
  /// They are referred to, so they must not move.
  std::deque<entry> entries_;
  /// Of `entries_`, those of rows that were not found yet.
  std::vector<entry*> open_;
  std::vector<entry*> levels_;
  std::set<duration> begins_;
};

} // namespace caisson::sim
