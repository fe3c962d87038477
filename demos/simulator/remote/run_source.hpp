// Source of runs for workers, and sink of their results.
#pragma once

#include <simulator/remote/messages.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>

namespace caisson::sim {

/// What a sweep offers to the dispatchers of its workers. Called from several
/// threads.
class run_source {
public:
  virtual ~run_source() = default;

  /// The next run to execute; nothing if there is none just now.
  [[nodiscard]] virtual std::optional<std::size_t> take() = 0;

  /// What to send for it. Throws `config_error` if that is not possible.
  [[nodiscard]] virtual run_job job_of(std::size_t run) = 0;

  /// The content of a recording of a job that was given out.
  [[nodiscard]] virtual std::shared_ptr<const std::string>
  recording_of(std::uint64_t hash) = 0;

  /// How far a run is, 0 to 1.
  virtual void progress(std::size_t run, double share) = 0;

  /// The run was executed; `end` is `job_stage::done`. False if the result is
  /// not wanted, or none.
  virtual bool done(std::size_t run, const job_state& end) = 0;

  /// The run was not executed. `lost`: its worker is gone.
  virtual void give_back(std::size_t run, bool lost) = 0;

  /// Nothing can come of this sweep.
  virtual void fail(std::exception_ptr why) = 0;
};

} // namespace caisson::sim
