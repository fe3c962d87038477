// The last events of gates, for those who follow them.
#pragma once

#include <caisson/base/time.hpp>
#include <caisson/caf/caf.hpp>
#include <caisson/caf/call_handle.hpp>
#include <caisson/observe/event_log.hpp>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace caisson::detail {

/// Subscribes to the gates when somebody asks for events, and takes no more
/// once nobody has asked for a while. Its functions may be called by several
/// threads at once.
class event_tail {
public:
  /// Keeps the last `most` events, and follows the gates until nobody has asked
  /// for so long.
  event_tail(caf::actor_system& sys, std::size_t most,
             duration forgotten_after = std::chrono::minutes(1));
  ~event_tail();

  event_tail(const event_tail&) = delete;
  event_tail& operator=(const event_tail&) = delete;

  using gate_list = std::function<std::vector<control_handle>()>;

  /// How far a reader has come.
  struct position {
    /// Each time that gates are followed anew is another one.
    std::uint64_t period = 0;
    /// How many events it has seen or missed.
    std::uint64_t events = 0;
    /// How many events had been dropped, as there were too many at once.
    std::uint64_t dropped = 0;
  };

  struct part {
    position next;
    /// Each as a JSON object on one line.
    std::vector<std::string> lines = {};
    /// How many the reader has missed; nothing: unknown, as the
    /// gates were not followed for some time.
    std::optional<std::uint64_t> missed = 0;
  };

  /// What has happened since `from`, at most `most_lines`; waits for the first
  /// one, but no longer than `patience`. Without `from`: where the end is.
  /// Looks from time to time whether there are other gates.
  [[nodiscard]] part read(const gate_list& gates, std::optional<position> from,
                          duration patience);

  /// Nobody waits any more.
  void close();

  static constexpr std::size_t most_lines = 1'000;

private:
  using steady = std::chrono::steady_clock;

  bool wait(const position& from, steady::time_point until);
  position follow(const std::vector<control_handle>& gates);
  void take(const event& x, utc_time at, std::uint64_t period);
  void rest();

  caf::actor_system& sys_;
  const std::size_t most_;
  const duration forgotten_after_;

  // Of what concerns the log; taken before the other one.
  std::mutex following_;
  std::optional<event_log> log_;
  std::set<caf::actor_id> followed_;
  /// Whether the log takes no more, or there is none yet.
  bool resting_ = true;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> lines_;
  /// How many there were in this period.
  std::uint64_t taken_ = 0;
  std::uint64_t period_;
  /// How many wait for events, and when somebody last asked.
  std::size_t waiting_ = 0;
  steady::time_point asked_ = {};
  bool closed_ = false;
};

} // namespace caisson::detail
