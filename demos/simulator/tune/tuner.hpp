// Evaluates the candidates of a search.
#pragma once

#include <simulator/sweep/recent.hpp>
#include <simulator/sweep/run_executor.hpp>
#include <simulator/tune/tune_plan.hpp>
#include <simulator/tune/tune_search.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace caisson::sim {

/// What came out of a search and the test of its best candidates.
struct tune_result {
  tune_search_result found;
  /// By number of the candidate.
  std::map<std::size_t, tune_rows> unseen = {};
  /// Candidates that the scenario cannot have.
  std::size_t refused = 0;
  /// Checks of runs that failed, one line each.
  std::vector<std::string> failures = {};
};

class tuner {
public:
  /// `version` is that of the command.
  tuner(const tune_plan& plan, run_executor& runner, std::size_t jobs,
        std::string version);

  /// `enough`: as in `tune_search_options`; may be empty.
  [[nodiscard]] tune_result search(std::function<bool()> enough);

  /// Evaluates candidates with the unseen trials and notes their numbers,
  /// unless it is stopped.
  void test(const std::vector<std::size_t>& which, tune_result& into);

private:
  struct trial_run {
    std::size_t candidate = 0;
    std::size_t trial = 0;
  };

  bool play(std::vector<tune_candidate>& all,
            const std::vector<std::size_t>& which, std::size_t trials);
  std::vector<std::optional<run_result>>
  play_all(const std::vector<tune_candidate>& all,
           const std::vector<trial_run>& runs);
  [[nodiscard]] bool is_allowed(tune_candidate& c, std::size_t number);
  [[nodiscard]] run_request job_of(const tune_candidate& c,
                                   const trial_run& run);
  [[nodiscard]] const tune_trial& trial(std::size_t i);
  [[nodiscard]] std::vector<double> row_of(const tune_candidate& c,
                                           const run_result& r) const;

  const tune_plan& plan_;
  run_executor& runner_;
  std::size_t jobs_;
  std::string version_;
  /// The hash of the world of each candidate that has one.
  std::map<std::size_t, std::uint64_t> worlds_;
  std::map<std::size_t, tune_trial> trials_;
  // Building a world from its settings takes a while.
  recent<arm_config> recent_;
};

} // namespace caisson::sim
