// One run of a sweep, in a form that another machine can run.
#pragma once

#include <simulator/play/run.hpp>
#include <simulator/remote/messages.hpp>
#include <simulator/scenario/load_recording.hpp>
#include <simulator/scenario/scenario.hpp>

#include <caisson/settings/setting.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace caisson::sim {

/// What a worker takes at most.
inline constexpr std::size_t longest_job_text = 16'000'000;
inline constexpr std::size_t longest_job_name = 4096;
inline constexpr std::size_t most_job_metrics = 1000;
inline constexpr std::size_t most_job_recordings = 1000;

/// The scenario with the arm `arm` alone, as a document that reads back to a
/// world with the same `world_hash`.
[[nodiscard]] std::string job_text(settings root, const std::string& arm);

/// Why no worker takes such a job, whatever is in the scenario; empty if one
/// may.
[[nodiscard]] std::string oversize_of(const run_job& job);

/// Worlds that were read last: many runs differ in their seeds only. May be
/// used from several threads.
class world_cache {
public:
  using world = std::shared_ptr<const arm_config>;

  [[nodiscard]] world find(const run_job& job) const;
  void keep(const run_job& job, world w);

private:
  static constexpr std::size_t most = 4;
  struct entry {
    std::string text;
    std::string arm;
    std::uint64_t hash;
    world what;
  };

  mutable std::mutex mutex_;
  std::vector<entry> entries_;
};

struct job_playing {
  std::function<arm_result(const arm_config&, const run_options&)>
    play = run_arm;
  /// Where the contents of its recordings are, by the paths in the scenario.
  recording_source::finder recordings;
  const std::atomic<bool>* stop = nullptr;
  std::function<void(double)> progress = {};
};

/// Executes a job from another machine. Reads and writes no file. What is wrong
/// with the job is `refused`; an interrupted run is `unknown`.
[[nodiscard]] job_state play_job(const run_job& job, const job_playing& how,
                                 world_cache& worlds);

} // namespace caisson::sim
