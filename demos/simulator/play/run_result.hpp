// Stored result of one run of a sweep.
#pragma once

#include <simulator/results/verdict_kind.hpp>
#include <simulator/world/result.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace caisson::sim {

struct run_result {
  verdict_kind verdict = verdict_kind::degraded;
  /// By name; NaN of what the run has not.
  std::map<std::string, double, std::less<>> metrics;
  /// Whether no request began after the warm-up; set by `only`.
  bool idle = false;

  [[nodiscard]] bool has_all(const std::vector<std::string>& names) const;

  friend bool operator==(const run_result&, const run_result&) = default;
};

/// With `metrics`, and with those that are cheap and often asked for later.
[[nodiscard]] run_result run_result_of(const arm_result& r,
                                       const std::vector<std::string>& metrics);

/// Without other metrics: what is kept is more than what is shown. Says whether
/// the run was idle.
[[nodiscard]] run_result only(run_result c,
                              const std::vector<std::string>& metrics);

/// A warning that so many of these runs were idle, for people; empty if none
/// was.
[[nodiscard]] std::string idle_warning(std::uint64_t idle, std::uint64_t runs);

/// One line of text, from which `read_run` gets an equal result.
[[nodiscard]] std::string run_text(const run_result& c);
/// Nothing if the text is not a whole one.
[[nodiscard]] std::optional<run_result> read_run(std::string_view text);

} // namespace caisson::sim
