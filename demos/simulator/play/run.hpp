// Runs one arm of a scenario.
#pragma once

#include <simulator/scenario/scenario.hpp>
#include <simulator/world/result.hpp>
#include <simulator/world/run_details.hpp>

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace caisson::sim {

struct run_options {
  std::uint64_t seed = 1;
  /// Called now and then with the share of the load's time that is over, 0 to
  /// 1.
  std::function<void(double)> progress;
  /// The run ends soon after this becomes true.
  const std::atomic<bool>* stop = nullptr;
  /// Whether a world that was stopped is left as it is instead of being taken
  /// apart, which takes seconds if it holds millions of requests: for processes
  /// that end soon.
  bool abandon = false;
  /// Whether the counts are checked, and whether anything is still held when
  /// all that the loads have caused is over, at most a day after them; see
  /// `arm_result::violations`. What else comes out is the same.
  bool verify = false;
  /// Seconds per row of the result; `one_row` for those who need none.
  std::uint32_t step = 1;
  /// Numbers that will be asked for beside those that the arm expects: what
  /// `first(...)` means is only looked for if it is known before.
  std::vector<std::string> metrics = {};
  /// Gets every line of the event log, without the line break.
  std::function<void(std::string_view)> log;
  /// Whether `arm_result::details` are recorded, and which samples.
  std::optional<sample_settings> details = std::nullopt;
  /// Whether a trace is recorded in them, and of which time.
  std::optional<trace_settings> trace = std::nullopt;
};

/// Runs `arm` in virtual time on the calling thread. Same arm and same seed,
/// same result and same event log, whatever `progress`, `step`, `metrics`,
/// `log`, `details` and `trace` are, but for the rows. Throws `config_error` if
/// the arm cannot be built.
[[nodiscard]] arm_result run_arm(const arm_config& arm,
                                 const run_options& options);

} // namespace caisson::sim
