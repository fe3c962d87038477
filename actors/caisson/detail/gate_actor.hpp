// The actor behind `spawn_gate`.
#pragma once

#include <caisson/caf.hpp>
#include <caisson/detail/call_table.hpp>
#include <caisson/detail/secret_source.hpp>
#include <caisson/error.hpp>
#include <caisson/layer.hpp>
#include <caisson/messages.hpp>
#include <caisson/stack.hpp>
#include <caisson/supervision.hpp>
#include <caisson/worker.hpp>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace caisson::detail {

using gate_base = rt::interceptor<get_status, reconfigure, command, subscribe,
                                  unsubscribe, cancelled, worker_made>;

struct idle_caller;

/// A watched caller, and its calls that wait here.
struct caller : link<idle_caller> {
  caf::actor_addr who;
  callers_calls calls;
};

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
    void callback_threw(std::string_view function,
                        std::string_view what) override {
      failure = gate_->note_failure(layer, function, what);
    }
    /// Whose turn it is.
    std::size_t layer = 0;
    /// Which function of the user's threw during this turn, and what.
    std::optional<std::string> failure;

  private:
    gate_actor* gate_;
  };

  struct layer_entry {
    std::unique_ptr<caisson::layer> owner;
    policy* machine = nullptr;
    time_point wake_at = never;
    std::int64_t observed_passes = 0;
    /// The number of its first alternative among all of the gate's.
    std::size_t first_alternative = 0;
  };

  /// An actor that answers in the worker's place, and its calls.
  struct alternative_entry {
    std::size_t layer = 0;
    caf::actor target;
    bool is_gate = false;
    flying_calls calls;
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
    std::int64_t refused_loop = 0;
    std::int64_t cancelled = 0;
    std::int64_t no_such_permit = 0;
    std::int64_t worker_losses = 0;
    std::int64_t callbacks_failed = 0;
  };

  // -- gate_handlers.cpp: one handler, and the arrival of messages ------------

  void begin();
  void end();
  void run_due();
  void rearm();

  void start_call(rt::reply_to from, caf::message payload,
                  call_options* options);
  void start_acquire(rt::reply_to from, const acquire& what);
  bool set_deadline(call_record& r, const call_options& options);
  void use_default_deadline(call_record& r);
  void enter(call_record& r);
  void end_lease(rt::reply_to from, const release& what);
  bool turned_away(rt::reply_to& from);
  bool unfit(rt::reply_to& from, const call_options& options);
  void refuse(rt::reply_to& from, errc code, std::string text = {});

  // -- gate_calls.cpp: the way of a call down and up --------------------------

  void descend(call_record& r, std::size_t first);
  bool admit(call_record& r, std::size_t layer, mode act);
  void ascend(call_record& r, int last, outcome o);
  void finish(call_record& r, const outcome& o);
  void answer(call_record& r, caf::message content);
  void dispatch(call_record& r);
  void grant(call_record& r);
  void send_to(call_record& r, const caf::actor& to, bool envelope);
  [[nodiscard]] call_options options_of(const call_record& r,
                                        const caf::actor& to) const;
  void hold(call_record& r, std::size_t layer, time_point until);
  void schedule(call_record& r);
  decision settle(call_record& r, std::size_t layer, outcome& o);
  void abandon(call_record& r, std::size_t layer, const outcome& why,
               bool in_flight);
  void leave(call_record& r, std::size_t layer);
  outcome failed_callback(call_record& r, std::size_t layer,
                          std::string_view what);
  void land(call_record& r);
  [[nodiscard]] caf::message reply_of(call_record& r, const outcome& o) const;
  [[nodiscard]] caf::message error_of(const call_record& r,
                                      const outcome& o) const;
  [[nodiscard]] std::string_view name_of_decider(int layer) const;

  // -- gate_time.cpp: what ends a wait ----------------------------------------

  void fire(call_record& r);
  bool overdue(call_record& r);
  bool deadline_hit(call_record& r);
  void cut(call_record& r, int layer, const outcome& why);
  void cancel(call_record& r);
  void cancel(const caf::strong_actor_ptr& caller, std::uint64_t number);
  [[nodiscard]] bool reached_now(const call_record& r);
  void carry_out(const request_of_layer& x);
  void redirect(call_record& r, std::size_t layer, std::uint64_t index);

  // -- gate_batches.cpp -------------------------------------------------------

  bool prefiltered(call_record& r, std::size_t layer);
  void launch_batch(std::size_t layer, std::uint64_t batch);
  void add_item(call_record& parent, call_record& item,
                std::vector<caf::message>& contents);
  void item_left(call_id parent);
  void unpack(call_record& parent, const outcome& o);
  std::optional<std::vector<caf::message>>
  split(std::size_t layer, caf::message& whole, std::size_t n);

  // -- a layer's turn ---------------------------------------------------------

  policy& turn_of(std::size_t layer) {
    env_.layer = layer;
    env_.failure.reset();
    return *layers_[layer].machine;
  }
  void turn_over(std::size_t layer);
  std::string note_failure(std::size_t layer, std::string_view function,
                           std::string_view what);

  [[nodiscard]] static bool inside(const call_record& r, std::size_t layer) {
    return (r.inside >> layer & 1) != 0;
  }
  /// Whether an attempt that layer k, or the caller, knows of may have reached
  /// a worker.
  [[nodiscard]] static bool reached(const call_record& r, std::size_t layer) {
    return (r.reached >> layer & 1) != 0;
  }
  [[nodiscard]] static bool reached(const call_record& r) {
    return (r.reached >> any_attempt & 1) != 0;
  }
  static void set_reached(call_record& r) {
    r.reached |= r.inside | std::uint64_t{1} << any_attempt;
  }
  static constexpr std::size_t any_attempt = 63;

  // -- gate_worker.cpp: what stands behind ------------------------------------

  void start_worker();
  void worker_ready(caf::actor handle);
  bool take_made(worker_made& x);
  void worker_lost(const std::string& why);
  void plan_restart(const std::string& why);
  void give_up(const std::string& why);
  void fail_flying(flying_calls& calls);
  void fail_waiting();
  void tell_cancelled(const call_record& r);
  void find_alternatives();
  [[nodiscard]] bool went_to_gate(const call_record& r) const;

  // -- gate_callers.cpp: who is watched ---------------------------------------

  void watch_for(const caf::strong_actor_ptr& who);
  void watch_for(const caf::actor& who) {
    watch_for(caf::actor_cast<caf::strong_actor_ptr>(who));
  }
  void unwatch_for(const caf::actor_addr& who);
  void mind_caller(call_record& r);
  void release_caller(call_record& r);
  void caller_down(const caf::actor_addr& who);

  // -- gate_control.cpp: operation --------------------------------------------

  [[nodiscard]] status make_status();
  [[nodiscard]] layer_status status_of(std::size_t layer);
  caf::result<status> handle(const reconfigure& x);
  caf::result<status> handle(const command& x);
  caf::result<void> add_subscriber();
  void remove_subscriber();
  bool obey(std::size_t layer, operator_command what);
  void start_drain(rt::reply_to from);
  void finish_drain();
  void publish(std::size_t layer, const env::news& n);
  void publish(const env::news& n) { publish(layers_.size(), n); }
  [[nodiscard]] event event_of(std::size_t layer, const env::news& n) const;
  [[nodiscard]] std::optional<std::size_t>
  layer_named(const std::string& name) const;

  // -- members ----------------------------------------------------------------

  gate_config config_;
  worker behind_;
  supervision supervisor_;
  random_source random_;
  secret_source secrets_;
  /// Attempts are numbered in an order that nobody can guess.
  std::uint64_t attempt_factor_;
  std::uint64_t attempt_mask_;
  /// Names this gate in the path of a call.
  std::uint64_t path_key_;
  host_env env_;
  std::vector<layer_entry> layers_;
  std::vector<alternative_entry> alternatives_;
  std::deque<request_of_layer> requests_;
  call_table calls_;
  flying_calls with_worker_;
  call_timers timers_;
  /// The permits that are with holders.
  std::unordered_map<std::uint64_t, call_id> permits_;
  time_point armed_ = never;
  /// In virtual time: no timer if nothing is due.
  bool exact_timers_ = false;
  std::uint64_t attempts_ = 0;
  /// Some layer may send a call again: its content must be kept.
  bool resends_ = false;

  caf::actor target_;
  worker_state worker_ = worker_state::none;
  std::uint32_t incarnation_ = 0;
  time_point restart_at_ = never;
  bool target_is_gate_ = false;
  /// The helper that runs the factory at present.
  caf::actor_addr maker_;
  wait_list<call_id> waiting_;

  /// For how many reasons an actor is watched.
  std::unordered_map<caf::actor_addr, std::uint32_t> watched_;
  std::unordered_map<caf::actor_addr, caller> callers_;
  linked_list<caller, idle_caller> idle_callers_;
  std::size_t idle_caller_count_ = 0;
  std::vector<caf::actor> subscribers_;
  std::vector<rt::reply_to> drains_;
  bool draining_ = false;
  bool stopped_ = false;
  std::uint64_t events_ = 0;
  totals totals_;
  /// Keeps the gate alive while it owes an answer to somebody.
  caf::strong_actor_ptr self_;
};

/// Ends a worker that a gate supervises. One on another node was only connected
/// to: others may use it, too.
void end_worker(const caf::actor_system& sys, const caf::actor& x);

/// Whether the actor is a gate of this system.
bool is_local_gate(const caf::actor& x);

} // namespace caisson::detail
