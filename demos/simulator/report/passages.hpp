// Looks for times of first passage while a run is played.
#pragma once

#include <simulator/report/blank_result.hpp>
#include <simulator/scenario/passage.hpp>
#include <simulator/world/run_recorder.hpp>

#include <deque>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace caisson::sim {

/// Throws `std::invalid_argument` with what is wrong if what `p` compares is
/// neither a level nor kept per second, or not in a result with these names.
void check_passage(const arm_result& names, const passage& p);

/// The passages that are asked for by the expectations of an arm, and by those
/// who play it. Those that the arm cannot have are left out. Rows and levels
/// that nobody asks for cost nothing.
class passage_watch {
public:
  /// `metrics`: names of numbers; those that are no passages are ignored.
  /// `recorder` must outlive this, and is told what to look for.
  passage_watch(const arm_config& arm, const std::vector<std::string>& metrics,
                run_recorder& recorder);

  passage_watch(const passage_watch&) = delete;
  passage_watch& operator=(const passage_watch&) = delete;

  /// The instants from which on levels are looked for, ascending.
  [[nodiscard]] const std::set<duration>& begins() const noexcept {
    return begins_;
  }

  /// The run has come to one of these instants: what is due then has not
  /// happened yet.
  void begin(duration at);

  /// What was found.
  [[nodiscard]] std::vector<passage_time> take();

private:
  struct entry {
    passage_time result;
    passage what;
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
