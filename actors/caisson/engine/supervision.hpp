// Decides when to restart a dead worker.
#pragma once

#include <caisson/base/random.hpp>
#include <caisson/base/time.hpp>
#include <caisson/engine/supervision_config.hpp>
#include <caisson/policy/counters.hpp>
#include <caisson/policy/policy.hpp>
#include <caisson/policy/schedule.hpp>
#include <caisson/settings/settings.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace caisson {

// -- counters -----------------------------------------------------------------

/// What a supervision counts.
enum class supervision_counter : std::uint8_t {
  restarts,
  gave_up,
  gave_up_schedule,
  steadied,
  ended,
  count_
};

template <>
struct enum_names<supervision_counter> {
  static constexpr std::string_view value[] = {
    "restarts", "gave_up", "gave_up_schedule", "steadied", "ended",
  };
};

// -- supervision --------------------------------------------------------------

/// Decides when to restart a worker. The limit is that of Erlang/OTP's
/// supervisors: a worker that dies is given up if there have already been
/// `max_restarts` restarts in the last `period`, including one exactly `period`
/// ago. A restart counts from the death that caused it.
class supervision {
public:
  using config_type = supervision_config;

  /// Throws `config_error` if `c` is not valid.
  explicit supervision(supervision_config c);

  /// The configuration in force.
  [[nodiscard]] const supervision_config& config() const noexcept {
    return config_;
  }

  /// Applies a valid configuration. Earlier restarts still count. A changed
  /// schedule starts over.
  void reconfigure(supervision_config c);

  /// Whether a worker that has ended like this is to be started again.
  /// @pre it is known how it has ended, if that matters
  [[nodiscard]] bool restarts_after(actor_end how) const noexcept;

  /// Whether it must be known how the worker has ended.
  [[nodiscard]] bool depends_on_end() const noexcept {
    return config_.lifetime == worker_lifetime::transient;
  }

  /// The worker has ended, and is not to be started again.
  void on_ended() noexcept;

  /// The worker has died, or could not be started: returns when to start it, or
  /// nothing if it is given up. If the function of a custom schedule throws,
  /// the text goes to `failure`, and the delay is that of the previous restart,
  /// or a second if there was none.
  [[nodiscard]] std::optional<time_point>
  on_down(time_point now, random_source& random,
          std::string* failure = nullptr);

  /// How long to wait before another attempt to make a worker that is to
  /// replace one that is up: that of the next restart, which does not count as
  /// one. If the schedule is exhausted or throws, as `on_down` says of the
  /// latter.
  [[nodiscard]] duration retry_delay(random_source& random,
                                     std::string* failure = nullptr);

  /// Forgets earlier restarts, but not what was counted.
  void start_over() noexcept;

  /// The worker has been started.
  void on_up(time_point now) noexcept { up_since_ = now; }

  /// Forgets the history and sets the counters to zero.
  void reset() noexcept;

  /// Appends the counters.
  void list_metrics(std::vector<metric>& out) const;

private:
  using counter = supervision_counter;

  // Nothing if the schedule is exhausted.
  [[nodiscard]] std::optional<duration> next_delay(random_source& random,
                                                   std::string* failure);

  void forget_old(time_point now) noexcept;

  supervision_config config_;
  schedule::cursor place_;
  // Used if none can be computed.
  duration last_delay_ = std::chrono::seconds(1);
  std::optional<time_point> up_since_;
  // The restarts of the last `period`, oldest first.
  std::vector<time_point> recent_;
  counters<supervision_counter> counters_;
};

} // namespace caisson
