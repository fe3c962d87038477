// A gate inside the user's actor.
#pragma once

#include <caisson/caf/caf.hpp>
#include <caisson/caf/messages.hpp>
#include <caisson/caf/ticket.hpp>
#include <caisson/gate/detail/local_host.hpp>
#include <caisson/gate/detail/local_response.hpp>
#include <caisson/gate/worker.hpp>
#include <caisson/stack/stack.hpp>

#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace caisson {

/// A request through a local gate, created by `local_gate::request`. `then` or
/// `await` sends it.
template <class Handle, class... Ts>
class [[nodiscard]] local_request {
public:
  /// For `local_gate::request`: a message without options.
  local_request(std::shared_ptr<detail::local_host> host,
                caf::message&& payload)
    : host_(std::move(host)), payload_(std::move(payload)) {}
  /// For `local_gate::request`: an envelope and its options.
  local_request(std::shared_ptr<detail::local_host> host, call content)
    : host_(std::move(host)), payload_(std::move(content.payload)),
      options_(std::make_unique<call_options>(std::move(content.options))) {}

  // -- options ----------------------------------------------------------------

  /// Sets the deadline to `d` from now. If `d` is not positive, the call is
  /// refused as expired.
  local_request&& within(duration d) && {
    options().time_left = d > duration::zero() ? d : no_time_left;
    return std::move(*this);
  }
  /// Sets the deadline to `t`.
  local_request&& by(time_point t) && {
    options().deadline_ns = t.time_since_epoch().count();
    return std::move(*this);
  }
  /// Marks whether the call may be carried out twice.
  local_request&& idempotent(bool yes = true) && {
    options().idempotent = yes ? idempotence::yes : idempotence::no;
    return std::move(*this);
  }
  /// Higher is more important; 0 without this.
  local_request&& priority(std::int32_t p) && {
    options().priority = p;
    return std::move(*this);
  }
  /// 1 to 128; see `call_options::user_priority`.
  local_request&& user_priority(std::uint8_t p) && {
    options().user_priority = p;
    return std::move(*this);
  }
  /// The weight at semaphores and limiters; 1 without this, and 0 counts as 1.
  local_request&& permits(std::uint32_t n) && {
    options().permits = n;
    return std::move(*this);
  }
  /// Groups calls for policies that keep state per key; at most
  /// `max_key_length` bytes.
  local_request&& key(std::string k) && {
    options().key = std::move(k);
    return std::move(*this);
  }
  /// Names the call, so that a worker can recognise further attempts at it; at
  /// most `max_key_length` bytes.
  local_request&& idempotency_key(std::string k) && {
    options().idempotency_key = std::move(k);
    return std::move(*this);
  }
  /// Puts the call into a distributed trace; an invalid text has no effect.
  local_request&& traceparent(std::string x) && {
    options().traceparent = std::move(x);
    return std::move(*this);
  }
  /// What tracing systems know of that trace; an invalid one has no effect.
  local_request&& tracestate(std::string_view x) && {
    options().propagated.set_tracestate(x);
    return std::move(*this);
  }
  /// What the caller says of the call for all that it goes to; invalid members
  /// are left out.
  local_request&& baggage(std::string_view x) && {
    options().propagated.set_baggage(x);
    return std::move(*this);
  }

  // -- sending ----------------------------------------------------------------

  /// Sends the request. A value goes to `on_value`, whose parameters give the
  /// expected types (a single `caf::message` accepts any). An error goes to
  /// `on_error`, which takes a `caf::error&`. An answer of other types is the
  /// error `unexpected_response`. Exactly one of the two is called, once, by
  /// the call's deadline at the latest, unless the actor or the gate ends
  /// before. If the gate itself answers at once (an open breaker), this happens
  /// before `then` returns. Meanwhile the actor handles other messages.
  template <class F, class G>
  void then(F on_value, G on_error) && {
    std::move(*this).send(false, std::move(on_value), std::move(on_error));
  }

  /// As `then`, but the actor handles no other message until the answer
  /// arrives.
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
                std::move(payload_), options_.get());
  }

  // Most calls have none.
  call_options& options() {
    if (!options_)
      options_ = std::make_unique<call_options>();
    return *options_;
  }

  std::shared_ptr<detail::local_host> host_;
  caf::message payload_;
  std::unique_ptr<call_options> options_;
};

/// A stack of policies between an actor and a worker, inside that actor. A call
/// costs two messages, like a request without a gate, and a refused call costs
/// none.
///
///     class shop : public caf::event_based_actor {
///       caisson::local_gate<> payments_{
///         this, service, caisson::stack{"payments"}.breaker().retrier()};
///       …
///       payments_.request(charge{5}).then([](receipt& x) { … },
///                                         [](caf::error& e) { … });
///
/// It needs no handler in the actor's behaviour. Unlike a gate with its own
/// mailbox it has no handle, so other actors cannot share it, acquire its
/// permits, or operate it. Its own actor can. It is not thread-safe: use it
/// only in its actor's handlers.
///
/// It ends with its actor (as soon as that calls `quit`) or when it is
/// destroyed, whichever comes first; its handlers may do either. It then sends
/// `cancelled` for calls in flight to workers that handle it, stops a worker
/// that it supervises, and calls no more handlers. While calls are in progress
/// it keeps its actor alive, as requests do. If a supervised worker dies while
/// there are no calls, the next call respawns it.
///
/// `Handle` is the type of the worker's handle. With a typed one, requests are
/// checked at compile time, like CAF's own.
template <class Handle = caf::actor>
class local_gate {
public:
  /// Lives in `self`, an event-based actor. Throws `config_error` with every
  /// problem if the stack's configuration is not valid.
  local_gate(caf::scheduled_actor* self, worker behind, const stack& policies)
    : host_(detail::local_host::make(self, std::move(behind), policies)) {}

  /// The calls in progress go on in the new object. The other one can only be
  /// destroyed or assigned to.
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
    return {host_, caf::make_message(std::forward<Ts>(xs)...)};
  }

  /// A request with an envelope, for instance from another gate.
  local_request<Handle> request(call content) {
    return {host_, std::move(content)};
  }

  /// A request with an existing message.
  local_request<Handle> request_message(caf::message content) {
    return {host_, std::move(content)};
  }

  // -- permits ----------------------------------------------------------------

  /// Requests a permit. It goes to `on_ticket` as a `ticket`, an error goes to
  /// `on_error`. Destroy the ticket in a handler of this actor, or after the
  /// gate, but not in a function that a policy calls. It releases the permit
  /// without a message. If another request gets it, its handler runs later.
  template <class F, class G>
  void acquire(const caisson::acquire& what, F on_ticket, G on_error) {
    auto lend = [f = std::move(on_ticket),
                 host = std::weak_ptr{host_}](const permit& x) mutable {
      auto send = [host = std::move(host)](const release& end) {
        if (auto gate = host.lock())
          gate->release(end);
      };
      f(ticket{ticket::sender{std::move(send)}, x});
    };
    host_->acquire(
      std::make_unique<detail::response_handlers<decltype(lend), G>>(
        false, std::move(lend), std::move(on_error)),
      what);
  }

  /// Prolongs the lease of `held` to `time_left` from now; zero: the gate's
  /// default deadline. The permit with the time that is left goes to
  /// `on_permit`, an error to `on_error`.
  template <class F, class G>
  void renew(const ticket& held, duration time_left, F on_permit, G on_error) {
    host_->renew(std::make_unique<detail::response_handlers<F, G>>(
                   false, std::move(on_permit), std::move(on_error)),
                 held.renewal(time_left));
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

  /// Refuses new calls from now on, and calls `done` once the last call is
  /// answered; at once if the gate was stopped.
  template <class F>
  void drain(F done) {
    auto ignore = [](const caf::error&) {};
    host_->drain(
      std::make_unique<detail::response_handlers<F, decltype(ignore)>>(
        false, std::move(done), ignore));
  }

  /// Calls `f` with every event from now on, within the handler that causes it.
  /// An empty `f` ends this.
  void on_event(std::function<void(const event&)> f) {
    host_->listen_to_events(std::move(f));
  }

  /// Answers all calls with `cancelled`, including later ones. If there are
  /// many, other messages get their turn in between.
  void stop() { host_->stop(); }

private:
  std::shared_ptr<detail::local_host> host_;
};

/// In front of an actor with a typed interface: requests are checked.
template <class... Sigs>
local_gate(caf::scheduled_actor*, const caf::typed_actor<Sigs...>&,
           const stack&) -> local_gate<caf::typed_actor<Sigs...>>;
/// In front of an actor.
local_gate(caf::scheduled_actor*, const caf::actor&, const stack&)
  ->local_gate<caf::actor>;
/// In front of a worker of any other kind, such as a supervised one.
local_gate(caf::scheduled_actor*, worker, const stack&)->local_gate<caf::actor>;

} // namespace caisson
