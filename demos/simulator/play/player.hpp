// Executes the runs of a report.
#pragma once

#include <simulator/play/command_parts.hpp>
#include <simulator/play/progress.hpp>
#include <simulator/report/report.hpp>

#include <cstddef>
#include <iosfwd>
#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace caisson::sim {

/// How a scenario is run.
struct playing {
  /// How many arms at a time, each on a thread of its own.
  std::size_t jobs = 1;
  /// Whether all seeds have rows.
  bool rows = false;
  /// Whether there will be a page, which shows the first seed: it has rows
  /// then, and a few requests of it are noted.
  bool page = false;
  /// Which time of the first seed is traced, if any; it has rows then.
  std::optional<trace_settings> trace = {};
  /// As in `run_options`.
  bool verify = false;
  /// Gets the event logs, one arm after the other; then `jobs` must be 1.
  std::ostream* log = nullptr;
};

/// Runs all arms of a report with all its seeds and notes in it what comes
/// out. The report is the same for any number of jobs, but for the times that
/// it took. If it is stopped, the report ends with the first arm that was not
/// run to its end.
class player {
public:
  player(report& r, progress_bar& bar, const command_parts& parts, playing how);

  void play_all();

private:
  /// The number of an arm and a seed, in the order of running.
  using turn = std::size_t;

  [[nodiscard]] bool stopped() const { return parts_.stop && *parts_.stop; }
  [[nodiscard]] std::size_t arm_of(turn i) const {
    return i % report_.arms.size();
  }
  [[nodiscard]] bool of_first_seed(turn i) const {
    return i < report_.arms.size();
  }
  [[nodiscard]] bool on_page(turn i) const {
    return how_.page && of_first_seed(i);
  }
  [[nodiscard]] bool has_rows(turn i) const {
    return how_.rows || on_page(i) || (how_.trace && of_first_seed(i));
  }
  [[nodiscard]] std::uint64_t seed_of(turn i) const {
    return report_.seed + i / report_.arms.size();
  }

  arm_result play(turn i);
  run_options options(turn i);
  void show(turn i, double share);
  void note(turn i, arm_result result);
  void add_failure(std::string text, const arm_result& result);

  report& report_;
  progress_bar& bar_;
  const command_parts& parts_;
  playing how_;
  const std::size_t turns_;

  // Guards the bar and what follows.
  std::mutex mutex_;
  // How far each one is that is being run.
  std::map<turn, double> shares_;
  std::size_t played_ = 0;
};

} // namespace caisson::sim
