// Calls of a guard that no thread waits for, as the guard sees them.
#pragma once

#include <caisson/gate/detail/guard/attempt_maker.hpp>
#include <caisson/gate/detail/guard/guard_core.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

namespace caisson::detail {

class async_call;
struct async_attempt_state;

/// Carries calls on in whatever thread something happens to them. What takes a
/// lock wants that of the guard's mutex; `begin` without one takes it.
class async_calls {
public:
  using lock_type = guard_core::lock_type;

  /// `core` must outlive this.
  explicit async_calls(guard_core& core) : core_(core) {}

  /// See `guard_host`.
  void begin(async_call& x, call_options* options);
  /// Starts what is to be started, until the call waits for something.
  void carry_on(lock_type& lock, async_call& x) noexcept;
  /// An attempt has ended. Gives back in `state` and `result` what is to be
  /// destroyed.
  void end_attempt(lock_type& lock, async_call& x,
                   std::shared_ptr<async_attempt_state>& state,
                   attempt_result& result, bool in_loop) noexcept;
  /// The call is taken back.
  void cancel(lock_type& lock, async_call& x) noexcept;

  // -- within a step, for after it --------------------------------------------

  /// The call is taken back.
  void defer_cancel(std::shared_ptr<async_call> x);
  /// An attempt has ended. `on_abandoned` is not called any more.
  void defer_end(std::shared_ptr<async_call> x,
                 std::shared_ptr<async_attempt_state> state,
                 attempt_result result, std::function<void()> on_abandoned);

  // -- what the engine says, within a step ------------------------------------

  void attend(async_call& x);
  void abandon_attempt(async_call& x);
  void finish(async_call& x);

private:
  struct attempt_end;
  class late_cancel;
  class late_attempt_end;

  void begin(lock_type& lock, async_call& x, call_options* options) noexcept;
  void start_next(lock_type& lock, async_call& x);
  attempt_end keep_result(async_call& x,
                          std::shared_ptr<async_attempt_state>& state,
                          attempt_result& result);
  void report(attempt_end&& how, time_point now);
  void withdraw(async_call& x, time_point now);
  void use_loop(const std::shared_ptr<event_loop>& x);
  void release_loop(const event_loop* x);
  void on_alarm(lock_type& lock, const event_loop* x) noexcept;

  guard_core& core_;
};

} // namespace caisson::detail
