// Queue of the runs that are left, for local threads and remote workers.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

namespace caisson::sim {

/// Hands out runs in order, to this machine and to remote workers. A run that
/// is given back is handed out again, so that none is lost; a completed one is
/// not, so that none counts twice.
///
/// May be used from several threads.
class run_queue {
public:
  /// How many workers may be lost while they execute a run before no further
  /// one gets it: it may be what crashes them.
  static constexpr std::uint32_t most_losses = 5;

  /// `local`: whether this machine takes part. It then executes itself what
  /// workers were lost with.
  run_queue(const std::vector<std::size_t>& runs, bool local);

  /// For a worker elsewhere.
  [[nodiscard]] std::optional<std::size_t> pop_remote();

  /// For a thread of this machine. Waits until there is a run; nothing once
  /// all is over.
  [[nodiscard]] std::optional<std::size_t> pop_local();

  /// A run that was taken was not executed. `lost`: the worker that began it is
  /// gone.
  void give_back(std::size_t run, bool lost);

  /// A run that was taken was executed. False if it was not out: its result
  /// must not count.
  bool done(std::size_t run);

  /// Nobody gets anything any more.
  void end();

  /// Waits until all are done or `end` was called, at most this long. Whether
  /// that is so.
  bool wait(std::int64_t milliseconds);

  [[nodiscard]] std::size_t left() const;

  /// The first run that was given up because of its losses, which ends all.
  [[nodiscard]] std::optional<std::size_t> given_up() const;

private:
  [[nodiscard]] bool over() const {
    return ended_ || (open_.empty() && local_only_.empty() && out_.empty());
  }
  std::optional<std::size_t> take_from(std::set<std::size_t>& from);

  const bool local_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::set<std::size_t> open_;
  std::set<std::size_t> local_only_;
  std::set<std::size_t> out_;
  std::map<std::size_t, std::uint32_t> losses_;
  std::optional<std::size_t> given_up_;
  bool ended_ = false;
};

} // namespace caisson::sim
