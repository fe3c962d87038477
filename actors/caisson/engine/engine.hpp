// Moves calls through a stack of policies, without any actor.
#pragma once

#include <caisson/caf/messages.hpp>
#include <caisson/engine/arrivals.hpp>
#include <caisson/engine/attempts.hpp>
#include <caisson/engine/call_expiry.hpp>
#include <caisson/engine/child_calls.hpp>
#include <caisson/engine/current_call.hpp>
#include <caisson/engine/ending.hpp>
#include <caisson/engine/engine_core.hpp>
#include <caisson/engine/engine_host.hpp>
#include <caisson/engine/leases.hpp>
#include <caisson/engine/operations.hpp>
#include <caisson/engine/publisher.hpp>
#include <caisson/engine/reply_slot.hpp>
#include <caisson/engine/router.hpp>
#include <caisson/engine/stack_swap.hpp>
#include <caisson/engine/target_table.hpp>
#include <caisson/engine/upstream.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace caisson::detail {

/// Takes calls, passes them down a stack of policies to a worker, and takes
/// their outcomes back up; every call is answered exactly once, by its deadline
/// at the latest. What goes out, it asks its host for (`engine_host`).
///
/// Each of the functions below is one step: it reads no clock, but gets the
/// current instant, and has carried out everything that is due when it returns.
/// None may be called while another one runs. No two threads may use it at a
/// time.
///
/// If a step throws, because an invariant is violated or a policy throws, the
/// engine fails: it answers everybody with `internal_error`, drops all calls,
/// and notifies its host. From then on each function answers with that error
/// and does nothing else.
class engine {
public:
  engine(engine_host& host, engine_setup setup);

  engine(const engine&) = delete;
  engine& operator=(const engine&) = delete;

  // -- what stands behind -----------------------------------------------------

  /// The layers' own targets, in order: the host is to add one for each of them
  /// before the start.
  [[nodiscard]] std::vector<caf::actor> targets() const;
  target_id add_target(const target_info& x) { return targets_.add(x); }

  /// There is no worker at all; permits only.
  void start(time_point now);
  /// There is a worker, which others look after.
  void start_with(const target_info& worker, time_point now);
  /// The worker is down from the start.
  void start_down(time_point now);
  /// The worker is made by the host, and made again when it dies.
  void start_supervised(time_point now);

  /// Whether the worker that is being made under this number is wanted.
  [[nodiscard]] bool awaits_worker(std::uint32_t incarnation) const noexcept {
    return upstream_.awaits(incarnation);
  }
  void on_worker_made(const made_worker& x, time_point now);

  /// The worker's group gives an order, or has ended.
  void on_group_order(member_order what, const std::string& why,
                      time_point now);
  void on_group_down(time_point now);

  /// A target has ended. If it is unknown how, it is said again once it is not.
  void on_target_down(target_id x, actor_end how, const std::string& why,
                      time_point now);

  /// The message of `engine_host::send_probe` has come.
  void on_probe(time_point now);

  /// How long a worker that the host ends may take.
  [[nodiscard]] duration shutdown_time() const noexcept {
    return upstream_.supervisor().config().shutdown;
  }

  // -- what comes in ----------------------------------------------------------

  void on_call(reply_slot&& from, caf::message&& content, time_point now) {
    on_call(std::move(from), std::move(content), nullptr, now);
  }
  void on_call(reply_slot&& from, call&& content, time_point now) {
    on_call(std::move(from), std::move(content.payload), &content.options, now);
  }
  /// A call with these options, which it takes over, or without any.
  void on_call(reply_slot&& from, caf::message&& content, call_options* options,
               time_point now);
  void on_acquire(reply_slot from, const acquire& what, time_point now);
  void on_release(reply_slot from, const release& what, time_point now);
  void on_renew(reply_slot from, const renew& what, time_point now);

  /// The answer to what was sent under `key`: a single `caf::error` if it
  /// failed.
  void on_answer(std::uint64_t key, caf::message&& content, time_point now);

  /// The instant of `wake_at` has come, or an earlier one.
  void on_timer(time_point now);

  /// A caller cancels one of its requests.
  void on_cancelled(std::uint64_t caller, std::uint64_t number, time_point now);

  /// A watched caller has ended.
  void on_caller_down(std::uint64_t caller, time_point now);

  // -- operation --------------------------------------------------------------

  /// To be called before the start: publishes its state there if it is wanted.
  void publish_to(std::unique_ptr<snapshot_slot> slot) {
    publisher_.publish_to(std::move(slot));
  }

  [[nodiscard]] status make_status(time_point now);
  /// Return an error if nothing was changed.
  [[nodiscard]] caf::error on_reconfigure(const reconfigure& x, time_point now);
  [[nodiscard]] caf::error on_command(const command& x, time_point now);
  void on_drain(reply_slot from, time_point now);

  /// Why that stack cannot take the place of the present one now; empty if it
  /// can.
  [[nodiscard]] std::string problem_with(const next_stack& x) const;

  /// Another stack is in force from now on; see `stack_swap`. Returns what has
  /// changed.
  /// Throws what a new layer throws as it starts; then nothing has changed.
  /// @pre problem_with(x).empty()
  std::vector<layer_change> on_new_stack(next_stack x, time_point now);

  /// Builds an event of the gate's own.
  [[nodiscard]] event make_event(const event_info& x, time_point now);

  /// Refuses a message of a caller's.
  void refuse(reply_slot from, errc code, std::string text, time_point now);

  /// Answers everybody with `cancelled`, and drops all calls. Nothing may come
  /// in any more. Does nothing if the engine has failed.
  void stop();

  /// Why it has failed; no error if it has not.
  [[nodiscard]] caf::error failure() const { return ending_.failure(); }

  /// What is known of a call, for the attempt under this key.
  /// @pre the attempt was delivered, and has no answer yet
  [[nodiscard]] call_options options_of(std::uint64_t key) const {
    return attempts_.options_of(key);
  }

  /// How many calls it has.
  [[nodiscard]] std::size_t live() const noexcept { return core_.calls.live(); }

  /// Whether a layer has something to do for calls that are over.
  [[nodiscard]] bool held_open() const noexcept {
    return upstream_.serves_layers();
  }

private:
  /// Carries out `f` as a step, which `from` waits for, if it is not null.
  template <class F>
  auto step(time_point now, reply_slot* from, F f) -> decltype(f());
  template <class F>
  auto step(time_point now, F f) -> decltype(f());
  void begin_step(time_point now);
  void end_step();

  /// What `run_due` has to carry out next. Publishing is not among it: see
  /// `rearm`.
  struct due_event {
    enum class kind : std::uint8_t { call, policy, worker };
    time_point at;
    kind what;
    /// Of a policy.
    std::size_t layer;
  };

  [[nodiscard]] due_event next_due() const;
  void run_due();
  void carry_out(const layer_request& x);
  void pass_on_timeout(std::size_t k, call_id call);
  void rearm(time_point due);

  void fail(reply_slot* from, std::string_view why);

  // From the bottom up: each refers to those before it.
  engine_core core_;
  current_call current_call_;
  target_table targets_;
  attempts attempts_;
  upstream upstream_;
  leases leases_;
  call_expiry expiry_;
  child_calls children_;
  router router_;
  operations operations_;
  arrivals arrivals_;
  publisher publisher_;
  stack_swap swap_;
  ending ending_;
  time_point armed_ = never;
  bool busy_ = false;
  bool in_step_ = false;
};

} // namespace caisson::detail
