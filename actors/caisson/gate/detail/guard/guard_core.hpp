// The engine of a guard, behind its mutex.
#pragma once

#include <caisson/caf/caf.hpp>
#include <caisson/engine/engine.hpp>
#include <caisson/gate/detail/guard/guard_caller.hpp>
#include <caisson/gate/detail/guard/guard_clock.hpp>
#include <caisson/gate/detail/guard/guard_events.hpp>
#include <caisson/gate/detail/guard/guard_link.hpp>
#include <caisson/gate/detail/guard/guard_presence.hpp>
#include <caisson/gate/detail/guard/guard_timekeeper.hpp>
#include <caisson/gate/detail/guard/loop_clocks.hpp>
#include <caisson/stack/stack.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace caisson::detail {

/// What has ended in a function that the engine has called, and takes effect
/// after that.
class late_end {
public:
  late_end() = default;
  virtual ~late_end() = default;
  late_end(const late_end&) = delete;
  late_end& operator=(const late_end&) = delete;

  /// Within a step.
  virtual void take_effect(time_point now) = 0;
};

/// Hosts the engine, which threads share by turns: the parts of a guard call it
/// within steps. All is protected by the mutex, unless it says otherwise.
///
/// If memory is exhausted, the process ends: the engine would be left with
/// calls whose threads have gone.
class guard_core final : private engine_host {
public:
  using lock_type = std::unique_lock<std::mutex>;
  class step;

  /// Throws `config_error` if something is wrong with the stack. `sys` may be
  /// null.
  guard_core(caf::actor_system* sys, const stack& policies, guard_clock& clock,
             std::shared_ptr<guard_link> link);

  guard_core(const guard_core&) = delete;
  guard_core& operator=(const guard_core&) = delete;

  /// To be called once, when the guard can be found.
  void start();
  /// No call comes any more, and those that are here are answered.
  void stop();
  [[nodiscard]] bool is_stopped() const noexcept { return stopped_; }
  /// Waits until nobody is here any more. Takes the mutex.
  void await_end();

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] const std::shared_ptr<guard_link>& link() const noexcept {
    return link_;
  }

  // -- the mutex --------------------------------------------------------------

  /// Takes it. Throws `std::logic_error` in a function that the engine calls.
  [[nodiscard]] lock_type enter();

  /// Whether this thread is in such a function. Without the mutex, too.
  [[nodiscard]] bool is_stepping() const noexcept {
    return link_->is_stepping();
  }
  /// Throws `std::logic_error`: a function of the policies comes back.
  [[noreturn]] void refuse_return() const;

  /// Delivers events, and destroys what was let go: without the mutex.
  void deliver_events(lock_type& lock);

  /// Is let go without the mutex: calls that were answered, and what has ended
  /// within a step.
  void let_go(std::shared_ptr<void> x) { released_.push_back(std::move(x)); }
  [[nodiscard]] bool has_let_go() const noexcept { return !released_.empty(); }

  // -- the engine -------------------------------------------------------------

  /// Begins a step, for as long as the result lives: first what is due happens.
  [[nodiscard]] step fire_due_timers_and_step();
  /// What is due happens.
  void fire_due_timers();

  /// To be called within steps.
  [[nodiscard]] engine& shared_engine() noexcept { return engine_; }

  /// The engine gets a call, which may be cancelled as `number` of `sender`, if
  /// that is not 0. Within a step.
  void send(guard_caller& caller, call_options* options, std::uint64_t sender,
            std::uint64_t number, time_point now);
  /// An attempt has ended, which means `meaning`. Within a step.
  void report(std::uint64_t key, const std::optional<answer_info>& meaning,
              caf::message&& reply, time_point now);

  /// Has ended within this step. Calls that were admitted come before all else.
  void defer_close(std::unique_ptr<late_end> x) {
    closed_.push_back(std::move(x));
  }
  void defer(std::unique_ptr<late_end> x) { deferred_.push_back(std::move(x)); }

  /// What a call is answered with once the guard has been stopped.
  [[nodiscard]] caf::error end_error() const;

  // -- parts ------------------------------------------------------------------

  [[nodiscard]] guard_presence& presence() noexcept { return presence_; }
  [[nodiscard]] guard_timekeeper& timekeeper() noexcept { return time_; }
  [[nodiscard]] loop_clocks& loops() noexcept { return loops_; }
  [[nodiscard]] guard_events& events() noexcept { return events_; }

  /// Another thread waits for the timer from now on.
  void hand_over_timer();
  /// The event loops learn when the next timer is due.
  void set_loop_timers() { loops_.set(time_.armed()); }

private:
  // -- what the engine asks for -----------------------------------------------

  std::uint64_t deliver(target_id to, std::uint64_t key, caf::message&& content,
                        bool urgent) override;
  void send_cancelled(target_id to, std::uint64_t number) override;
  void answer(reply_slot to, caf::message&& content) override;
  void wake_at(time_point at) override;
  void emit(const event& what) override { events_.add(what); }
  bool has_subscribers() const override { return events_.has_listener(); }
  // A thread cannot end while its call is here.
  void watch_caller(const reply_slot&) override {}
  void unwatch_caller(std::uint64_t) override {}
  std::optional<made_worker> make_worker(std::uint32_t) override { return {}; }
  void forget_worker() override {}
  bool is_down(target_id) const override { return false; }
  void worker_given_up(const std::string&) override {}
  void engine_failed(const caf::error& why) override;
  void hold_open(bool) override {}

  [[nodiscard]] engine_setup setup(const stack& policies);
  static void refresh(guard_link& link);
  void run_timers(time_point now);
  void take_late_ends(time_point now);

  const std::string name_;
  caf::actor_system* const system_;
  const std::shared_ptr<guard_link> link_;
  std::mutex mutex_;
  engine engine_;
  std::vector<std::unique_ptr<late_end>> closed_;
  std::vector<std::unique_ptr<late_end>> deferred_;
  /// What the attempt meant whose end the engine hears of.
  std::optional<answer_info> meaning_;
  guard_presence presence_;
  guard_timekeeper time_;
  bool stopped_ = false;
  guard_events events_;
  loop_clocks loops_;
  std::vector<std::shared_ptr<void>> released_;
};

/// A thread that is in a guard: it has the mutex, or comes back to it. When it
/// leaves, those who drain learn that calls may have ended.
class guard_stay {
public:
  explicit guard_stay(guard_core& core) : presence_(core.presence()) {
    presence_.enter();
  }
  ~guard_stay() { presence_.leave(); }

  guard_stay(const guard_stay&) = delete;
  guard_stay& operator=(const guard_stay&) = delete;

private:
  guard_presence& presence_;
};

/// What happens while the engine runs: no function that it calls may come back.
/// At its end, what has ended within it takes effect.
class guard_core::step {
public:
  ~step() {
    if (!core_.closed_.empty() || !core_.deferred_.empty())
      core_.take_late_ends(now_);
    core_.link_->stepping.store({}, std::memory_order_relaxed);
  }

  step(const step&) = delete;
  step& operator=(const step&) = delete;

  /// When it began.
  [[nodiscard]] time_point now() const noexcept { return now_; }

private:
  friend class guard_core;

  explicit step(guard_core& core) : core_(core), now_(core.time_.now()) {
    core_.link_->stepping.store(std::this_thread::get_id(),
                                std::memory_order_relaxed);
    core_.run_timers(now_);
  }

  guard_core& core_;
  const time_point now_;
};

inline guard_core::step guard_core::fire_due_timers_and_step() {
  return step{*this};
}

inline void guard_core::fire_due_timers() {
  step nothing_else{*this};
}

} // namespace caisson::detail
