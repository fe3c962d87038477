// Calls through guards as asynchronous operations of Asio.
#pragma once

#include <caisson/adapters/asio/detail/loop.hpp>
#include <caisson/adapters/asio/detail/operation.hpp>
#include <caisson/caf/messages.hpp>
#include <caisson/gate/async_function.hpp>
#include <caisson/gate/attempt.hpp>
#include <caisson/gate/guard.hpp>
#include <caisson/gate/result.hpp>

#include <asio/async_result.hpp>
#include <asio/awaitable.hpp>
#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/co_spawn.hpp>
#include <asio/strand.hpp>

#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace caisson {

/// An event loop for `run_awaitable`: the context of an executor of Asio. By
/// any thread. Make it once and share it: a guard has a timer for each loop
/// that has calls, and looks at all of these.
template <class Executor>
[[nodiscard]] std::shared_ptr<event_loop>
asio_event_loop(const Executor& executor) {
  return std::make_shared<detail::asio_loop>(executor);
}

namespace detail {

template <class A>
struct asio_awaitable;
template <class T, class Executor>
struct asio_awaitable<asio::awaitable<T, Executor>> {
  using value = T;
  using executor = Executor;
};

template <class F>
using asio_awaitable_of = asio_awaitable<
  std::decay_t<typename result_of_attempt<F>::type>>;

/// A call whose attempts are coroutines of Asio.
template <class F, class Handler, class Executor>
class asio_run final
  : public async_function<F, typename asio_awaitable_of<F>::value> {
public:
  using value = typename asio_awaitable_of<F>::value;
  using awaitable_executor = typename asio_awaitable_of<F>::executor;
  using operation = asio_result_operation<Handler, caisson::result<value>>;
  using strand = asio::strand<Executor>;
  /// Steps of an attempt and its cancellation do not run at the same time, if
  /// the type of its executor allows for a strand.
  using attempt_executor = std::conditional_t<
    std::is_convertible_v<strand, awaitable_executor>, strand, Executor>;

  asio_run(const Executor& executor, const std::shared_ptr<asio_loop>& loop,
           F f, exception_classifier classify,
           std::shared_ptr<operation> pending)
    : async_function<F, value>(loop, std::move(f), std::move(classify)),
      home_(std::make_shared<home>(make(executor), loop->operations())),
      pending_(std::move(pending)) {}

  /// To be called once.
  void end_with_context() {
    std::weak_ptr<async_call> link = this->weak_from_this();
    home_->enlist([link] {
      if (auto live = link.lock())
        live->cancel();
    });
  }

private:
  using home = asio_home<attempt_executor>;

  static attempt_executor make(const Executor& x) {
    if constexpr (std::is_same_v<attempt_executor, Executor>)
      return x;
    else
      return asio::make_strand(x);
  }

  void start(std::shared_ptr<async_attempt> x) override {
    auto executor = home_->executor();
    if (!executor)
      return; // The attempt is gone, and so is its context.
    auto signal = std::make_shared<asio::cancellation_signal>();
    auto done = [this, x, signal](const std::exception_ptr& thrown) {
      x->end(this->result_of(thrown), true);
    };
    asio::co_spawn(
      *executor, carry_out(x, signal),
      asio::bind_cancellation_slot(signal->slot(), std::move(done)));
  }

  // Listens from within the coroutine: a signal before its first step would end
  // it where Asio catches nothing.
  asio::awaitable<void, awaitable_executor>
  carry_out(std::shared_ptr<async_attempt> x,
            std::weak_ptr<asio::cancellation_signal> signal) {
    x->on_abandoned([where = home_, signal] {
      where->post([signal] {
        if (auto live = signal.lock())
          live->emit(asio::cancellation_type::terminal);
      });
    });
    if constexpr (std::is_void_v<value>) {
      co_await this->call(*x);
      this->value_of(*x).emplace();
    } else {
      this->value_of(*x).emplace(co_await this->call(*x));
    }
  }

  void post(std::function<void()> f) override { home_->post(std::move(f)); }

  // Its context has ended.
  void on_attempt_gone() override { this->cancel(); }

  void on_done() override {
    auto self = std::static_pointer_cast<asio_run>(this->shared_from_this());
    pending_->complete([self] { return self->take(); });
  }

  const std::shared_ptr<home> home_;
  const std::shared_ptr<operation> pending_;
};

template <class F, class Handler, class Executor>
void start_asio_run(Handler&& handler, guard& through, const Executor& executor,
                    F&& f, std::optional<call_options>&& options) {
  using run = asio_run<std::decay_t<F>, std::decay_t<Handler>, Executor>;
  auto pending = std::make_shared<typename run::operation>(std::move(handler));
  pending->listen_to_slot();
  pending->enlist();
  auto& host = guard_access::host_of(through);
  auto call = std::make_shared<run>(executor, loop_of(executor), std::move(f),
                                    host.classifier(), pending);
  call->end_with_context();
  call->begin(host, options ? &*options : nullptr);
  std::weak_ptr<run> link = call;
  pending->on_cancelled([link] {
    if (auto live = link.lock())
      live->cancel();
  });
}

template <class Executor, class F, class Token>
auto initiate_asio_run(guard& through, const Executor& executor, F&& f,
                       std::optional<call_options> options, Token& token) {
  using value = typename asio_awaitable_of<F>::value;
  return asio::async_initiate<Token, void(caisson::result<value>)>(
    [](auto&& handler, guard* g, Executor where, F what,
       std::optional<call_options> how) {
      start_asio_run(std::move(handler), *g, where, std::move(what),
                     std::move(how));
    },
    token, &through, executor, std::move(f), std::move(options));
}

} // namespace detail

/// The same as `guard::run`, for functions that return an `asio::awaitable`,
/// with a completion token of Asio: a callback that takes a `result<T>`, or
/// `use_awaitable`, `use_future` and others that give one. No thread waits for
/// the function, in a queue, or between two attempts.
///
///     auto r = co_await caisson::async_run(
///       payments, co_await asio::this_coro::executor,
///       [=](const caisson::attempt& a) -> asio::awaitable<receipt> {
///         co_return co_await charge(card, a.time_left());
///       },
///       asio::use_awaitable);
///
/// Attempts run by `executor`, each in one thread at a time, and timers in its
/// context. The handler runs by its associated executor, never within this
/// function; without one, by Asio's system executor. Its context has work until
/// then.
///
/// The call is answered in time, also if an attempt has not ended: that gets a
/// signal of type `terminal` for its operations, and `attempt::abandoned()`
/// says so. `f`, its `attempt` and the coroutine that it returned live until
/// that has ended, so what `f` refers to must live as long.
///
/// Emitting a signal at the handler's cancellation slot, of any type, cancels
/// the call, and the result is `cancelled`. If a context ends, its handlers are
/// destroyed and their calls cancelled, and attempts that it ran have failed;
/// if the guard ends, calls are answered with `cancelled`.
template <class Executor, class F, class Token>
auto async_run(guard& through, const Executor& executor, F f, Token&& token) {
  return detail::initiate_asio_run(through, executor, std::move(f),
                                   std::nullopt, token);
}

/// The same with options for this call, such as a key or a shorter deadline.
template <class Executor, class F, class Token>
auto async_run(guard& through, const Executor& executor, F f,
               call_options options, Token&& token) {
  return detail::initiate_asio_run(through, executor, std::move(f),
                                   std::optional{std::move(options)}, token);
}

} // namespace caisson
