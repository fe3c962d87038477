// Keeps the time for the calls of event loops in a guard.
#pragma once

#include <caisson/base/time.hpp>
#include <caisson/gate/event_loop.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace caisson::detail {

/// A timer in each event loop that has calls in a guard, set to when the
/// engine's next timer is due. Protected by the guard's mutex.
class loop_clocks {
public:
  /// A call of the loop begins. `make_alarm()` makes what a new timer calls.
  template <class F>
  void use(const std::shared_ptr<event_loop>& x, const F& make_alarm) {
    if (!count(x.get()))
      add(x, make_alarm());
  }

  /// A call of the loop is over. Returns the loop if `sweep` is to be called in
  /// it, as this was its last call; else null.
  [[nodiscard]] event_loop* release(const event_loop* x);

  /// The loop needs no timer unless it has calls again.
  void sweep(const event_loop* x);

  /// Its timer has come.
  void on_alarm(const event_loop* x);

  /// The engine's next timer is due then.
  void set(time_point at);

private:
  /// Keeps the time for all calls of an event loop.
  struct loop_clock {
    std::shared_ptr<event_loop> loop;
    std::unique_ptr<loop_timer> timer;
    std::size_t calls = 0;
    /// What the timer is set to.
    time_point set = never;
    /// Whether it will be looked at again, as there were no calls.
    bool sweeps = false;
  };

  bool count(const event_loop* x) noexcept;
  void add(const std::shared_ptr<event_loop>& x,
           std::function<void()> on_alarm);

  std::vector<loop_clock> loops_;
};

} // namespace caisson::detail
