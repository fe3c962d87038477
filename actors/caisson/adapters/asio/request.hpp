// Requests to gates as asynchronous operations of Asio.
#pragma once

#include <caisson/adapters/asio/detail/operation.hpp>
#include <caisson/base/time.hpp>
#include <caisson/caf/caf.hpp>
#include <caisson/caf/messages.hpp>
#include <caisson/gate/request.hpp>
#include <caisson/gate/result.hpp>

#include <asio/async_result.hpp>

#include <memory>
#include <type_traits>
#include <utility>

namespace caisson {

namespace detail {

template <class T, class Handler>
void start_asio_request(Handler&& handler, caf::actor_system& sys,
                        const caf::actor& gate, duration timeout,
                        call&& content) {
  using operation = asio_result_operation<std::decay_t<Handler>,
                                          caisson::result<T>>;
  auto pending = std::make_shared<operation>(std::move(handler));
  pending->listen_to_slot();
  pending->enlist();
  auto sent = request_from_thread(
    sys, gate, timeout, std::move(content), [pending](caf::message&& x) {
      pending->complete([x = std::move(x)]() mutable {
        return result_of_answer<T>(std::move(x));
      });
    });
  // The request keeps the operation.
  std::weak_ptr<operation> link = pending;
  pending->on_cancelled([link, sent]() mutable {
    auto waiting = link.lock();
    if (sent.cancel() && waiting)
      waiting->complete([] { return result_of_answer<T>(cancelled_answer()); });
  });
}

} // namespace detail

/// The same as `request_future`, with a completion token of Asio: a callback
/// that takes a `result<T>`, or `use_awaitable`, `use_future` and others that
/// give one.
///
///     auto r = co_await caisson::async_request<receipt>(
///       sys, payments, 2s, charge{5}, asio::use_awaitable);
///
/// The handler runs by its associated executor, never within this function;
/// without one, by Asio's system executor. Its context has work until then. If
/// the context ends before, the handler is destroyed and the call cancelled.
///
/// Emitting a signal at the handler's cancellation slot, of any type, takes the
/// request back: the gate cancels the call, and the result is `cancelled`.
///
/// `sys` must live longer than the operation lasts.
template <class T, class Token>
auto async_request(caf::actor_system& sys, const caf::actor& gate,
                   duration timeout, call content, Token&& token) {
  return asio::async_initiate<Token, void(result<T>)>(
    [](auto&& handler, caf::actor_system* system, const caf::actor& to,
       duration limit, call what) {
      detail::start_asio_request<T>(std::move(handler), *system, to, limit,
                                    std::move(what));
    },
    token, &sys, gate, timeout, std::move(content));
}

/// The same with the message `x` and no options.
template <class T, class Content, class Token>
  requires(!std::is_same_v<std::decay_t<Content>, call>)
auto async_request(caf::actor_system& sys, const caf::actor& gate,
                   duration timeout, Content&& x, Token&& token) {
  return async_request<T>(sys, gate, timeout, wrap(std::forward<Content>(x)),
                          std::forward<Token>(token));
}

} // namespace caisson
