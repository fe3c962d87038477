// Turns the state of workers into lines for the user of a sweep.
#pragma once

#include <simulator/remote/worker_record.hpp>

#include <caisson/base/time.hpp>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace caisson::sim {

/// Turns what is seen of the workers into lines for the user, and decides when
/// it is of no use to wait any longer. Knows no clock.
class remote_watch {
public:
  /// Workers are reported that have not answered for so long.
  static constexpr duration patience = std::chrono::seconds(3);

  /// `local`: this machine executes runs, too. `wait`: how long it may be that
  /// nobody does.
  remote_watch(bool local, duration wait) : local_(local), wait_(wait) {}

  /// What there is to say at `now`, a time since the beginning.
  [[nodiscard]] std::vector<std::string>
  check(const std::vector<worker_view>& all, duration now);

  /// Why the sweep cannot go on; nothing if it can. As of the last `check`.
  [[nodiscard]] std::optional<std::string> hopeless() const;

  /// How many were there at the last `check`.
  [[nodiscard]] std::size_t connected() const noexcept { return connected_; }

private:
  struct known {
    worker_presence presence = worker_presence::expected;
    /// What was last said of it.
    std::string text;
    bool mentioned = false;
  };

  void check(const worker_view& x, known& k, duration now,
             std::vector<std::string>& out);

  bool local_;
  duration wait_;
  std::vector<known> known_;
  std::size_t connected_ = 0;
  bool all_refused_ = false;
  /// Since when no worker is connected.
  duration alone_since_ = duration::zero();
  duration alone_for_ = duration::zero();
  bool reported_alone_ = false;
};

/// `runs: 127.0.0.1:4001 60, 127.0.0.1:4002 58, this machine 12`
[[nodiscard]] std::string run_counts_text(const std::vector<worker_view>& all,
                                          std::uint64_t local);

} // namespace caisson::sim
