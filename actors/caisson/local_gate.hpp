// A gate inside an actor of the user's.
#pragma once

#include <caisson/caf.hpp>
#include <caisson/detail/local_host.hpp>
#include <caisson/detail/local_response.hpp>
#include <caisson/messages.hpp>
#include <caisson/stack.hpp>
#include <caisson/worker.hpp>

#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace caisson {

/// A request through a local gate that nobody has sent yet: `then` or `await`
/// does. Made by `local_gate::request`.
template <class Handle, class... Ts>
class [[nodiscard]] local_request {
public:
  local_request(std::shared_ptr<detail::local_host> host, call content)
    : host_(std::move(host)), call_(std::move(content)) {}

  // -- options ----------------------------------------------------------------

  /// At most `d` until the answer, d > 0.
  local_request&& within(duration d) && {
    call_.options.time_left = d;
    return std::move(*this);
  }
  /// An answer at `t` at the latest.
  local_request&& by(time_point t) && {
    call_.options.deadline_ns = t.time_since_epoch().count();
    return std::move(*this);
  }
  /// The call may (not) be carried out twice.
  local_request&& idempotent(bool yes = true) && {
    call_.options.idempotent = yes ? idempotence::yes : idempotence::no;
    return std::move(*this);
  }
  local_request&& priority(std::int32_t p) && {
    call_.options.priority = p;
    return std::move(*this);
  }
  local_request&& permits(std::uint32_t n) && {
    call_.options.permits = n;
    return std::move(*this);
  }
  local_request&& key(std::string k) && {
    call_.options.key = std::move(k);
    return std::move(*this);
  }

  // -- sending ----------------------------------------------------------------

  /// Sends it. The value goes to `on_value`, whose parameters say what is
  /// expected (a single `caf::message` takes anything), an error to `on_error`,
  /// which takes a `caf::error&`; an answer of other types is the error
  /// `unexpected_response`. One of the two is called once, by the call's
  /// deadline at the latest, unless the actor or the gate ends before; if the
  /// gate itself answers at once (an open breaker), already before `then`
  /// returns. Meanwhile the actor handles other messages.
  template <class F, class G>
  void then(F on_value, G on_error) && {
    std::move(*this).send(false, std::move(on_value), std::move(on_error));
  }

  /// As `then`, but the actor handles no other message until the answer is
  /// here.
  template <class F, class G>
  void await(F on_value, G on_error) && {
    std::move(*this).send(true, std::move(on_value), std::move(on_error));
  }

private:
  template <class F, class G>
  void send(bool awaited, F on_value, G on_error) && {
    if constexpr (sizeof...(Ts) > 0)
      detail::check_request<Handle, F, Ts...>();
    host_->call(std::make_unique<detail::response_handlers<F, G>>(
                  awaited, std::move(on_value), std::move(on_error)),
                std::move(call_));
  }

  std::shared_ptr<detail::local_host> host_;
  call call_;
};

/// A stack of policies between an actor and a worker, inside that actor: a call
/// takes two messages, like a request without any gate, and one that is refused
/// takes none.
///
///     class shop : public caf::event_based_actor {
///       caisson::local_gate<> payments_{
///         this, service, caisson::stack{"payments"}.breaker().retrier()};
///       …
///       payments_.request(charge{5}).then([](receipt& x) { … },
///                                         [](caf::error& e) { … });
///
/// It needs no handler in the actor's behaviour. What a gate with a mailbox of
/// its own can do and this cannot: it has no handle, so that nobody else can
/// share it, be lent permits, or operate it. To be used in the handlers of its
/// actor only, from whose thread it is.
///
/// It ends with its actor or when it is destroyed, whichever comes first: what
/// is under way is cancelled behind it, a worker that it supervises is ended,
/// and handlers are not called any more. While calls are held, it keeps its
/// actor alive, as requests do. A supervised worker that dies while there are
/// no calls is made again at the next one.
///
/// `Handle` is the type of the worker's handle: with a typed one requests are
/// checked when they are compiled, as CAF's own are.
template <class Handle = caf::actor>
class local_gate {
public:
  /// Lives in `self`, an event-based actor. Throws `config_error`, with
  /// everything that is wrong, if the stack's configuration is not valid.
  local_gate(caf::scheduled_actor* self, worker behind, const stack& policies)
    : host_(detail::local_host::make(self, std::move(behind), policies)) {}

  local_gate(local_gate&&) noexcept = default;
  local_gate& operator=(local_gate&& other) noexcept {
    if (host_ && host_ != other.host_)
      host_->abandon();
    host_ = std::move(other.host_);
    return *this;
  }

  ~local_gate() {
    if (host_)
      host_->abandon();
  }

  // -- calls ------------------------------------------------------------------

  /// A request with the message `xs...`.
  template <class... Ts>
  local_request<Handle, std::decay_t<Ts>...> request(Ts&&... xs) {
    return {host_, call{caf::make_message(std::forward<Ts>(xs)...), {}}};
  }

  /// A request with an envelope, such as another gate may have sent.
  local_request<Handle> request(call content) {
    return {host_, std::move(content)};
  }

  /// A request with a message that is already built.
  local_request<Handle> request_message(caf::message content) {
    return {host_, call{std::move(content), {}}};
  }

  // -- operation --------------------------------------------------------------

  /// As a gate answers `get_status`.
  [[nodiscard]] status get_status() { return host_->get_status(); }

  /// Changes settings of a layer; on an error nothing has changed.
  caf::error reconfigure(const caisson::reconfigure& x) {
    return host_->apply(x);
  }

  /// An operator's word.
  caf::error command(const caisson::command& x) { return host_->apply(x); }

  /// Refuses new calls from now on, and calls `done` once the last one is
  /// answered.
  template <class F>
  void drain(F done) {
    auto ignore = [](const caf::error&) {};
    host_->drain(
      std::make_unique<detail::response_handlers<F, decltype(ignore)>>(
        false, std::move(done), ignore));
  }

  /// Gets every event from now on, in the handler that causes it; empty:
  /// nobody does.
  void on_event(std::function<void(const event&)> f) {
    host_->listen_to_events(std::move(f));
  }

  /// Answers everything with `cancelled`, and every later request, too.
  void stop() { host_->stop(); }

private:
  std::shared_ptr<detail::local_host> host_;
};

template <class... Sigs>
local_gate(caf::scheduled_actor*, const caf::typed_actor<Sigs...>&,
           const stack&) -> local_gate<caf::typed_actor<Sigs...>>;
local_gate(caf::scheduled_actor*, const caf::actor&, const stack&)
  ->local_gate<caf::actor>;
local_gate(caf::scheduled_actor*, worker, const stack&)->local_gate<caf::actor>;

} // namespace caisson
