// Executes the runs of a sweep.
#pragma once

#include <simulator/play/command_parts.hpp>
#include <simulator/play/progress.hpp>
#include <simulator/remote/recording_bundle.hpp>
#include <simulator/remote/remote_workers.hpp>
#include <simulator/remote/run_queue.hpp>
#include <simulator/remote/run_source.hpp>
#include <simulator/sweep/recent.hpp>
#include <simulator/sweep/result_store.hpp>
#include <simulator/sweep/sweep_plan.hpp>
#include <simulator/sweep/sweep_report.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <iosfwd>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace caisson::sim {

/// Who executes the runs.
struct sweep_executors {
  /// How many threads of this machine; with workers it may be none.
  std::size_t jobs = 1;
  remote_options remote_workers = {};
  /// The identity that workers must have.
  build_identity build = {};
};

/// Executes the runs of a plan that a store does not have, on several threads,
/// and by workers on other machines. What comes out is the same for any number
/// of both, and whatever was kept.
class sweeper : private run_source {
public:
  /// `worlds`: the hash of each arm at each point, by point and arm. `store`
  /// may be null. `err` gets what there is to say of workers.
  sweeper(const sweep_plan& plan, const std::vector<std::uint64_t>& worlds,
          result_store* store, progress_bar& bar, std::ostream& err,
          const command_parts& parts);

  /// Throws what went wrong, such as that there are no workers any more; by
  /// then the store has all results that there are.
  [[nodiscard]] sweep_report play_all(const sweep_executors& executors);

  /// Results that were not run again.
  [[nodiscard]] std::size_t reused_runs() const noexcept {
    return reused_runs_;
  }

private:
  using arms = std::vector<arm_config>;

  // -- for workers ------------------------------------------------------------

  std::optional<std::size_t> take() override { return queue_->pop_remote(); }
  run_job job_of(std::size_t run) override;
  std::shared_ptr<const std::string> recording_of(std::uint64_t hash) override {
    return recordings_.find(hash);
  }
  void progress(std::size_t run, double share) override { show(run, share); }
  bool done(std::size_t run, const job_state& end) override;
  void give_back(std::size_t run, bool lost) override;
  void fail(std::exception_ptr why) override;

  // -- for this machine -------------------------------------------------------

  void find_managed();
  void play_missing(const sweep_executors& executors);
  void wait(remote_workers* remote, const sweep_executors& executors);
  void serve();
  bool play(std::size_t run);
  void note(std::size_t run, run_result result,
            const std::vector<std::string>& failures);
  [[nodiscard]] std::shared_ptr<const arms> arms_at(std::size_t point) {
    return recent_.get(point, [&] { return plan_.arms_at(point); });
  }
  void say(const std::string& text);
  void show(std::size_t run, double share);
  [[nodiscard]] std::string key_of(std::size_t run) const;
  [[nodiscard]] std::uint64_t world_of(const sweep_run& c) const {
    return worlds_[plan_.arms.size() * c.point + c.arm];
  }
  [[nodiscard]] std::string label_of(const sweep_run& c) const;
  [[nodiscard]] bool stopped() const { return parts_.stop && *parts_.stop; }

  const sweep_plan& plan_;
  const std::vector<std::uint64_t>& worlds_;
  result_store* store_;
  progress_bar& bar_;
  std::ostream& err_;
  const command_parts& parts_;
  recording_bundle recordings_;
  std::size_t reused_runs_ = 0;
  std::vector<std::size_t> missing_;
  std::optional<run_queue> queue_;

  // Guards the bar and what follows, and the report.
  std::mutex mutex_;
  sweep_report report_;
  std::exception_ptr error_;
  std::map<std::size_t, double> shares_;
  std::size_t played_ = 0;
  std::size_t played_here_ = 0;
  std::optional<std::size_t> workers_;
  // The arms of points: building them from their settings takes a while.
  recent<arms> recent_;
};

} // namespace caisson::sim
