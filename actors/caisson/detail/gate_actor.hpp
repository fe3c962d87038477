// The actor behind `spawn_gate`.
#pragma once

#include <caisson/caf.hpp>
#include <caisson/detail/call_table.hpp>
#include <caisson/error.hpp>
#include <caisson/layer.hpp>
#include <caisson/messages.hpp>
#include <caisson/stack.hpp>
#include <caisson/supervision.hpp>
#include <caisson/worker.hpp>

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace caisson::detail {

using gate_base = rt::interceptor<get_status, reconfigure, command, subscribe,
                                  unsubscribe, cancelled, worker_made>;

/// Hosts a stack of policies in front of a worker.
///
/// Each handler runs between `begin` (read the clock, fire what is due) and
/// `end` (carry out what the policies asked for, until there is nothing left;
/// set the timer). Within a handler calls move between layers: `descend` takes
/// one down until a layer rejects or holds it or it is sent, `ascend` takes an
/// outcome up until a layer holds the call or it is answered by `finish`.
class gate_actor final : public gate_base {
public:
  gate_actor(caf::actor_config& cfg, worker behind, const stack& policies);

  const char* name() const override { return "caisson.gate"; }

  void on_exit() override;

protected:
  // -- what CAF shows us ------------------------------------------------------

  caf::behavior make_behavior() override;
  caf::message_handler control() override;
  void on_message(rt::reply_to from, caf::message content) override;
  void on_answer(std::uint64_t key, caf::message content) override;
  void on_timer() override;
  void on_down(const caf::actor_addr& who, const caf::error& why) override;

private:
  // -- types ------------------------------------------------------------------

  class host_env final : public env {
  public:
    host_env(gate_actor* gate, random_source& r)
      : env(time_point{}, r), gate_(gate) {}
    void tell(const news& n) override { gate_->publish(layer, n); }
    /// Whose turn it is.
    std::size_t layer = 0;

  private:
    gate_actor* gate_;
  };

  struct layer_entry {
    std::unique_ptr<caisson::layer> owner;
    policy* machine = nullptr;
    time_point wake_at = never;
    std::int64_t observed_passes = 0;
  };

  struct request_of_layer {
    std::size_t layer;
    env::action what;
  };

  enum class worker_state : std::uint8_t {
    none,
    up,
    restarting,
    down,
    given_up
  };

  struct totals {
    std::int64_t calls = 0;
    std::int64_t plain_sends = 0;
    std::int64_t acquires = 0;
    std::int64_t succeeded = 0;
    std::int64_t failed = 0;
    std::int64_t attempts = 0;
    std::int64_t late_results = 0;
    std::int64_t expired = 0;
    std::int64_t expired_on_arrival = 0;
    std::int64_t refused_draining = 0;
    std::int64_t refused_full = 0;
    std::int64_t refused_invalid = 0;
    std::int64_t cancelled = 0;
    std::int64_t no_such_permit = 0;
    std::int64_t worker_losses = 0;
  };

  // -- gate_{handlers,calls,time,batches}.cpp: the way of a call -----------

  void begin();
  void end();
  void run_due();
  void rearm();

  void start_call(rt::reply_to from, caf::message payload,
                  const call_options* options);
  void start_acquire(rt::reply_to from, const acquire& what);
  bool set_deadline(call_record& r, const call_options& options);
  void enter(call_record& r);
  void end_lease(rt::reply_to from, const release& what);
  bool turned_away(rt::reply_to& from);
  void refuse(rt::reply_to& from, errc code, std::string text = {});

  void descend(call_record& r, std::size_t first);
  void ascend(call_record& r, int last, outcome o);
  void finish(call_record& r, const outcome& o);
  void dispatch(call_record& r);
  void send_to(call_record& r, const caf::actor& to, bool envelope);
  void hold(call_record& r, std::size_t layer, time_point until);
  void schedule(call_record& r);
  void fire(call_record& r);
  void deadline_hit(call_record& r);
  void cut(call_record& r, int layer, const outcome& why);
  void cancel(call_record& r);
  void cancel(const caf::strong_actor_ptr& caller, std::uint64_t number);
  void leave(call_record& r, std::size_t layer);
  [[nodiscard]] bool reached_now(const call_record& r);
  void carry_out(const request_of_layer& x);
  void redirect(call_record& r, std::size_t layer, std::uint64_t index);
  bool prefiltered(call_record& r, std::size_t layer);
  void launch_batch(std::size_t layer, std::uint64_t batch);
  void land(call_record& parent, const outcome& o);
  [[nodiscard]] caf::message message_of(const call_record& r,
                                        const outcome& o) const;

  policy& turn_of(std::size_t layer) {
    env_.layer = layer;
    return *layers_[layer].machine;
  }
  void turn_over(std::size_t layer);
  [[nodiscard]] bool inside(const call_record& r, std::size_t layer) const {
    return (r.inside >> layer & 1) != 0;
  }
  [[nodiscard]] std::string_view name_of_decider(int layer) const;

  // -- gate_worker.cpp: what stands behind ------------------------------------

  void start_worker();
  void worker_ready(caf::actor handle);
  void worker_lost(const std::string& why);
  void plan_restart(const std::string& why);
  void give_up(const std::string& why);
  void fail_flying(std::uint32_t incarnation);
  void fail_waiting();
  void tell_cancelled(const call_record& r);
  void mind_caller(call_record& r);
  void release_caller(call_record& r);

  // -- gate_control.cpp: operation --------------------------------------------

  [[nodiscard]] status make_status();
  [[nodiscard]] layer_status status_of(std::size_t layer);
  caf::result<status> handle(const reconfigure& x);
  caf::result<status> handle(const command& x);
  bool obey(std::size_t layer, operator_command what);
  void start_drain(rt::reply_to from);
  void finish_drain();
  void publish(std::size_t layer, const env::news& n);
  void publish(const env::news& n) { publish(layers_.size(), n); }
  [[nodiscard]] std::optional<std::size_t>
  layer_named(const std::string& name) const;

  // -- members ----------------------------------------------------------------

  gate_config config_;
  worker behind_;
  supervision supervisor_;
  random_source random_;
  host_env env_;
  std::vector<layer_entry> layers_;
  std::deque<request_of_layer> requests_;
  call_table calls_;
  call_timers timers_;
  time_point armed_ = never;
  /// In virtual time: a timer for exactly what is due, none if nothing is.
  bool exact_timers_ = false;
  std::uint64_t attempts_ = 0;
  /// Some layer may send a call again: its content must be kept.
  bool resends_ = false;

  caf::actor target_;
  worker_state worker_ = worker_state::none;
  std::uint32_t incarnation_ = 0;
  time_point restart_at_ = never;
  bool target_is_gate_ = false;
  wait_list<call_id> waiting_;

  /// How many held calls and leases each watched caller has.
  std::map<caf::actor_addr, std::uint32_t> callers_;
  /// Idle callers are forgotten when there are more than so many.
  std::size_t prune_callers_at_ = 1024;
  std::vector<caf::actor> subscribers_;
  std::vector<rt::reply_to> drains_;
  bool draining_ = false;
  bool stopped_ = false;
  std::uint64_t events_ = 0;
  totals totals_;
  /// Keeps the gate alive while it owes an answer to somebody.
  caf::strong_actor_ptr self_;
};

/// Whether the actor is a gate of this system.
bool is_local_gate(const caf::actor& x);

} // namespace caisson::detail
