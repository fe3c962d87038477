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

/// What a sweep offers to the hands of its workers. Called from several
/// threads.
class cell_source {
public:
  virtual ~cell_source() = default;

  /// The next cell to play; nothing if there is none just now.
  [[nodiscard]] virtual std::optional<std::size_t> take() = 0;

  /// What to send for it. Throws `config_error` if that is not possible.
  [[nodiscard]] virtual cell_job job_of(std::size_t cell) = 0;

  /// The content of a trace of a job that was given out.
  [[nodiscard]] virtual std::shared_ptr<const std::string>
  trace_of(std::uint64_t hash) = 0;

  /// How far a cell is, 0 to 1.
  virtual void progress(std::size_t cell, double share) = 0;

  /// The cell was played; `end` is `job_stage::done`. False if the result is
  /// not wanted, or none.
  virtual bool done(std::size_t cell, const job_state& end) = 0;

  /// The cell was not played. `lost`: its worker is gone.
  virtual void give_back(std::size_t cell, bool lost) = 0;

  /// Nothing can come of this sweep.
  virtual void fail(std::exception_ptr why) = 0;
};

} // namespace caisson::sim
