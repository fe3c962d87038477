// Hands events of a guard to its listener.
#pragma once

#include <caisson/caf/messages.hpp>

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

namespace caisson::detail {

/// The listener of a guard, and the events that it has not heard of yet.
/// Protected by the guard's mutex, which `lock` holds.
class guard_events {
public:
  using listener = std::function<void(const event&)>;
  using lock_type = std::unique_lock<std::mutex>;

  [[nodiscard]] bool has_listener() const noexcept {
    return listener_ != nullptr;
  }

  /// Events that listeners do not keep up with are lost, which their numbers
  /// show.
  void add(const event& what);

  /// Swaps the listener, which may be null, and forgets what it has not heard
  /// of. When this returns, no other thread is in the old one any more, and the
  /// mutex is free, as what the old one holds may use the guard at its end.
  void swap_listener(lock_type& lock, std::shared_ptr<const listener>& next);

  /// The threads that cause events deliver them, one thread at a time, so that
  /// they come in order, and without the mutex, so that a listener may call.
  /// None does so for ever while others cause more. Returns whether this one
  /// has done so.
  bool deliver(lock_type& lock);

  /// Whether there are some that nobody delivers.
  [[nodiscard]] bool are_waiting() const noexcept {
    return !events_.empty() && !is_delivering();
  }
  /// Whether a thread delivers them.
  [[nodiscard]] bool is_delivering() const noexcept {
    return delivering_thread_ != std::thread::id{};
  }

private:
  std::shared_ptr<const listener> listener_;
  std::deque<event> events_;
  /// The thread that delivers events.
  std::thread::id delivering_thread_ = {};
  /// Notified when it has come back from a listener.
  std::condition_variable returned_;
  bool listening_ = false;
};

} // namespace caisson::detail
