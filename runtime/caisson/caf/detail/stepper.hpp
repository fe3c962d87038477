// The part of hooks.hpp that drives CAF's testing scheduler and its clock one
// step at a time. Included by hooks.hpp only.
#pragma once

#include <algorithm>
#include <cstddef>

namespace caisson::portable {

/// Drives an actor system that was configured with `use_virtual_time`. All
/// actors run in the calls made here, on the calling thread.
class stepper {
public:
#if CAISSON_CAF_LEGACY
  explicit stepper(caf::actor_system& sys)
    : coordinator_(
      dynamic_cast<caf::scheduler::test_coordinator&>(sys.scheduler())),
      residents_(resident_list::of(sys)) {}

  [[nodiscard]] time_point now() {
    return coordinator_.clock().now();
  }
  void set_now(time_point t) {
    coordinator_.clock().current_time = t;
  }

  [[nodiscard]] std::size_t timers() {
    return coordinator_.clock().schedule().size();
  }

  [[nodiscard]] bool has_timers() {
    return !coordinator_.clock().schedule().empty();
  }

  [[nodiscard]] time_point next_timer() {
    auto& all = coordinator_.clock().schedule();
    return all.empty() ? never : all.begin()->first;
  }

  /// Moves the clock to the next timer and fires that one.
  void fire_next_timer() {
    coordinator_.clock().trigger_timeout();
  }

  void drop_timers() {
    coordinator_.clock().cancel_all();
  }

  /// Lets the actor at `index` of the run queue handle one message.
  void run(std::size_t index) {
    auto first = coordinator_.jobs.begin();
    auto pos = first + static_cast<std::ptrdiff_t>(index);
    std::rotate(first, pos, pos + 1);
    coordinator_.try_run_once();
  }
#else
  explicit stepper(caf::actor_system& sys)
    : coordinator_(
      static_cast<caf::detail::test_coordinator&>(sys.scheduler())),
      clock_(static_cast<caf::detail::test_actor_clock&>(sys.clock())),
      worker_(coordinator_), residents_(resident_list::of(sys)) {}

  [[nodiscard]] time_point now() {
    return clock_.current_time;
  }
  void set_now(time_point t) {
    clock_.current_time = t;
  }

  [[nodiscard]] std::size_t timers() {
    drop_disposed();
    return clock_.actions.size();
  }

  [[nodiscard]] bool has_timers() {
    drop_disposed_first();
    return !clock_.actions.empty();
  }

  [[nodiscard]] time_point next_timer() {
    return has_timers() ? clock_.actions.begin()->first : never;
  }

  void fire_next_timer() {
    if (!has_timers())
      return;
    auto first = clock_.actions.begin();
    clock_.current_time = std::max(clock_.current_time, first->first);
    auto what = std::move(first->second);
    clock_.actions.erase(first);
    what.run();
  }

  void drop_timers() {
    clock_.actions.clear();
  }

  void run(std::size_t index) {
    auto pos = coordinator_.jobs.begin() + static_cast<std::ptrdiff_t>(index);
    auto* job = *pos;
    coordinator_.jobs.erase(pos);
    switch (job->resume(&worker_, 1)) {
      case caf::resumable::resume_later:
        coordinator_.jobs.push_front(job);
        break;
      case caf::resumable::done:
      case caf::resumable::awaiting_message:
        caf::intrusive_ptr_release(job);
        break;
      case caf::resumable::shutdown_execution_unit:
        break;
    }
  }
#endif

  /// Ends what lives in actors. A resident that waits for something keeps its
  /// actor, which keeps the resident.
  void end_residents() {
    residents_->end_all();
  }

  /// How many actors have mail.
  [[nodiscard]] std::size_t runnable() const {
    return coordinator_.jobs.size();
  }

private:
#if CAISSON_CAF_LEGACY
  caf::scheduler::test_coordinator& coordinator_;
#else
  // Stands in for the thread that runs the actors: what they wake up goes to
  // the back of the run queue. (The library's own functions for this are not
  // exported.)
  class queueing final : public caf::scheduler {
  public:
    explicit queueing(caf::detail::test_coordinator& to) : to_(to) {}
    void schedule(caf::resumable* x) override { to_.jobs.push_back(x); }
    void delay(caf::resumable* x) override { to_.jobs.push_back(x); }
    void start() override {}
    void stop() override {}

  private:
    caf::detail::test_coordinator& to_;
  };

  // A timer that was taken back stays in the clock until its time has come.
  void drop_disposed() {
    std::erase_if(clock_.actions,
                  [](const auto& x) { return x.second.disposed(); });
    many_ = 2 * clock_.actions.size() + 64;
  }

  // Makes the first timer one that is set. All that were taken back are dropped
  // only when they may be the half: to look through them each time costs more
  // than all else.
  void drop_disposed_first() {
    auto& all = clock_.actions;
    if (all.size() > many_)
      drop_disposed();
    while (!all.empty() && all.begin()->second.disposed())
      all.erase(all.begin());
  }

  caf::detail::test_coordinator& coordinator_;
  caf::detail::test_actor_clock& clock_;
  queueing worker_;
  std::size_t many_ = 0;
#endif
  const std::shared_ptr<resident_list> residents_;
};

/// Makes the system that will be built from `cfg` one for a `stepper`.
inline void use_virtual_time(caf::actor_system_config& cfg) {
#if CAISSON_CAF_LEGACY
  cfg.set("scheduler.policy", caf::atom("testing"));
  cfg.set("logger.inline-output", true);
  cfg.set("logger.file-verbosity", caf::atom("quiet"));
#else
  cfg.set("caf.scheduler.policy", "testing");
#endif
}

/// For virtual time: the system's destructor must not wait for actors that
/// never run.
inline void do_not_await_actors(caf::actor_system& sys) {
  sys.await_actors_before_shutdown(false);
}

} // namespace caisson::portable
