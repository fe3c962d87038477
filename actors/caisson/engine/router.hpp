// Moves calls: from layer to layer, to the worker, and to their end.
#pragma once

#include <caisson/engine/ascent.hpp>
#include <caisson/engine/attempts.hpp>
#include <caisson/engine/call_expiry.hpp>
#include <caisson/engine/call_finish.hpp>
#include <caisson/engine/child_calls.hpp>
#include <caisson/engine/child_results.hpp>
#include <caisson/engine/descent.hpp>
#include <caisson/engine/engine_core.hpp>
#include <caisson/engine/leases.hpp>
#include <caisson/engine/next_step.hpp>
#include <caisson/engine/upstream.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace caisson::detail {

/// The only part that moves calls. The others say what is to happen next to one
/// (`next_step`), and this does it until the call rests or is over. The end of
/// one call may move others: its children, and the parents of a child.
class router {
public:
  router(engine_core& core, attempts& attempts_part, upstream& upstream_part,
         leases& leases_part, call_expiry& expiry, child_calls& children);

  router(const router&) = delete;
  router& operator=(const router&) = delete;

  /// Does what is to happen next to a call, and all that follows.
  void move(call_record& r, next_step& s);
  void move(call_record& r, next_step&& s) { move(r, s); }
  void move(moved_call&& x) {
    if (!x.call)
      return;
    if (x.step.what == next_step::kind::descend) [[likely]]
      return descend(*x.call, static_cast<std::size_t>(x.step.layer));
    move(*x.call, x.step);
  }

  // -- what comes in ----------------------------------------------------------

  /// The attempt under this key has its answer.
  void on_answer(std::uint64_t key, caf::message&& content);

  /// The call's timer has gone off.
  void on_timer(call_record& r);

  /// The worker or another target is not what it was.
  void on_change(worker_change&& x);

  /// The answer is no longer wanted.
  void cancel(call_record& r) {
    core_.take_up(r);
    move(r, expiry_.cancel());
  }

  // -- what layers ask for ----------------------------------------------------

  /// Layer k lets a call go on that it holds.
  void resume(call_record& r, std::size_t k);

  /// Layer k answers a call that it holds, with the value that the layer has
  /// under this number. `executed`: as in `env::answer`.
  void answer(call_record& r, std::size_t k, std::uint64_t value,
              bool executed);

  /// Layer k rejects a call that it holds.
  void reject(call_record& r, std::size_t k, errc code, duration retry_after);

  void start_child(std::size_t k, call_id child);
  void join_child(std::size_t k, call_id child, call_id parent) {
    move(children_.join(k, child, parent));
  }
  void cancel_child(std::size_t k, call_id child);

private:
  // -- down -------------------------------------------------------------------

  void descend(call_record& r, std::size_t first);
  void dispatch(call_record& r);

  // -- up ---------------------------------------------------------------------

  void ascend(call_record& r, int last, outcome& o);
  void finish(call_record& r, const outcome& o);
  void finish_child(call_record& child, const outcome& o);
  void lose(call_record& r, target_id from);

  // -- away -------------------------------------------------------------------

  bool end_overdue(call_record& r);
  void cut(call_record& r, int layer, const outcome& why);
  void cut_off(call_record& r, int layer, outcome& why);
  void leave_children(call_record& r);
  void give_up(call_record& child);
  void take_from_layer(call_record& r, std::size_t k);

  // -- the worker -------------------------------------------------------------

  void send_waiting();
  void fail_waiting();
  void fail_all_at(target_id x);

  engine_core& core_;
  attempts& attempts_;
  upstream& upstream_;
  leases& leases_;
  call_expiry& expiry_;
  child_calls& children_;
  descent descent_;
  ascent ascent_;
  call_finish finish_;
  child_results results_;
};

} // namespace caisson::detail
