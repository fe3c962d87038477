// The connections of a caller to one replica.
#pragma once

#include <simulator/scenario/scenario.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace caisson::sim {

/// Says which calls have a connection, and which ones wait for one. A plain
/// state machine: it opens nothing itself. Each operation takes time
/// logarithmic in the number of calls that wait, or less, on average.
class connection_pool {
public:
  /// How a call comes to its connection.
  enum class grant {
    /// It has one that is open.
    open,
    /// It has one that must be opened.
    fresh,
    /// It waits for one.
    waits,
    /// There is none, and too many wait.
    refused,
  };

  /// A call that has waited, and gets a connection.
  struct next_call {
    std::uint64_t call = 0;
    /// `open` or `fresh`.
    grant how = grant::open;
  };

  /// `config`: limited; must outlive this.
  explicit connection_pool(const connection_config& config)
    : config_(&config) {}

  /// `call` needs a connection.
  grant take(std::uint64_t call, time_point now);

  /// The caller of a call that waits has given up, or it has waited too long.
  void stop_waiting(std::uint64_t call);

  /// A connection is not in use any more. `age`: that of the pool when it was
  /// taken; `open`: whether it is not closed now. The first call that waits
  /// gets it, or a new one in its place.
  std::optional<next_call> give_back(std::uint32_t age, bool open,
                                     time_point now);

  /// The replica has crashed, or is back: no connection outlives that. Those in
  /// use are closed when they are given back.
  void reset(bool down);

  /// How often it was reset.
  [[nodiscard]] std::uint32_t age() const noexcept { return age_; }

  [[nodiscard]] std::size_t used() const noexcept { return used_; }
  [[nodiscard]] std::size_t waiting() const noexcept { return waiting_.size(); }

private:
  [[nodiscard]] bool take_idle(time_point now);

  const connection_config* config_;
  std::size_t used_ = 0;
  /// Since when open connections are idle, ascending. The last one is used
  /// first.
  std::vector<time_point> idle_;
  /// By the order in which they came, and the order by call.
  std::map<std::uint64_t, std::uint64_t> waiting_;
  std::map<std::uint64_t, std::uint64_t> place_of_;
  std::uint64_t places_ = 0;
  std::uint32_t age_ = 0;
  /// Crashes that last.
  std::uint32_t down_ = 0;
};

} // namespace caisson::sim
