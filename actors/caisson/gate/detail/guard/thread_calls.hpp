// Calls of a guard whose threads make the attempts.
#pragma once

#include <caisson/gate/detail/guard/attempt_maker.hpp>
#include <caisson/gate/detail/guard/guard_core.hpp>

namespace caisson::detail {

/// Carries calls out in the threads that make them: they make the attempts, and
/// wait in between.
class thread_calls {
public:
  /// `core` must outlive this.
  explicit thread_calls(guard_core& core) : core_(core) {}

  /// `options` may be null. Takes the mutex.
  call_end call(call_options* options, attempt_maker& maker);

private:
  using lock_type = guard_core::lock_type;

  call_end finish(lock_type& lock, call_options* options,
                  attempt_maker& maker) noexcept;
  void make_attempt(lock_type& lock, thread_caller& caller,
                    attempt_maker& maker);
  void wait(lock_type& lock, thread_caller& caller);
  void leave(thread_caller& caller);

  guard_core& core_;
};

} // namespace caisson::detail
