// Sends attempts to the worker of an engine and to its other targets.
#pragma once

#include <caisson/base/pooled_list.hpp>
#include <caisson/engine/engine_core.hpp>
#include <caisson/engine/supervision.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace caisson::detail {

/// Something that calls are sent to, and those that are there.
struct target_entry {
  target_info info;
  target_calls calls;
};

/// Knows whether there is a worker, has it made again when it is lost, and
/// keeps the calls that wait for it.
class upstream {
public:
  upstream(engine_core& core, supervision_config s);

  // -- targets ----------------------------------------------------------------

  target_id add_target(const target_info& x);
  /// The target has no calls; its number may be given again.
  void drop_target(target_id x);
  /// The number that the next target gets.
  [[nodiscard]] target_id next_target() const;
  [[nodiscard]] target_entry& target(target_id x) { return targets_[x]; }

  // -- the worker -------------------------------------------------------------

  /// There is one, which others look after.
  void use(const target_info& x);

  /// There should be one, but there is not.
  void use_none() { state_ = worker_state::down; }

  /// The host can make them.
  void supervise();

  /// Whether the worker that is being made under this number is wanted.
  [[nodiscard]] bool awaits(std::uint32_t incarnation) const noexcept {
    return making_ && incarnation == incarnation_;
  }

  /// The worker that was awaited is there, or could not be made.
  void on_made(const made_worker& x);

  /// A target has ended. How is said again later, if it is unknown.
  void on_down(target_id x, actor_end how, const std::string& why);

  /// An attempt bounced off a target: it may have ended.
  void suspect(target_id x);

  // -- the group --------------------------------------------------------------

  void follow_group(member_order what, const std::string& why);

  /// There is no group any more: the worker starts when it is time.
  void leave_group();

  // -- restarts ---------------------------------------------------------------

  /// When the worker is to be made again; `never` if not.
  [[nodiscard]] time_point restart_at() const noexcept { return restart_at_; }
  void restart();

  // -- calls ------------------------------------------------------------------

  /// A call is through all layers: it goes to the worker, waits for it, or goes
  /// up again.
  void take(call_record& r);

  /// A call in flight is given up: its target is notified if it handles that.
  void recall(const call_record& r, const outcome& why);

  void stop_waiting(call_record& r) { waiting_.erase(r.wait); }

  // -- operation --------------------------------------------------------------

  [[nodiscard]] worker_state state() const noexcept { return state_; }

  /// Whether the worker has ended and nobody will make another one.
  [[nodiscard]] bool is_gone() const noexcept;
  [[nodiscard]] std::int64_t stopped_by_group() const { return stopped_; }
  [[nodiscard]] const supervision& supervisor() const { return supervisor_; }
  void reset() {
    supervisor_.reset();
    stopped_ = 0;
  }

  /// The worker's settings are others. Calls that wait stay.
  void reconfigure(supervision_config c);

private:
  void make();
  void up(const target_info& x);
  void stop(const std::string& why);
  void lost(actor_end how, const std::string& why);
  void follow_end(actor_end how, const std::string& why);
  void plan_restart(const std::string& why);
  void give_up(const std::string& why);
  void end_for_good(const std::string& why);
  void report_end();
  void fail(target_calls& calls);
  void fail_waiting();

  engine_core& core_;
  supervision supervisor_;
  worker_state state_ = worker_state::none;
  bool supervised_ = false;
  bool making_ = false;
  /// It is down, and the host will say how it has ended.
  bool ending_ = false;
  bool grouped_ = false;
  /// It starts when the group says so.
  bool awaits_turn_ = false;
  std::uint32_t incarnation_ = 0;
  std::int64_t stopped_ = 0;
  time_point restart_at_ = never;
  std::vector<target_entry> targets_;
  /// The numbers of those that were dropped.
  std::vector<target_id> free_targets_;
  pooled_list<call_id> waiting_;
};

} // namespace caisson::detail
