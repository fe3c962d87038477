// Event loops, as guards need them for calls that no thread waits for.
#pragma once

#include <caisson/base/time.hpp>

#include <functional>
#include <memory>

namespace caisson {

/// A timer of an event loop. A guard uses it from several threads, one at a
/// time.
class loop_timer {
public:
  loop_timer() = default;
  virtual ~loop_timer() = default;
  loop_timer(const loop_timer&) = delete;
  loop_timer& operator=(const loop_timer&) = delete;

  /// Wants the timer's function to be called at `at` or soon after, in place of
  /// any earlier wish; `never`: not at all. A call that is about to begin may
  /// come nevertheless. The function is never called within this one.
  virtual void set(time_point at) = 0;
};

/// What runs functions, soon or at a time: the loop of a library such as Asio,
/// libuv or Qt. A guard keeps it while it has calls of this loop.
///
/// Its functions may be called by any thread, and must not throw. What they are
/// given is called by threads of the loop. If the loop has ended, or ends, they
/// are dropped.
class event_loop {
public:
  event_loop() = default;
  virtual ~event_loop() = default;
  event_loop(const event_loop&) = delete;
  event_loop& operator=(const event_loop&) = delete;

  /// Calls `f` once, soon, and not within this call.
  virtual void post(std::function<void()> f) = 0;

  /// Makes a timer that calls `f`, perhaps often. It is not set.
  virtual std::unique_ptr<loop_timer> make_timer(std::function<void()> f) = 0;
};

} // namespace caisson
