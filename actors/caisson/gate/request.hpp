// Requests to gates from threads that are no actors.
#pragma once

#include <caisson/base/time.hpp>
#include <caisson/caf/caf.hpp>
#include <caisson/caf/messages.hpp>
#include <caisson/gate/result.hpp>

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <type_traits>
#include <utility>
#include <variant>

namespace caisson {

namespace detail {

/// A request that was sent from a thread, and may have its answer already.
class sent_request {
public:
  /// One that is over.
  sent_request() = default;
  /// By the address that gets the answer.
  explicit sent_request(caf::weak_actor_ptr address)
    : address_(std::move(address)) {}

  /// Takes the request back: a gate cancels the call. Returns whether that was
  /// in time: then the function for the answer is never called.
  bool cancel();

private:
  caf::weak_actor_ptr address_;
};

/// Sends `content` to `gate`, and calls `done` once with the answer, which is a
/// single `caf::error` if the call failed, in whatever thread it comes from:
/// perhaps in this one, before the function returns.
sent_request request_from_thread(caf::actor_system& sys, const caf::actor& gate,
                                 duration timeout, call content,
                                 std::function<void(caf::message&&)> done);

/// The answer to a request that was taken back.
[[nodiscard]] caf::message cancelled_answer();

/// What a failed call's answer says, or that the answer is no `T`.
[[nodiscard]] call_end failed_call(const caf::message& answer);

template <class T>
result<T> result_of_answer(caf::message&& answer) {
  if (portable::holds<caf::error>(answer))
    return result<T>{failed_call(answer)};
  if constexpr (std::is_same_v<T, caf::message>) {
    return result<T>{std::move(answer)};
  } else if constexpr (std::is_void_v<T>) {
    if (answer.size() == 0)
      return result<T>{std::monostate{}};
  } else {
    if (portable::holds<T>(answer))
      return result<T>{portable::take<T>(answer)};
  }
  return result<T>{failed_call(answer)};
}

} // namespace detail

/// How long after the end of its time a call is still answered by the gate, and
/// not in its place.
inline constexpr duration answer_grace = std::chrono::milliseconds(100);

/// Sends a request to a gate of this system from any thread, without an actor,
/// and returns a future of the answer.
///
///     auto answer = caisson::request_future<receipt>(
///       sys, payments, 2s, caisson::wrap(charge{5}).key("tenant-7"));
///     …
///     if (auto r = answer.get())
///       use(*r);
///     else
///       log(r.text());
///
/// `T` is the type of the expected value: `void` if the answer has none,
/// `caf::message` if any will do. An answer of another type is CAF's error
/// `unexpected_response`.
///
/// `gate` is a gate or another actor that takes a `call`. The call has at most
/// `timeout` (`unlimited`: what it has itself, or the gate's default deadline).
/// It is always answered: if the gate has not done so `answer_grace` after the
/// end of the call's time, because it is busy, with `deadline_exceeded`; if it
/// or its node is gone, with `worker_down` or CAF's error. Its promise is
/// fulfilled by the thread that the answer comes from. Wait for the answers of
/// gates on other nodes before `sys` ends.
template <class T>
[[nodiscard]] std::future<result<T>>
request_future(caf::actor_system& sys, const caf::actor& gate, duration timeout,
               call content) {
  auto promise = std::make_shared<std::promise<result<T>>>();
  auto answer = promise->get_future();
  detail::request_from_thread(
    sys, gate, timeout, std::move(content), [promise](caf::message&& x) {
      promise->set_value(detail::result_of_answer<T>(std::move(x)));
    });
  return answer;
}

/// The same with the message `x` and no options.
template <class T, class Content>
  requires(!std::is_same_v<std::decay_t<Content>, call>)
[[nodiscard]] std::future<result<T>>
request_future(caf::actor_system& sys, const caf::actor& gate, duration timeout,
               Content&& x) {
  return request_future<T>(sys, gate, timeout, wrap(std::forward<Content>(x)));
}

/// The same, and waits for the answer. Do not use it in an actor, whose thread
/// others need, nor in virtual time.
///
///     auto r = caisson::request_blocking<receipt>(sys, payments, 2s,
///                                                 charge{5});
template <class T, class Content>
result<T> request_blocking(caf::actor_system& sys, const caf::actor& gate,
                           duration timeout, Content&& x) {
  return request_future<T>(sys, gate, timeout, std::forward<Content>(x)).get();
}

} // namespace caisson
