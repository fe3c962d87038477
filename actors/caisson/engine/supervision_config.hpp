// Settings of a worker's supervision.
#pragma once

#include <caisson/base/time.hpp>
#include <caisson/policy/schedule.hpp>
#include <caisson/settings/fwd.hpp>

#include <chrono>
#include <cstdint>
#include <string_view>

namespace caisson {

/// What a gate does when it gives its worker up.
enum class give_up_action : std::uint8_t {
  /// The gate quits, so that its own supervisor takes over.
  quit,
  /// The gate stays and refuses calls.
  refuse,
};

template <>
struct enum_names<give_up_action> {
  static constexpr std::string_view value[] = {"quit", "refuse"};
};

/// After which ends a worker is started again, as in Erlang/OTP.
enum class worker_lifetime : std::uint8_t {
  /// After each.
  permanent,
  /// After those that are not normal.
  transient,
  /// After none.
  temporary,
};

template <>
struct enum_names<worker_lifetime> {
  static constexpr std::string_view value[] = {"permanent", "transient",
                                               "temporary"};
};

/// How an actor has ended.
enum class actor_end : std::uint8_t {
  /// By itself, without an error, or because somebody has asked it to.
  normal,
  /// In any other way.
  abnormal,
  /// Nobody knows yet.
  unknown,
};

/// The settings of a worker's supervision.
struct supervision_config {
  /// After which ends the worker is started again, default permanent: after
  /// each.
  worker_lifetime lifetime = worker_lifetime::permanent;

  /// How long to wait before each restart. When the schedule is exhausted, the
  /// worker is given up. Default: exponential, 100ms ×2 up to 10s, no jitter.
  schedule restart = schedule::exponential(std::chrono::milliseconds(100))
                       .limit(std::chrono::seconds(10));

  /// How many restarts there may be within `period`: 0 to 1000, default 5.
  /// Instead of one more restart, the worker is given up.
  std::uint32_t max_restarts = 5;

  /// 1us to 365d, default 30s.
  duration period = std::chrono::seconds(30);

  /// If a worker that was up for at least this long dies, `restart` starts
  /// over: 0 to unlimited (never), default 10s.
  duration stable_after = std::chrono::seconds(10);

  /// How many calls may wait for a restart: 0 to 1000000, default 1000. For the
  /// host.
  std::uint32_t max_waiting = 1'000;

  /// What to do when the worker is given up, default quit. For the host.
  give_up_action on_give_up = give_up_action::quit;

  /// How long a worker that the gate ends may take for it, from the request to
  /// quit on, before it is killed: 0 (at once, without a request) to unlimited
  /// (it is never killed), default unlimited. For the host.
  duration shutdown = unlimited;
};

void describe(field_visitor& v, supervision_config& c);

} // namespace caisson
