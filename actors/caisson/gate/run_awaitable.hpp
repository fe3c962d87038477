// Calls through guards that coroutines await.
#pragma once

#include <caisson/caf/messages.hpp>
#include <caisson/gate/async_function.hpp>
#include <caisson/gate/attempt.hpp>
#include <caisson/gate/event_loop.hpp>
#include <caisson/gate/guard.hpp>
#include <caisson/gate/result.hpp>

#include <atomic>
#include <coroutine>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace caisson {

namespace detail {

template <class A>
decltype(auto) awaiter_of(A&& x) {
  if constexpr (requires { std::forward<A>(x).operator co_await(); })
    return std::forward<A>(x).operator co_await();
  else if constexpr (requires { operator co_await(std::forward<A>(x)); })
    return operator co_await(std::forward<A>(x));
  else
    return std::forward<A>(x);
}

/// What `co_await` of an A gives.
template <class A>
using awaited_value = std::decay_t<
  decltype(detail::awaiter_of(std::declval<A>()).await_resume())>;

/// The value of a function that returns something to await.
template <class F>
using value_to_await = awaited_value<typename result_of_attempt<F>::type>;

/// A coroutine that nobody waits for. It begins at once.
struct attempt_coroutine {
  struct promise_type {
    attempt_coroutine get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() noexcept { std::terminate(); }
  };
};

/// A call whose function returns something to await.
template <class F, class T>
class awaited_call final : public async_function<F, T> {
public:
  using async_function<F, T>::async_function;

  /// Whom to resume.
  void set_waiting(std::coroutine_handle<> waiter) { waiter_ = waiter; }

  /// Nobody waits any more.
  void leave() {
    if (!gone_.exchange(true))
      this->drop();
  }

private:
  void start(std::shared_ptr<async_attempt> x) override { carry_out(x); }

  // The attempt keeps the function.
  attempt_coroutine carry_out(std::shared_ptr<async_attempt> x) {
    std::exception_ptr thrown;
    try {
      if constexpr (std::is_void_v<T>) {
        co_await this->call(*x);
        this->value_of(*x).emplace();
      } else {
        this->value_of(*x).emplace(co_await this->call(*x));
      }
    } catch (...) {
      thrown = std::current_exception();
    }
    x->end(this->result_of(thrown), false);
  }

  void on_done() override {
    auto self = std::static_pointer_cast<awaited_call>(
      this->shared_from_this());
    this->loop().post([self] {
      if (!self->gone_.exchange(true))
        self->waiter_.resume();
    });
  }

  std::coroutine_handle<> waiter_;
  std::atomic<bool> gone_ = false;
};

} // namespace detail

/// A call that is made when it is awaited; made by `run_awaitable`. To be
/// awaited at most once. Its destruction, with that of the coroutine that
/// awaits it, cancels the call.
template <class F, class T>
class [[nodiscard]] awaitable_run {
public:
  /// See `run_awaitable`.
  awaitable_run(guard& through, std::shared_ptr<event_loop> loop, F f,
                std::optional<call_options> options)
    : guard_(through), options_(std::move(options)),
      call_(std::make_shared<detail::awaited_call<F, T>>(
        std::move(loop), std::move(f),
        detail::guard_access::host_of(through).classifier())) {}

  /// Before it is awaited.
  awaitable_run(awaitable_run&&) noexcept = default;
  awaitable_run& operator=(awaitable_run&&) = delete;

  ~awaitable_run() {
    if (call_)
      call_->leave();
  }

  /// What `co_await` calls.
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  /// The same. The coroutine may have ended when this returns.
  void await_suspend(std::coroutine_handle<> waiter) {
    if (std::exchange(awaited_, true))
      throw std::logic_error{"a call can be awaited only once"};
    auto call = call_;
    call->set_waiting(waiter);
    call->begin(detail::guard_access::host_of(guard_),
                options_ ? &*options_ : nullptr);
  }
  /// The same.
  result<T> await_resume() { return call_->take(); }

private:
  guard& guard_;
  std::optional<call_options> options_;
  std::shared_ptr<detail::awaited_call<F, T>> call_;
  bool awaited_ = false;
};

/// The same as `guard::run`, for coroutines: no thread waits for the function,
/// in a queue, or between two attempts.
///
///     auto r = co_await caisson::run_awaitable(
///       payments, loop, [=](const caisson::attempt& a) -> task<receipt> {
///         co_return co_await charge(card, a.time_left());
///       });
///
/// `f` returns what any coroutine can await, such as a task or a future with an
/// awaiter; the value of that is a success, what it throws a failure. The first
/// attempt starts in the thread that awaits, further ones in threads of `loop`,
/// where the coroutine goes on, too.
///
/// The call is answered in time, also if an attempt still runs: `f`, its
/// `attempt` and the coroutine that it returned live until that has ended, so
/// what `f` refers to must live as long. `attempt::abandoned()` says that it
/// should end. A later attempt may run beside an earlier one that does not.
///
/// A coroutine that waits may be destroyed, in a thread of `loop`, which
/// cancels the call. If the guard ends, the call is answered with `cancelled`.
template <class F>
auto run_awaitable(guard& through, std::shared_ptr<event_loop> loop, F f) {
  return awaitable_run<F, detail::value_to_await<F>>{
    through, std::move(loop), std::move(f), {}};
}

/// The same with options for this call, such as a key or a shorter deadline.
template <class F>
auto run_awaitable(guard& through, std::shared_ptr<event_loop> loop, F f,
                   call_options options) {
  return awaitable_run<F, detail::value_to_await<F>>{
    through, std::move(loop), std::move(f), std::move(options)};
}

} // namespace caisson
