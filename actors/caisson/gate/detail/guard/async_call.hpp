// A call of a guard that no thread waits for.
#pragma once

#include <caisson/caf/messages.hpp>
#include <caisson/gate/attempt.hpp>
#include <caisson/gate/detail/guard/attempt_maker.hpp>
#include <caisson/gate/detail/guard/guard_caller.hpp>
#include <caisson/gate/detail/guard/guard_link.hpp>
#include <caisson/gate/event_loop.hpp>
#include <caisson/gate/result.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

namespace caisson::detail {

/// What an attempt and its call share; derived ones hold its value.
struct async_attempt_state {
  async_attempt_state() = default;
  virtual ~async_attempt_state() = default;
  async_attempt_state(const async_attempt_state&) = delete;
  async_attempt_state& operator=(const async_attempt_state&) = delete;

  std::uint64_t key = 0;
  call_options options = {};
  /// Whether nobody waits for its result any more.
  std::atomic<bool> abandoned = false;
  /// Called once if that becomes so before its end, under the guard's mutex.
  std::function<void()> on_abandoned = {};
};

class async_call;
class guard_host;

/// An attempt that was started. Its executor keeps it until its end; an attempt
/// that is destroyed before has failed. Keeps the call.
class async_attempt {
public:
  async_attempt(std::shared_ptr<async_call> owner,
                std::shared_ptr<async_attempt_state> state)
    : call_(std::move(owner)), state_(std::move(state)),
      view_(state_->options, state_->abandoned) {}
  ~async_attempt();
  async_attempt(const async_attempt&) = delete;
  async_attempt& operator=(const async_attempt&) = delete;

  /// What the user's function gets.
  [[nodiscard]] const attempt& view() const noexcept { return view_; }
  [[nodiscard]] async_attempt_state& state() const noexcept { return *state_; }
  [[nodiscard]] async_call& call() const noexcept { return *call_; }

  /// Calls `f` once when nobody waits for the result any more, at once if that
  /// is so. `f` must only post what is to be done. Not after the end.
  void on_abandoned(std::function<void()> f);

  /// The attempt has ended. To be called at most once, by any thread;
  /// `in_loop` if it is one in which the next attempt may start.
  void end(attempt_result x, bool in_loop);

private:
  const std::shared_ptr<async_call> call_;
  const std::shared_ptr<async_attempt_state> state_;
  const attempt view_;
  bool ended_ = false;
};

/// A call that is carried on by whatever thread something happens in. All
/// functions are safe to call from any thread.
class async_call : public std::enable_shared_from_this<async_call> {
public:
  explicit async_call(std::shared_ptr<event_loop> loop);
  virtual ~async_call();
  async_call(const async_call&) = delete;
  async_call& operator=(const async_call&) = delete;

  /// Begins the call, and keeps it until it is answered. `options` may be null.
  /// To be called once.
  void begin(guard_host& host, call_options* options);

  /// Takes the call back: it is answered with `cancelled` unless it has an
  /// answer.
  void cancel();
  /// The same, and nobody wants to know: `on_done` is not called from now on.
  void drop();

protected:
  /// How the call has ended, in `on_done` or later.
  [[nodiscard]] call_end& end() noexcept { return end_; }
  /// The last attempt that was not abandoned; may be null.
  [[nodiscard]] async_attempt_state* last_state() const noexcept {
    return last_state_.get();
  }
  [[nodiscard]] event_loop& loop() const noexcept { return *loop_; }

private:
  friend class async_calls;
  friend class async_attempt;

  virtual std::shared_ptr<async_attempt_state> make_state() = 0;
  /// Starts an attempt: calls the user's function. Throws nothing.
  virtual void start(std::shared_ptr<async_attempt> x) = 0;
  /// An attempt was destroyed before its end, which will be a failure unless
  /// this cancels the call.
  virtual void on_attempt_gone() {}
  /// Whether the function looks at the options.
  [[nodiscard]] virtual bool takes_options() const noexcept = 0;
  /// Runs `f` soon in a thread in which attempts may start. Called under the
  /// guard's mutex.
  virtual void post(std::function<void()> f);
  /// The call has its answer. Called once, under the guard's mutex: must only
  /// post what is to be done.
  virtual void on_done() = 0;

  void carry_on();

  // What follows belongs to the guard, and is protected by its mutex.
  const std::shared_ptr<event_loop> loop_;
  std::shared_ptr<guard_link> link_;
  const std::unique_ptr<guard_caller> caller_;
  /// Itself, as long as the engine refers to it.
  std::shared_ptr<async_call> self_;
  /// The attempt in progress.
  std::shared_ptr<async_attempt_state> current_;
  std::shared_ptr<async_attempt_state> last_state_;
  /// Whether a thread will see to its next attempt, or was asked to.
  bool attended_ = false;
  bool dropped_ = false;
  call_end end_;
};

} // namespace caisson::detail
