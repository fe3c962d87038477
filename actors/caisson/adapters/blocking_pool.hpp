// A worker for client libraries that block: a bounded number of threads.
#pragma once

#include <caisson/adapters/interruption.hpp>
#include <caisson/caf/messages.hpp>
#include <caisson/engine/transport_errc.hpp>
#include <caisson/gate/worker.hpp>
#include <caisson/settings/settings.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace caisson {

/// The settings that all workers with threads have.
struct blocking_pool_config {
  /// How many messages are worked on at once, each in a thread of its own with
  /// its own connection: 1 to 1024, default 8. Threads are started when they
  /// are needed first. A semaphore with as many permits, as the gate's
  /// innermost layer, lets calls wait there, where they can be seen.
  std::uint32_t threads = 8;

  /// How many further messages wait for a thread: 0 to 1000000, default 64.
  /// Beyond that they are answered with `transport_errc::busy`.
  std::uint32_t max_waiting = 64;

  /// How long one message may take at most, whatever its caller's deadline is:
  /// 1ms to 24h, default 30s.
  duration max_time = std::chrono::seconds(30);

  /// How long a thread is kept without work: 1ms to 24h, default 1min. Then it
  /// ends, and its connection is closed.
  duration idle_timeout = std::chrono::minutes(1);
};

/// These settings of a worker whose config has fields of the same names.
template <class Config>
[[nodiscard]] blocking_pool_config pool_config_of(const Config& c) {
  return {c.threads, c.max_waiting, c.max_time, c.idle_timeout};
}

/// Visits these fields; for the configs of workers that have them.
template <class Config>
void describe_blocking_pool(field_visitor& v, Config& c) {
  using namespace std::chrono_literals;
  v.integer({"threads", "how many messages are worked on at once, each with a "
                        "thread and a connection of its own"},
            c.threads, {1, 1024});
  v.integer({"max_waiting", "how many further messages wait for a thread; "
                            "beyond that they are refused as busy"},
            c.max_waiting, {0, 1'000'000});
  v.on({"max_time", "how long one message may take at most, whatever its "
                    "caller's deadline is"},
       c.max_time, {1ms, 24h});
  v.on({"idle_timeout", "how long a thread is kept without work; then it ends, "
                        "and its connection is closed"},
       c.idle_timeout, {1ms, 24h});
}

void describe(field_visitor& v, blocking_pool_config& c);

/// What one thread does its work with, such as a connection. Derive from this
/// for a client library that blocks. Used by one thread at a time, but for
/// `signal().interrupt`.
class blocking_session {
public:
  /// One message to be dealt with; valid until `run` returns.
  struct job {
    /// The message, without envelope.
    const caf::message& content;
    /// As its caller gave them; the defaults if it gave none.
    const call_options& options;
    /// When the answer is due.
    time_point until;
  };

  /// What came of it.
  struct result {
    /// The answer: a value, or a single `caf::error`.
    caf::message answer;
    /// Whether the server is reachable. If not, a pool that is configured so
    /// ends itself (see `blocking_worker_kind`).
    bool reachable = true;
  };

  blocking_session() = default;
  virtual ~blocking_session() = default;

  blocking_session(const blocking_session&) = delete;
  blocking_session& operator=(const blocking_session&) = delete;

  /// Does what `x` asks for. Blocks until `x.until` at the latest, and not much
  /// longer once `signal()` says that it is interrupted; best by waiting with
  /// `signal().wait` only. If it throws, the answer is `transport_errc::lost`
  /// with the exception's text, and `reset` is called.
  virtual result run(const job& x) = 0;

  /// Drops the connection, if there is one; the next `run` makes another.
  virtual void reset() noexcept = 0;

  /// What the pool interrupts when the call is cancelled or the worker ends;
  /// `run` waits with it.
  [[nodiscard]] interruption& signal() noexcept { return signal_; }

private:
  interruption signal_;
};

/// A kind of workers: what they are called, and how each of their threads gets
/// its session.
struct blocking_worker_kind {
  /// The name of the actor, as CAF's log shows it.
  std::string name = "caisson.blocking_pool";

  /// Makes the session of a thread. Does not block, for it is called by the
  /// worker; the session connects when it is first used.
  std::function<std::unique_ptr<blocking_session>()> make;

  /// If set, each worker begins with the session that this makes; for
  /// connections without which there is to be no worker. May block. What it
  /// throws is why there is no worker.
  std::function<std::unique_ptr<blocking_session>()> first = {};

  /// Whether the worker ends when the server is unreachable, so that the
  /// gate's supervision makes another one when it is time to. What waits by
  /// then is answered with `transport_errc::stopped`, and what other threads do
  /// is finished first.
  bool ends_if_unreachable = false;

  /// What the answers mean; asked before `transport_answer`.
  answer_adapter adapter = {};
};

/// Spawns a worker of this kind: an actor with at most `c.threads` threads, to
/// each of which it gives one message at a time, in the order of their arrival.
///
/// It takes messages as they are and in the envelope `call`, whose deadline it
/// keeps: a message that still waits when its time is over is answered with
/// `transport_errc::busy` and never begun. `cancelled` takes a message from the
/// queue, or interrupts the thread that is at work on it.
///
/// When it ends, it answers what waits with `stopped` and what threads are at
/// work on with `lost`.
///
/// Throws `config_error` if `c` is not valid.
[[nodiscard]] caf::actor spawn_blocking_pool(caf::actor_system& sys,
                                             const blocking_worker_kind& kind,
                                             const blocking_pool_config& c);

/// Restarts with growing delays as long as it takes: a server that is away for
/// an hour comes back.
[[nodiscard]] supervision_config patient_supervision();

/// A worker of this kind for a gate, which makes it and ends it. The gate sends
/// it deadlines and cancellations, and judges its answers by the kind's
/// adapter and by `transport_answer`.
///
/// Not for virtual time. Throws `config_error` if `c` is not valid.
[[nodiscard]] worker
blocking_worker(const blocking_worker_kind& kind, const blocking_pool_config& c,
                supervision_config s = patient_supervision());

} // namespace caisson
