// Executes runs whose numbers are kept.
#pragma once

#include <simulator/play/command_parts.hpp>
#include <simulator/play/progress.hpp>
#include <simulator/play/run_result.hpp>
#include <simulator/sweep/result_store.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace caisson::sim {

/// A run whose numbers are wanted.
struct run_request {
  /// In the store.
  std::string key;
  /// For the bar, and for checks that fail.
  std::string label;
  std::uint64_t seed = 1;
  /// Asked for only if it is executed. Called from several threads at a time.
  std::function<std::shared_ptr<const arm_config>()> arm;
};

/// Executes runs that a store does not have, on several threads. What comes out
/// is the same for any number of jobs, and whatever was kept.
class run_executor {
public:
  /// `store` may be null.
  run_executor(std::vector<std::string> metrics, result_store* store,
               progress_bar& bar, const command_parts& parts)
    : metrics_(std::move(metrics)), store_(store), bar_(bar), parts_(parts) {}

  /// How many runs there will be in all calls of `run` together, for the bar.
  void expect(std::size_t runs);

  /// By number of the run; nothing of what was not executed to its end, because
  /// it was stopped.
  [[nodiscard]] std::vector<std::optional<run_result>>
  run(std::size_t count, const std::function<run_request(std::size_t)>& job,
      std::size_t jobs);

  /// Results that were not run again.
  [[nodiscard]] std::size_t reused_runs() const noexcept {
    return reused_runs_;
  }
  [[nodiscard]] std::size_t requested_runs() const noexcept {
    return requested_runs_;
  }
  /// Requested runs in which no load sent a request.
  [[nodiscard]] std::size_t idle_runs() const noexcept { return idle_; }
  [[nodiscard]] bool stopped() const { return parts_.stop && *parts_.stop; }
  /// Checks that failed, one line each, sorted.
  [[nodiscard]] std::vector<std::string> failures() const;

private:
  [[nodiscard]] std::optional<run_result> find(const std::string& key) const;
  [[nodiscard]] std::optional<run_result> play(std::size_t i,
                                               const run_request& job);
  void show(std::size_t i, const run_request& job, double share);

  std::vector<std::string> metrics_;
  result_store* store_;
  progress_bar& bar_;
  const command_parts& parts_;
  std::size_t reused_runs_ = 0;
  std::size_t requested_runs_ = 0;
  std::size_t idle_ = 0;

  // Guards the bar and what follows.
  std::mutex mutex_;
  std::size_t expected_ = 0;
  std::size_t played_ = 0;
  std::map<std::size_t, double> shares_;
  std::vector<std::string> failures_;
};

} // namespace caisson::sim
