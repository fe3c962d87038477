// The host behind a local gate: an engine in the user's actor.
#pragma once

#include <caisson/caf/caf.hpp>
#include <caisson/caf/hooks.hpp>
#include <caisson/caf/messages.hpp>
#include <caisson/engine/engine.hpp>
#include <caisson/gate/detail/local_response.hpp>
#include <caisson/gate/worker.hpp>
#include <caisson/stack/stack.hpp>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace caisson::detail {

/// A host of an engine without a mailbox of its own.
class local_host final : public portable::resident, private engine_host {
public:
  using listener = std::function<void(const event&)>;

  /// Makes a host that lives in `self`. Throws `config_error` if something is
  /// wrong with the stack or the worker.
  static std::shared_ptr<local_host> make(caf::scheduled_actor* self, worker w,
                                          const stack& policies);

  local_host(caf::scheduled_actor* self, worker w, const stack& policies);

  // -- calls ------------------------------------------------------------------

  /// A call with this content, and with options if they are not null.
  void call(std::unique_ptr<local_response> response, caf::message&& content,
            call_options* options);

  // -- permits ----------------------------------------------------------------

  void acquire(std::unique_ptr<local_response> response,
               const caisson::acquire& what);
  void renew(std::unique_ptr<local_response> response,
             const caisson::renew& what);
  void release(const caisson::release& what);

  // -- operation --------------------------------------------------------------

  [[nodiscard]] status get_status();
  /// Return an error if nothing was changed.
  [[nodiscard]] caf::error apply(const reconfigure& x);
  [[nodiscard]] caf::error apply(const command& x);
  void drain(std::unique_ptr<local_response> done);
  void listen_to_events(listener f);

  /// Answers everything with `cancelled`; nothing can be asked any more.
  void stop();

  /// The same without notifying this actor.
  void abandon();

protected:
  // -- what CAF shows us ------------------------------------------------------

  void on_answer(std::uint64_t key, caf::message&& content) override;
  void on_timer() override;
  void on_echo() override;
  void on_down(const caf::actor_addr& actor, const caf::error& why) override;
  void on_end() override { abandon(); }

private:
  // -- what the engine asks for -----------------------------------------------

  std::uint64_t deliver(target_id to, std::uint64_t key, caf::message&& content,
                        bool urgent) override;
  void send_cancelled(target_id to, std::uint64_t number) override;
  void answer(reply_slot to, caf::message&& content) override;
  void wake_at(time_point at) override;
  void send_dead_letter(dead_letter&& x) override;
  void emit(const event& what) override;
  bool has_subscribers() const override { return listener_ != nullptr; }
  // Only this actor calls, and the host ends with it.
  void watch_caller(const reply_slot&) override {}
  void unwatch_caller(std::uint64_t) override {}
  std::optional<made_worker> make_worker(std::uint32_t incarnation) override;
  void forget_worker() override;
  bool is_down(target_id x) const override;
  actor_end end_of(target_id x) const override;
  void worker_given_up(const std::string& why) override;
  void engine_failed(const caf::error& why) override;
  void hold_open(bool busy) override;
  bool send_probe() override;

  // -- parts ------------------------------------------------------------------

  template <class F>
  void submit(std::unique_ptr<local_response> response, F enter);
  [[nodiscard]] time_point now() { return self()->clock().now(); }
  void start();
  void let_go();
  [[nodiscard]] caf::error end_error() const;
  reply_slot slot_for(std::unique_ptr<local_response> response);
  made_worker use_worker(caf::actor handle);
  void take_new_worker(caf::message& content);
  void check_worker(time_point now);
  [[nodiscard]] bool has_ready() const noexcept {
    return !ready_.empty() || !ready_awaited_.empty();
  }
  /// The answers that come next.
  [[nodiscard]] response_queue& next_answers() noexcept {
    return awaited_ > 0 ? ready_awaited_ : ready_;
  }
  [[nodiscard]] bool wants_input() const noexcept {
    return busy_ || has_ready() || ((maker_ || probing_) && !stopped_);
  }
  void dispatch_ready();
  void finish_dispatch();

  std::string name_;
  worker worker_;
  /// The worker, and the targets of layers.
  std::vector<caf::actor> targets_;
  /// Runs a factory that blocks.
  caf::actor maker_;
  std::uint32_t incarnation_ = 0;
  engine engine_;
  /// Shared with the loop that calls it.
  std::shared_ptr<const listener> listener_;
  std::deque<event> events_;
  /// Answers go to handlers of the user's once the engine is quiescent.
  response_queue ready_;
  /// Those of them that the actor does nothing else before.
  response_queue ready_awaited_;
  std::size_t awaited_ = 0;
  time_point armed_ = never;
  bool busy_ = false;
  /// A message to this host itself is in flight.
  bool probing_ = false;
  bool dispatching_ = false;
  bool stopped_ = false;
  /// Why the actor is to end.
  std::optional<caf::error> quit_;
};

} // namespace caisson::detail
