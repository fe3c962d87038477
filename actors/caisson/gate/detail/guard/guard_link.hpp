// Finds a guard as long as it is there.
#pragma once

#include <atomic>
#include <mutex>
#include <thread>

namespace caisson::detail {

struct guard_parts;

/// How readers of metrics, and calls that no thread waits for, find their guard
/// as long as it is there.
struct guard_link {
  explicit guard_link(guard_parts& x) : guard(x) {}

  /// Whether this thread is in a function that the engine has called. The guard
  /// is there then, and the thread has its mutex.
  [[nodiscard]] bool is_stepping() const noexcept {
    return stepping.load(std::memory_order_relaxed)
           == std::this_thread::get_id();
  }

  guard_parts& guard;
  /// The thread that the engine runs in.
  std::atomic<std::thread::id> stepping = {};
  /// Protects what follows. Not to be waited for with the mutex of a guard.
  std::mutex mutex = {};
  bool ended = false;
};

} // namespace caisson::detail
