// The worker of an engine: whether it is there, and who waits for it.
#pragma once

#include <caisson/base/pooled_list.hpp>
#include <caisson/engine/engine_core.hpp>
#include <caisson/engine/next_step.hpp>
#include <caisson/engine/supervision.hpp>
#include <caisson/engine/target_table.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace caisson::detail {

/// What has changed for calls, in this order.
struct [[nodiscard]] worker_change {
  /// Those that wait can be sent, as long as the worker is up.
  bool sends_waiting = false;
  /// They fail, as there will be no worker.
  bool fails_waiting = false;
  /// The host is to end, for this reason.
  std::optional<std::string> quits = {};
  /// The calls that this target has are lost.
  std::optional<target_id> lost = {};
};

/// Knows whether there is a worker, has it made again when it is lost, and
/// keeps the calls that wait for it.
class upstream {
  /// Attempts to replace a worker do not end, so there is time between them,
  /// whatever the schedule says.
  static constexpr duration least_replacement_delay = std::chrono::milliseconds(
    100);

public:
  upstream(engine_core& core, target_table& targets, supervision_config s);

  // -- the worker -------------------------------------------------------------

  /// There is one, which others look after.
  void use(const target_info& x);

  /// There should be one, but there is not.
  void use_none() { state_ = worker_state::down; }

  /// The host can make them.
  [[nodiscard]] worker_change supervise();

  /// Whether the worker that is being made under this number is wanted.
  [[nodiscard]] bool awaits(std::uint32_t incarnation) const noexcept {
    return making_ && incarnation == incarnation_;
  }

  /// Workers are made in another way from now on: one that is there is replaced
  /// as soon as there is another one, and finishes the calls that it has.
  [[nodiscard]] worker_change replace();

  /// How many workers that were replaced have calls.
  [[nodiscard]] std::size_t leaving() const noexcept { return leaving_.size(); }

  /// Ends those that were replaced and have no calls. To be called when no call
  /// is on the move.
  void end_replaced();

  /// The worker that was awaited is there, or could not be made.
  [[nodiscard]] worker_change on_worker(const made_worker& x);

  /// A target has ended. How is said again later, if it is unknown.
  [[nodiscard]] worker_change on_down(target_id x, actor_end how,
                                      const std::string& why);

  /// An attempt bounced off a target: it may have ended.
  [[nodiscard]] worker_change suspect(target_id x);

  // -- the group --------------------------------------------------------------

  [[nodiscard]] worker_change follow_group(member_order what,
                                           const std::string& why);

  /// There is no group any more: the worker starts when it is time.
  [[nodiscard]] worker_change leave_group();

  // -- restarts ---------------------------------------------------------------

  /// When the worker is to be made again; `never` if not.
  [[nodiscard]] time_point restart_at() const noexcept { return restart_at_; }
  [[nodiscard]] worker_change restart();

  // -- calls ------------------------------------------------------------------

  /// A call is through all layers: it goes to the worker, waits for it, or goes
  /// up again.
  [[nodiscard]] next_step take(call_record& r) {
    if (state_ == worker_state::up) [[likely]]
      return next_step::send(worker_target);
    return wait_or_fail(r);
  }

  /// The call that has waited longest, which waits no more; null if none waits.
  [[nodiscard]] call_record* pop_waiting();

  /// The calls that a target has, which it has no more.
  [[nodiscard]] target_calls take_calls(target_id x) {
    return targets_.take_calls(x);
  }

  /// A call in flight is given up: its target is notified if it handles that.
  void recall(const call_record& r, const outcome& why);

  void stop_waiting(call_record& r);

  // -- operation --------------------------------------------------------------

  [[nodiscard]] worker_state state() const noexcept { return state_; }

  /// Ensures that a worker that is to come comes in one way, and that nothing
  /// is left to be done for any other. To be called after each change.
  void check() const;

  /// Whether the worker has ended and nobody will make another one.
  [[nodiscard]] bool is_gone() const noexcept;

  /// Whether a layer has something left to do that can still be done.
  [[nodiscard]] bool serves_layers() const noexcept {
    return core_.layers.hold_open() && !is_gone();
  }

  [[nodiscard]] std::int64_t stopped_by_group() const { return stopped_; }
  [[nodiscard]] const supervision& supervisor() const { return supervisor_; }
  void reset() {
    supervisor_.reset();
    stopped_ = 0;
  }

  /// The worker's settings are others. Calls that wait stay.
  void reconfigure(supervision_config c);

private:
  worker_change make();
  worker_change make_other();
  worker_change take_other(const made_worker& x);
  void retire();
  void stop_replacing();
  worker_change up(const target_info& x);
  worker_change stop(const std::string& why);
  worker_change lost(actor_end how, const std::string& why);
  worker_change follow_end(actor_end how, const std::string& why);
  worker_change plan_restart(const std::string& why);
  worker_change give_up(const std::string& why);
  worker_change end_for_good(const std::string& why);
  void report_end();
  next_step wait_or_fail(call_record& r);
  next_step wait(call_record& r);

  engine_core& core_;
  target_table& targets_;
  supervision supervisor_;
  worker_state state_ = worker_state::none;
  bool supervised_ = false;
  bool making_ = false;
  /// There is a worker, and another one is wanted.
  bool replacing_ = false;
  /// It is down, and the host will say how it has ended.
  bool ending_ = false;
  bool grouped_ = false;
  /// It starts when the group says so.
  bool awaits_turn_ = false;
  std::uint32_t incarnation_ = 0;
  std::int64_t stopped_ = 0;
  time_point restart_at_ = never;
  pooled_list<call_id> waiting_;
  /// The targets that were the worker.
  std::vector<target_id> leaving_;
};

} // namespace caisson::detail
