// Callers and steps of a guard's host, for its sources only.
#pragma once

#include <caisson/gate/detail/guard_host.hpp>

#include <atomic>
#include <bit>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <thread>

namespace caisson::detail {

class async_call;

/// A call, as the engine knows it.
struct guard_host::caller {
  /// The call itself if no thread waits for it, else null.
  async_call* const async = nullptr;
  /// The key of the attempt to be made next.
  std::optional<std::uint64_t> next = {};
  /// What the last attempt meant, if it failed and was not abandoned.
  attempt_result last = {};
  /// Whether one of its attempts may have had an effect.
  bool executed = false;
  std::optional<caf::message> answer = {};
};

/// A call, for as long as its thread is in here.
struct guard_host::thread_caller : caller {
  std::condition_variable changed = {};
  /// Its place among those that wait; nothing if it does not.
  std::optional<std::size_t> place = {};
  /// Whether nobody waits for the result of the attempt that is being made.
  std::atomic<bool> abandoned = false;
  /// Objects of the user's, to be destroyed without the mutex.
  attempt_result discarded = {};
};

/// A call whose work is done somewhere else.
struct guard_host::admitted_caller : thread_caller {
  /// The key of its only attempt.
  std::uint64_t key = 0;
  /// How it ended, if that was within a step.
  std::optional<attempt_result> how = {};
};

/// How an attempt of a call that no thread waits for has ended, for the engine.
struct guard_host::attempt_end {
  std::uint64_t key;
  std::optional<answer_info> meaning;
  caf::message reply;
};

/// The end of an attempt, or of a call, in a function that the engine has
/// called: it takes effect after that.
struct guard_host::deferred_end {
  std::shared_ptr<async_call> call;
  /// Null: the call is taken back.
  std::shared_ptr<async_attempt_state> state = {};
  attempt_result result = {};
  /// What is not called any more.
  std::function<void()> on_abandoned = {};
  std::optional<attempt_end> how = {};
};

/// What the engine's slots for answers hold.
struct guard_host::caller_of_slot {
  caller* who;
};

/// A thread that is in here: it has the mutex, or comes back to it. When it
/// leaves, those who drain learn that calls may have ended.
class guard_host::stay {
public:
  explicit stay(guard_host& host) : host_(host) { ++host_.inside_; }
  ~stay() { host_.leave(); }

  stay(const stay&) = delete;
  stay& operator=(const stay&) = delete;

private:
  guard_host& host_;
};

/// What happens while the engine runs: no function that it calls may come back.
class guard_host::step {
public:
  explicit step(guard_host& host) : host_(host), now_(host.clock_.now()) {
    host_.link_->stepping.store(std::this_thread::get_id(),
                                std::memory_order_relaxed);
    host_.run_timers(now_);
  }
  ~step() {
    if (!host_.ended_in_step_.empty() || !host_.deferred_.empty())
      host_.end_those_of_step(now_);
    host_.link_->stepping.store({}, std::memory_order_relaxed);
  }

  step(const step&) = delete;
  step& operator=(const step&) = delete;

  /// When it began.
  [[nodiscard]] time_point now() const noexcept { return now_; }

private:
  guard_host& host_;
  const time_point now_;
};

/// How the engine knows a call: not null.
inline std::uint64_t guard_host::token_of(caller& who) noexcept {
  return std::bit_cast<std::uint64_t>(&who);
}

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
