// Result of a search, and how sure it is.
#pragma once

#include <simulator/tune/confidence.hpp>
#include <simulator/tune/tune_plan.hpp>
#include <simulator/tune/tuner.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace caisson::sim {

/// How many members of a front are shown and tested, at most.
inline constexpr std::size_t most_on_front = 12;

/// What is chosen of what was found, all by number of the candidate.
struct tune_choice {
  /// Nothing if nothing was run.
  std::optional<std::size_t> best;
  std::optional<std::size_t> runner_up;
  /// From one end to the other; nothing if nothing is traded.
  std::vector<std::size_t> front;

  /// Those that are tested: what there was before, and all of these.
  [[nodiscard]] std::vector<std::size_t> tested() const;
};

[[nodiscard]] tune_choice choice_of(const tune_plan& p,
                                    const tune_search_result& found);

/// Whether the best one keeps its promise.
enum class tune_verdict : std::uint8_t {
  /// It was not tested.
  untested,
  /// It does, on seeds that it was not chosen for.
  holds,
  /// The needs are not met there.
  needs_fail,
  /// It is not better than the present settings there.
  gain_fails,
};

/// `holds` and so on, as in JSON.
[[nodiscard]] std::string_view verdict_text(tune_verdict v);

/// A number of the present settings and of the best ones over the same trials.
struct tune_comparison {
  double present = 0;
  confidence_interval present_interval;
  double best = 0;
  confidence_interval best_interval;
  paired_difference difference;
};

/// Over all trials of the search, or over the unseen ones.
struct tune_evidence {
  std::size_t trials = 0;
  /// By column.
  std::vector<tune_comparison> columns = {};
  /// Whether each of them meets all needs, and how sure that is.
  bool present_meets = false;
  bool best_meets = false;
  double present_sure = 0;
  double best_sure = 0;
  /// By objective: how sure it is that the best is better than the present
  /// settings and than the runner-up.
  std::vector<double> better = {};
  std::vector<double> better_than_next = {};
};

struct tune_outcome {
  const tune_plan& plan;
  tune_result result;
  tune_choice choice;
  std::optional<tune_evidence> seen = {};
  std::optional<tune_evidence> unseen = {};
  tune_verdict verdict = tune_verdict::untested;

  [[nodiscard]] const tune_candidate& candidate(std::size_t i) const {
    return result.found.candidates[i];
  }
  /// Whether there is something else than there was before.
  [[nodiscard]] bool has_better() const {
    return choice.best && *choice.best != 0;
  }
  /// Whether the needs are met, also on unseen seeds if it was tested.
  [[nodiscard]] bool meets() const;
};

/// Judges what was found and tested.
[[nodiscard]] tune_outcome outcome_of(const tune_plan& p, tune_result result,
                                      tune_choice choice);

} // namespace caisson::sim
