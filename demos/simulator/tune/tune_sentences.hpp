// Sentences about the result of `caisson tune`.
#pragma once

#include <simulator/tune/tune_outcome.hpp>

#include <string>
#include <vector>

namespace caisson::sim {

/// `success>=99.9%` as it was written, or `latency.p99 (less)`.
[[nodiscard]] std::string target_text(const tune_plan& p, const tune_target& t);

/// What to do next, one sentence each: best values at the end of a range, few
/// seeds, combinations that are not possible.
[[nodiscard]] std::vector<std::string> tune_hints(const tune_outcome& x);

/// Sentences about the best settings: whether they meet the needs, whether they
/// are better, on the seeds of the search and on others.
[[nodiscard]] std::vector<std::string> tune_sentences(const tune_outcome& x);

/// `97.3 %`, `>99.9 %`, `<0.1 %`: more is not known from so many resamples.
[[nodiscard]] std::string sure_text(double share);

} // namespace caisson::sim
