// Requests to gates that coroutines await.
#pragma once

#include <caisson/base/time.hpp>
#include <caisson/caf/caf.hpp>
#include <caisson/caf/messages.hpp>
#include <caisson/gate/request.hpp>
#include <caisson/gate/result.hpp>

#include <coroutine>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>

namespace caisson {

/// Says where a coroutine goes on: runs the given function once, soon, and not
/// within this call. Must not throw.
using resumer = std::function<void(std::function<void()>)>;

namespace detail {

/// What a coroutine that awaits an answer and the request share.
class awaited_answer : public std::enable_shared_from_this<awaited_answer> {
public:
  awaited_answer(caf::actor_system& sys, resumer resume)
    : system_(sys), resume_(std::move(resume)) {}

  /// Sends the request. `waiter` goes on once the answer is there, perhaps
  /// before this returns.
  void send(const caf::actor& gate, duration timeout, call&& content,
            std::coroutine_handle<> waiter);

  /// @pre the coroutine goes on
  [[nodiscard]] caf::message take() { return std::move(*answer_); }

  /// Nobody waits any more: takes the request back.
  void drop();

private:
  void on_answer(caf::message&& x);
  void go_on();

  caf::actor_system& system_;
  const resumer resume_;
  std::mutex mutex_;
  std::coroutine_handle<> waiter_;
  bool dropped_ = false;
  sent_request request_;
  std::optional<caf::message> answer_;
};

} // namespace detail

/// A request that is sent when it is awaited; made by `request_awaitable`. To
/// be awaited at most once. Its destruction, with that of the coroutine that
/// awaits it, takes the request back.
template <class T>
class [[nodiscard]] awaitable_request {
public:
  /// See `request_awaitable`.
  awaitable_request(caf::actor_system& sys, caf::actor gate, duration timeout,
                    call content, resumer resume)
    : gate_(std::move(gate)), timeout_(timeout), content_(std::move(content)),
      answer_(
        std::make_shared<detail::awaited_answer>(sys, std::move(resume))) {}

  /// Before it is awaited.
  awaitable_request(awaitable_request&&) noexcept = default;
  awaitable_request& operator=(awaitable_request&&) = delete;

  ~awaitable_request() {
    if (answer_)
      answer_->drop();
  }

  /// What `co_await` calls.
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  /// The same. The coroutine may have ended when this returns.
  void await_suspend(std::coroutine_handle<> waiter) {
    auto answer = answer_;
    answer->send(gate_, timeout_, std::move(content_), waiter);
  }
  /// The same.
  result<T> await_resume() {
    return detail::result_of_answer<T>(answer_->take());
  }

private:
  const caf::actor gate_;
  const duration timeout_;
  call content_;
  std::shared_ptr<detail::awaited_answer> answer_;
};

/// The same as `request_future`, for coroutines of any library:
///
///     auto r = co_await caisson::request_awaitable<receipt>(
///       sys, payments, 2s, caisson::wrap(charge{5}).key("tenant-7"));
///     if (r)
///       use(*r);
///
/// The request is sent when it is awaited, and its time counts from then on.
/// The coroutine goes on in a thread of the scheduler of `sys`, in an actor
/// that is made for that, so it must not block there for long; what it throws
/// out of `resume` is lost. Give a `resume` to have it go on elsewhere, such as
/// in the thread of an event loop.
///
/// A coroutine that waits may be destroyed, by any thread, until the function
/// that `resume` gets begins to run. The answer is dropped then, and the gate
/// cancels the call. `sys` must live longer than the coroutine waits.
template <class T>
awaitable_request<T> request_awaitable(caf::actor_system& sys, caf::actor gate,
                                       duration timeout, call content,
                                       resumer resume = {}) {
  return {sys, std::move(gate), timeout, std::move(content), std::move(resume)};
}

/// The same with the message `x` and no options.
template <class T, class Content>
  requires(!std::is_same_v<std::decay_t<Content>, call>)
awaitable_request<T> request_awaitable(caf::actor_system& sys, caf::actor gate,
                                       duration timeout, Content&& x,
                                       resumer resume = {}) {
  return {sys, std::move(gate), timeout, wrap(std::forward<Content>(x)),
          std::move(resume)};
}

} // namespace caisson
