// The actor behind `spawn_gate`.
#pragma once

#include <caisson/caf/caf.hpp>
#include <caisson/caf/hooks.hpp>
#include <caisson/caf/messages.hpp>
#include <caisson/engine/engine.hpp>
#include <caisson/gate/worker.hpp>
#include <caisson/stack/stack.hpp>

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace caisson::detail {

using gate_base = portable::interceptor<
  get_status, reconfigure, command, subscribe, unsubscribe, cancelled,
  worker_made, group_order, replace_stack>;

/// A host of an engine with its own mailbox: callers send requests to it, and
/// it sends them on from an address that accepts only answers.
class gate_actor final : public gate_base, private engine_host {
public:
  gate_actor(caf::actor_config& cfg, worker w, const stack& policies);

  const char* name() const override { return "caisson.gate"; }

  void on_exit() override;

protected:
  // -- what CAF shows us ------------------------------------------------------

  caf::behavior make_behavior() override;
  caf::message_handler control() override;
  void on_message(portable::reply_to from, caf::message&& content) override;
  void on_answer(std::uint64_t key, caf::message&& content) override;
  void on_timer() override;
  void on_echo() override;
  void on_down(const caf::actor_addr& actor, const caf::error& why) override;

private:
  /// What gates handle but do not pass on as it is.
  using envelope = portable::type_finder<call, acquire, release, renew, drain>;

  // -- what the engine asks for -----------------------------------------------

  std::uint64_t deliver(target_id to, std::uint64_t key, caf::message&& content,
                        bool urgent) override;
  void send_cancelled(target_id to, std::uint64_t number) override;
  void answer(reply_slot to, caf::message&& content) override;
  void wake_at(time_point at) override { set_timer(at); }
  void send_dead_letter(dead_letter&& x) override;
  void emit(const event& what) override;
  bool has_subscribers() const override { return !subscribers_.empty(); }
  void watch_caller(const reply_slot& slot) override;
  void unwatch_caller(std::uint64_t caller) override;
  std::optional<made_worker> make_worker(std::uint32_t incarnation) override;
  void forget_worker() override;
  bool is_down(target_id x) const override;
  actor_end end_of(target_id x) const override;
  void worker_given_up(const std::string& why) override;
  void engine_failed(const caf::error& why) override;
  void stop_worker() override;
  void send_to_group(member_state what, const std::string& why) override;
  void hold_open(bool busy) override;
  bool send_probe() override;
  void start_layer(layer& x) override { x.start_in(home_system()); }
  target_info add_target(target_id x, const caf::actor& handle) override;
  void drop_target(target_id x) override;
  void retire_worker(target_id x) override;
  void end_target(target_id x) override;

  // -- parts ------------------------------------------------------------------

  [[nodiscard]] time_point now() { return clock().now(); }
  reply_slot slot_of(portable::reply_to from) const;
  caf::result<status> make_status();
  bool take_new_worker(worker_made& x);
  void take_order(const group_order& x);
  caf::result<std::string> take_stack(const replace_stack& x);
  caf::result<std::string> follow(const replace_stack& x);
  [[nodiscard]] caf::error refuse_stack(std::string why) const;
  std::vector<layer_change> put_in_force(const stack_replacement& x,
                                         next_stack&& next);
  made_worker use_worker(caf::actor handle);
  caf::result<void> add_subscriber();
  void remove_subscriber();

  /// One watch for all reasons.
  void watch_for(const caf::strong_actor_ptr& actor);
  void watch_for(const caf::actor& actor) {
    watch_for(caf::actor_cast<caf::strong_actor_ptr>(actor));
  }
  void unwatch_for(const caf::actor_addr& actor);

  // -- members ----------------------------------------------------------------

  std::string name_;
  worker worker_;
  /// The worker, and the targets of layers.
  std::vector<caf::actor> targets_;
  /// Of these, the ones that were the worker once.
  std::vector<target_id> earlier_workers_;
  /// The worker that another one has just replaced.
  caf::actor replaced_;
  engine engine_;
  envelope envelope_;
  /// The helper that runs the factory at present.
  caf::actor_addr maker_;
  /// The watched actors, and for how many reasons. Not found by address: CAF
  /// takes the addresses of two proxies for equal if they stand for the same
  /// actor, one of them before and one after a connection was lost.
  struct watched_actor {
    caf::actor_addr actor;
    std::uint32_t reasons = 0;
  };
  std::unordered_map<std::uint64_t, watched_actor> watched_;
  std::unordered_map<std::uint64_t, caf::actor_addr> callers_;
  struct subscriber {
    std::uint64_t key;
    caf::actor handle;
  };
  std::vector<subscriber> subscribers_;
  /// The number of the last order of the worker's group.
  std::uint64_t last_order_ = 0;
  bool stopped_ = false;
  /// Keeps the gate alive while it owes an answer.
  caf::strong_actor_ptr self_;
};

} // namespace caisson::detail
