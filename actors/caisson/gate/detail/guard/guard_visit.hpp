// A thread that carries on a call of a guard which may have ended.
#pragma once

#include <caisson/gate/detail/guard/guard_core.hpp>
#include <caisson/gate/detail/guard/guard_parts.hpp>

#include <mutex>

namespace caisson::detail {

/// A thread that carries on a call, for as long as it has the mutex or comes
/// back to it. Nobody is there if the guard has ended.
class guard_visit {
public:
  explicit guard_visit(guard_link& link) {
    if (link.is_stepping())
      link.guard.core.refuse_return();
    std::lock_guard guard{link.mutex};
    if (link.ended)
      return;
    lock_ = link.guard.core.enter();
    guard_ = &link.guard;
    guard_->core.presence().enter();
  }
  ~guard_visit() {
    if (guard_)
      guard_->core.presence().leave();
  }

  guard_visit(const guard_visit&) = delete;
  guard_visit& operator=(const guard_visit&) = delete;

  /// Null if the guard has ended.
  [[nodiscard]] async_calls* calls() const noexcept {
    return guard_ ? &guard_->async : nullptr;
  }
  [[nodiscard]] guard_core::lock_type& lock() noexcept { return lock_; }

private:
  guard_core::lock_type lock_;
  guard_parts* guard_ = nullptr;
};

} // namespace caisson::detail
