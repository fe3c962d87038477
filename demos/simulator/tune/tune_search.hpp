// Looks for the best settings when each trial of them is noisy.
#pragma once

#include <simulator/scenario/random.hpp>
#include <simulator/tune/tune_ranking.hpp>
#include <simulator/tune/tune_space.hpp>
#include <simulator/tune/tune_targets.hpp>

#include <cstddef>
#include <functional>
#include <set>
#include <vector>

namespace caisson::sim {

struct tune_candidate {
  /// Of what is not in the space, the point that is nearest to it.
  tune_point point;
  bool in_space = true;
  /// Whether there can be such settings at all; otherwise it has no rows.
  bool allowed = true;
  tune_rows rows = {};
};

struct tune_search_options {
  /// How many trials a candidate has, at most.
  std::size_t trials = 16;
  /// How many trials all of them have together, at most; at least those of the
  /// present settings.
  std::size_t budget = 500;
  /// How many of them are for the first candidates, spread over the whole
  /// space.
  std::size_t first = 250;
  draw_key key{1};
  /// Whether no further candidates are wanted; may be empty.
  std::function<bool()> enough = {};
};

struct tune_search_result {
  /// The first one is what there was before.
  std::vector<tune_candidate> candidates;
  /// How many trials candidates have that can be compared in the end.
  std::size_t trials = 0;
  /// How many trials there were in all.
  std::size_t spent = 0;
  /// Whether all combinations had all trials.
  bool complete = false;
  /// Whether it was stopped; then fewer trials may be compared.
  bool interrupted = false;

  /// Those that can be compared, with how sure it is that they meet the needs.
  [[nodiscard]] std::vector<tune_contender>
  contenders(const tune_targets& targets, draw_key key) const;
};

/// The search. If there is time for all combinations, all are tried. Otherwise
/// candidates are spread evenly over the space, and race against each other by
/// successive halving (K. Jamieson and A. Talwalkar, "Non-stochastic best arm
/// identification and hyperparameter optimization", 2016): all have a few
/// trials, the better half of them twice as many, and so on. Further ones are
/// drawn around the best, nearer each time, as in iterated racing (M.
/// López-Ibáñez et al., "The irace package", 2016), and beside them in each
/// direction, as in pattern search (V. Torczon, 1997).
///
/// The same space, options and rows give the same result.
class tune_search {
public:
  /// Gives candidates `which` rows until they have `trials` or are not
  /// allowed. False: it was stopped, and rows may be missing.
  using player = std::function<bool(std::vector<tune_candidate>& all,
                                    const std::vector<std::size_t>& which,
                                    std::size_t trials)>;

  tune_search(tune_space space, tune_targets targets,
              tune_search_options options, player play);

  [[nodiscard]] tune_search_result run(tune_candidate present);

private:
  using ids = std::vector<std::size_t>;

  [[nodiscard]] std::vector<std::size_t> race_trials() const;
  [[nodiscard]] std::size_t race_cost(std::size_t count) const;
  [[nodiscard]] std::size_t affordable(std::size_t most,
                                       std::size_t spend) const;
  [[nodiscard]] bool enough() const {
    return options_.enough && options_.enough();
  }

  bool play(ids& which, std::size_t trials);
  bool race(ids which);
  ids add(const std::vector<tune_point>& points);
  bool add_all();
  [[nodiscard]] std::vector<tune_point> spread(std::size_t count);
  [[nodiscard]] std::vector<tune_point>
  refined_points(const ids& best, std::size_t count, double distance,
                 std::size_t round);
  void refine(std::size_t count);
  [[nodiscard]] std::vector<tune_contender> having(std::size_t trials,
                                                   const ids& some) const;
  void conclude();

  tune_space space_;
  tune_targets targets_;
  tune_search_options options_;
  player play_;
  tune_search_result found_;
  std::set<tune_point> seen_;
};

} // namespace caisson::sim
