// Interface of an engine's host: an actor, a guard or a test.
#pragma once

#include <caisson/base/time.hpp>
#include <caisson/caf/caf.hpp>
#include <caisson/caf/messages.hpp>
#include <caisson/engine/reply_slot.hpp>
#include <caisson/engine/supervision.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace caisson {
class layer;
}

namespace caisson::detail {

/// Names what calls are sent to: 0 is the worker, further ones are the targets
/// of layers, in the order of the layers.
using target_id = std::uint32_t;

inline constexpr target_id worker_target = 0;

/// What an engine must know of a target.
struct target_info {
  /// It is a gate, or was declared to be one: it says itself whether a call
  /// has been executed by a worker.
  bool is_gate = false;
  /// It notices by itself when the deadline that it was given has passed.
  bool keeps_deadlines = false;
  bool takes_calls = false;
  bool takes_cancelled = false;
  /// It runs under another clock.
  bool is_remote = false;
};

/// What came of making a worker.
struct made_worker {
  /// Nothing if there is none.
  std::optional<target_info> info = {};
  /// Why not.
  std::string failure = {};
};

/// The outside of an engine. The host calls the engine when something comes in,
/// and the engine calls the host from within those calls. None of the functions
/// here may call the engine back.
class engine_host {
public:
  /// Sends `content`; the answer comes to `engine::on_answer` under `key`.
  /// Returns the number under which the receiver knows it, for `cancelled`.
  virtual std::uint64_t deliver(target_id to, std::uint64_t key,
                                caf::message&& content, bool urgent)
    = 0;

  /// Notifies a target that the answer to a message is no longer needed.
  virtual void send_cancelled(target_id to, std::uint64_t number) = 0;

  /// Answers a waiting caller.
  virtual void answer(reply_slot to, caf::message&& content) = 0;

  /// Wants a call of `engine::on_timer` at `at`, in place of any earlier wish;
  /// `never`: none.
  virtual void wake_at(time_point at) = 0;

  /// Notifies subscribers. Called only if `has_subscribers`.
  virtual void emit(const event& what) = 0;
  [[nodiscard]] virtual bool has_subscribers() const = 0;

  /// Wants a call of `engine::on_caller_down` if the caller ends.
  virtual void watch_caller(const reply_slot& slot) = 0;
  virtual void unwatch_caller(std::uint64_t caller) = 0;

  /// Makes a worker. Returns nothing if that takes a while: then the host says
  /// `engine::on_worker_made` later, if this number is still the awaited one.
  virtual std::optional<made_worker> make_worker(std::uint32_t incarnation) = 0;

  /// There was a worker when the host made this one, which took its place: the
  /// other one is the target of that number from now on, which no other target
  /// has.
  virtual void retire_worker(target_id) {}

  /// Ends that target, which was the worker once; another one may get the
  /// number.
  virtual void end_target(target_id) {}

  /// The engine takes the worker for dead, or has no more use for it.
  virtual void forget_worker() = 0;

  /// Whether a target is known to have ended.
  [[nodiscard]] virtual bool is_down(target_id x) const = 0;

  /// How a target has ended that `is_down`; if that is unknown,
  /// `engine::on_target_down` will say it later.
  [[nodiscard]] virtual actor_end end_of(target_id) const {
    return actor_end::abnormal;
  }

  /// The worker was given up, and its supervisor should end.
  virtual void worker_given_up(const std::string& why) = 0;

  /// The engine has failed with this error, with which it has answered
  /// everybody, and does nothing any more. Its supervisor should end.
  virtual void engine_failed(const caf::error& why) = 0;

  /// A call has failed for good. Called only if the setup asks for it.
  virtual void send_dead_letter(dead_letter&&) {}

  /// Ends the worker, which is up, or about to end by itself.
  virtual void stop_worker() {}

  /// Something has happened to the worker that its group must know.
  virtual void send_to_group(member_state, const std::string&) {}

  /// Sends a message through the host's own mailbox, behind those that wait
  /// there; the host calls `engine::on_probe` when that comes, and when nothing
  /// else does. Returns false if there is no mailbox.
  virtual bool send_probe() { return false; }

  /// A layer was inserted while calls are in flight. Before it gets any.
  virtual void start_layer(layer&) {}

  /// A target of such a layer, under a number that no other target has.
  virtual target_info add_target(target_id, const caf::actor&) { return {}; }

  /// Nothing is sent there any more; another target may get the number.
  virtual void drop_target(target_id) {}

  /// Whether calls are held: the host must not end unnoticed meanwhile.
  virtual void hold_open(bool busy) = 0;

protected:
  ~engine_host() = default;
};

} // namespace caisson::detail
