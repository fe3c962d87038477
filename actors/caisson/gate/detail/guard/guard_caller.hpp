// The calls of a guard, as its engine knows them.
#pragma once

#include <caisson/caf/caf.hpp>
#include <caisson/gate/detail/guard/attempt_maker.hpp>
#include <caisson/gate/result.hpp>

#include <atomic>
#include <bit>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace caisson::detail {

/// A call, as the engine knows it. It is notified within steps.
struct guard_caller {
  guard_caller() = default;
  virtual ~guard_caller() = default;
  guard_caller(const guard_caller&) = delete;
  guard_caller& operator=(const guard_caller&) = delete;

  /// There is an attempt to be made.
  virtual void on_next() = 0;
  /// Nobody waits for the result of the attempt that is being made.
  virtual void on_abandoned() = 0;
  /// There is an answer.
  virtual void on_answer() = 0;

  /// The key of the attempt to be made next.
  std::optional<std::uint64_t> next = {};
  /// What the last attempt meant, if it failed and was not abandoned.
  attempt_result last = {};
  /// Whether one of its attempts may have had an effect.
  bool executed = false;
  std::optional<caf::message> answer = {};
};

/// A call, for as long as its thread is in here.
struct thread_caller : guard_caller {
  void on_next() override { wake(); }
  void on_abandoned() override { abandoned = true; }
  void on_answer() override { wake(); }

  /// Its thread comes to it soon, if it waits.
  void wake() {
    if (place)
      changed.notify_one();
  }

  std::condition_variable changed = {};
  /// Its place among those that wait; nothing if it does not.
  std::optional<std::size_t> place = {};
  /// Whether nobody waits for the result of the attempt that is being made.
  std::atomic<bool> abandoned = false;
  /// Objects of the user's, to be destroyed without the mutex.
  attempt_result discarded = {};
};

/// What the engine's slots for answers hold.
struct caller_of_slot {
  guard_caller* caller;
};

/// How the engine knows a call: not null.
inline std::uint64_t token_of(guard_caller& caller) noexcept {
  return std::bit_cast<std::uint64_t>(&caller);
}

inline guard_caller& caller_of(std::uint64_t token) noexcept {
  return *std::bit_cast<guard_caller*>(token);
}

/// What the caller learns of its answer.
[[nodiscard]] call_end end_of(guard_caller& caller);

/// Whether it has nothing that takes long to move or to destroy.
inline bool is_plain(const attempt_result& x) {
  return !x.thrown && x.text.empty();
}

/// Of what a user's function has thrown, or work that was admitted has failed
/// by.
inline caf::message failure_of(const attempt_result& x) {
  return caf::make_message(caf::make_error(caf::sec::runtime_error, x.text));
}

} // namespace caisson::detail
