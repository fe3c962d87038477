// A stack of policies around functions, for threads and without actors.
#pragma once

#include <caisson/caf/error.hpp>
#include <caisson/engine/answers.hpp>
#include <caisson/gate/admission.hpp>
#include <caisson/gate/attempt.hpp>
#include <caisson/gate/detail/guard/guard_host.hpp>
#include <caisson/gate/result.hpp>
#include <caisson/stack/stack.hpp>

#include <atomic>
#include <concepts>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace caisson {

namespace detail {

struct guard_access;

/// What an exception means, and its text. Calls `classify` if it may know more.
[[nodiscard]] attempt_result
thrown_result(const exception_classifier& classify);

/// For an answer that is no error and no value of the function.
[[nodiscard]] caf::error no_value_error();

/// Calls the user's function.
template <class F, class T>
class function_maker final : public attempt_maker {
public:
  using stored_type = typename result<T>::stored_type;

  static constexpr bool takes_attempt = std::invocable<F&, const attempt&>;

  function_maker(F& f, const exception_classifier& classify)
    : attempt_maker(takes_attempt), f_(f), classify_(classify) {}

  attempt_result make(const call_options& x,
                      const std::atomic<bool>& abandoned) override {
    try {
      const attempt a{x, abandoned};
      if constexpr (std::is_void_v<T>) {
        call(a);
        value_.emplace();
      } else {
        value_.emplace(call(a));
      }
      return {};
    } catch (...) {
      return thrown_result(classify_);
    }
  }

  [[nodiscard]] result<T> take(call_end x) {
    if (x.error == caf::none && value_)
      return result<T>{std::move(*value_)};
    // A policy of the user's has answered, with a message.
    if (x.error == caf::none)
      x.error = no_value_error();
    return result<T>{std::move(x)};
  }

private:
  decltype(auto) call(const attempt& a) {
    if constexpr (takes_attempt)
      return f_(a);
    else
      return f_();
  }

  F& f_;
  const exception_classifier& classify_;
  std::optional<stored_type> value_;
};

template <class F>
struct result_of_attempt : std::invoke_result<F&> {};
template <class F>
  requires std::invocable<F&, const attempt&>
struct result_of_attempt<F> : std::invoke_result<F&, const attempt&> {
};

} // namespace detail

/// A stack of policies around functions that the calling thread runs: the same
/// policies as in a gate, without actors, messages or threads of its own.
///
///     caisson::guard payments{caisson::stack{"payments"}
///                               .deadline({.timeout = 2s})
///                               .retrier({.idempotent = true})
///                               .breaker()
///                               .semaphore({.permits = 20})};
///
///     auto r = payments.run([&](const caisson::attempt& a) {
///       return charge(card, a.time_left());
///     });
///     if (!r)
///       log(r.text());
///
/// Safe to use from any number of threads: they share its state. A thread
/// waits in `run` while a semaphore or limiter holds its call, and between two
/// attempts. A function that runs cannot be interrupted: its call is answered
/// in time, but `run` returns when the function does; give it `time_left()` as
/// its own limit.
///
/// Policies that work on messages or send them need a gate: batcher, cache,
/// canary, fallback, and a retrier that verifies. Their stack is rejected.
class guard {
public:
  /// Throws `config_error` with every problem of the stack. `classify` says
  /// what exceptions mean; without an opinion they are failures. Called by any
  /// thread.
  explicit guard(const stack& policies, exception_classifier classify = {})
    : host_(std::make_unique<detail::guard_host>(nullptr, policies,
                                                 std::move(classify))) {}

  /// The same with the retry budgets, feature flags and metrics of `sys`, which
  /// must live longer.
  guard(caf::actor_system& sys, const stack& policies,
        exception_classifier classify = {})
    : host_(std::make_unique<detail::guard_host>(&sys, policies,
                                                 std::move(classify))) {}

  /// With another clock; for tests.
  guard(const stack& policies, detail::guard_clock& clock,
        exception_classifier classify = {})
    : host_(std::make_unique<detail::guard_host>(nullptr, policies,
                                                 std::move(classify), clock)) {}

  /// Not while other threads use either of them.
  guard(guard&&) noexcept = default;
  guard& operator=(guard&&) noexcept = default;

  /// Stops, and waits until no thread is in `run` any more.
  ~guard() = default;

  // -- calls ------------------------------------------------------------------

  /// Calls `f`, with an `attempt` if it takes one, as often as the policies
  /// say, in this thread. What `f` returns is a success, what it throws a
  /// failure. Throws nothing that `f` does. `f` may use this and other guards.
  template <class F>
  auto run(F&& f) {
    return run_with(f, nullptr);
  }

  /// The same with options for this call, such as a key or a shorter deadline.
  template <class F>
  auto run(F&& f, call_options options) {
    return run_with(f, &options);
  }

  /// Admits work that this guard does not run, such as a stream, or refuses it.
  /// It passes the layers at once: where it would have to wait for a permit or
  /// a token, it is refused with `queue_full`. Retriers repeat nothing. A
  /// deadline, the default one of 30 s, too, is over for the layers when it
  /// comes, with the permits; it ends no work. `.time_left = unlimited` is
  /// none.
  [[nodiscard]] admission admit() { return {*host_, host_->open(nullptr)}; }

  /// The same with options for this work.
  [[nodiscard]] admission admit(call_options options) {
    return {*host_, host_->open(&options)};
  }

  // -- operation --------------------------------------------------------------

  /// The same as a gate's answer to `get_status`.
  [[nodiscard]] status get_status() { return host_->get_status(); }

  /// Changes settings of a layer; on an error nothing changes.
  caf::error reconfigure(const caisson::reconfigure& x) {
    return host_->apply(x);
  }

  /// Carries out an operator's command.
  caf::error command(const caisson::command& x) { return host_->apply(x); }

  /// Refuses new calls from now on, and returns once the last call is answered.
  /// Not within a function that this guard calls.
  void drain() { host_->drain(); }

  /// Calls `f` with every event from now on, in order, by the threads that
  /// cause them, one at a time. What it throws is ignored. An empty `f` ends
  /// this.
  void on_event(std::function<void(const event&)> f) {
    host_->listen_to_events(std::move(f));
  }

  /// Answers all calls with `cancelled`, including later ones.
  void stop() { host_->stop(); }

private:
  template <class F>
  auto run_with(F& f, call_options* options) {
    using value = std::decay_t<typename detail::result_of_attempt<F>::type>;
    detail::function_maker<F, value> maker{f, host_->classifier()};
    return maker.take(host_->call(options, maker));
  }

  friend struct detail::guard_access;

  std::unique_ptr<detail::guard_host> host_;
};

namespace detail {

/// For asynchronous calls.
struct guard_access {
  static guard_host& host_of(guard& x) { return *x.host_; }
};

} // namespace detail

} // namespace caisson
