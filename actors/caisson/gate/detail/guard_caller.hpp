// A call in a guard, and what happens while the engine of the guard runs. For
// the sources of guard_host.hpp.
#pragma once

#include <caisson/gate/detail/guard_host.hpp>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <thread>

namespace caisson::detail {

/// A call, for as long as its thread is in here.
struct guard_host::caller {
  std::condition_variable changed = {};
  /// Its place among those that wait; nothing if it does not.
  std::optional<std::size_t> place = {};
  /// The key of the attempt to be made next.
  std::optional<std::uint64_t> next = {};
  /// The key of the one that is being made, of a call that was admitted.
  std::uint64_t key = 0;
  /// Whether nobody waits for the result of the one that is being made.
  std::atomic<bool> abandoned = false;
  /// What the last attempt meant, if it failed and was not abandoned.
  attempt_result last = {};
  /// Objects of the user's, to be destroyed without the mutex.
  attempt_result discarded = {};
  /// Whether one of its attempts may have had an effect.
  bool executed = false;
  std::optional<caf::message> answer = {};
};

/// What the engine's slots for answers hold.
struct guard_host::caller_of_slot {
  caller* who;
};

/// What happens while the engine runs: no function that it calls may come back.
class guard_host::step {
public:
  explicit step(guard_host& host) : host_(host), now_(host.clock_.now()) {
    host_.stepping_.store(std::this_thread::get_id(),
                          std::memory_order_relaxed);
    host_.run_timers(now_);
  }
  ~step() { host_.stepping_.store({}, std::memory_order_relaxed); }

  step(const step&) = delete;
  step& operator=(const step&) = delete;

  /// When it began.
  [[nodiscard]] time_point now() const noexcept { return now_; }

private:
  guard_host& host_;
  const time_point now_;
};

/// Of what a user's function has thrown, or work that was admitted has failed
/// by.
[[nodiscard]] inline caf::message failure_of(const attempt_result& x) {
  return caf::make_message(caf::make_error(caf::sec::runtime_error, x.text));
}

} // namespace caisson::detail
