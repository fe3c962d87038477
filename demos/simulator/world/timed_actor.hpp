// Base of clients, network links and services: many timers, one wake-up.
#pragma once

#include <simulator/world/messages.hpp>

#include <caisson/base/timer_queue.hpp>
#include <caisson/caf/caf.hpp>
#include <caisson/testing/virtual_time.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>

namespace caisson::sim {

/// When an actor's timers fire within their instant.
enum class timer_phase {
  /// Before anything else that it handles at that instant: work ends before new
  /// work arrives.
  first,
  /// After everything that other actors' timers have led to: an answer that
  /// comes at the very end of a timeout is in time.
  last,
};

/// An actor with a queue of timers.
class timed_actor : public portable::interceptor<go, cancelled> {
public:
  using super = portable::interceptor<go, cancelled>;
  using timers = timer_queue<std::uint64_t>;

  timed_actor(caf::actor_config& cfg, virtual_time& world,
              timer_phase phase = timer_phase::first)
    : super(cfg), world_time_(world), phase_(phase) {}

protected:
  // -- for the derived class to implement -------------------------------------

  /// The world begins.
  virtual void start() = 0;

  /// A message came.
  virtual void handle(portable::reply_to from, caf::message content) = 0;

  /// The answer to what was forwarded under `key` came.
  virtual void handle_answer(std::uint64_t key, caf::message content) = 0;

  /// The caller gave up what it sent under `number`.
  virtual void handle_cancelled(const caf::strong_actor_ptr& caller,
                                std::uint64_t number)
    = 0;

  /// A timer is due.
  virtual void fire(std::uint64_t payload) = 0;

  // -- for the derived class to use -------------------------------------------

  /// The present instant; does not change while a handler runs.
  [[nodiscard]] time_point now() const noexcept { return now_; }

  timers& timer() noexcept { return timers_; }

  /// Answers what is not understood.
  void refuse(portable::reply_to from) {
    from.answer(this, caf::make_message(make_error(errc::invalid_config)));
  }

  /// Timers that fire after those of `timer` which are due at the same instant.
  timers& later_timer() noexcept { return later_; }

  // -- what CAF shows us ------------------------------------------------------

  caf::message_handler control() final {
    return {
      [this](const go&) { within([this] { start(); }); },
      [this](const cancelled& x) {
        within([&] { handle_cancelled(current_sender(), x.number); });
      },
    };
  }

  void on_message(portable::reply_to from, caf::message&& content) final {
    within([&] { handle(std::move(from), std::move(content)); });
  }

  void on_answer(std::uint64_t key, caf::message&& content) final {
    within([&] { handle_answer(key, std::move(content)); });
  }

  void on_timer() final {
    if (phase_ == timer_phase::last && !waited_) {
      // The clock serves timers of one instant in the order in which they were
      // set, so this one comes after all that are there now.
      waited_ = true;
      return set_timer(clock().now());
    }
    waited_ = false;
    armed_ = never;
    within([this] {
      if (phase_ == timer_phase::last)
        run_due();
    });
  }

  void on_down(const caf::actor_addr&, const caf::error&) final {}

private:
  template <class F>
  void within(F f) {
    now_ = clock().now();
    if (phase_ == timer_phase::first)
      run_due();
    f();
    if (phase_ == timer_phase::first)
      run_due();
    auto next = std::min(timers_.next(), later_.next());
    if (next < armed_ || (next == never && armed_ != never)) {
      armed_ = next;
      waited_ = false;
      set_timer(next);
    }
  }

  void run_due() {
    // A million users may begin at one instant.
    while (world_time_.goes_on()) {
      auto payload = timers_.pop_due(now_);
      if (!payload)
        payload = later_.pop_due(now_);
      if (!payload)
        return;
      fire(*payload);
    }
  }

  virtual_time& world_time_;
  timers timers_;
  timers later_;
  time_point now_;
  time_point armed_ = never;
  timer_phase phase_;
  // The timer has gone off, and waits for the end of its instant.
  bool waited_ = false;
};

} // namespace caisson::sim
