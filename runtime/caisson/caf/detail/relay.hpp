// The part of hooks.hpp for addresses that are not actors: messages to them are
// passed on, or not, in the thread of the sender. Included by hooks.hpp only.
#pragma once

namespace caisson::portable {

#if CAISSON_CAF_LEGACY
using relay_base = caf::monitorable_actor;
using run_context = caf::execution_unit;
#else
using relay_base = caf::abstract_actor;
using run_context = caf::scheduler;
#endif

/// An address with a mailbox somewhere else. It can be sent to, watched and
/// published like an actor, but has no thread and no behaviour, and does not
/// keep the actor system from ending. It lives as long as there is a handle to
/// it, and is down for its watchers from `close` on.
///
/// `receive` runs in the threads of the senders, several at a time.
class relay : public relay_base {
public:
  explicit relay(caf::actor_config& cfg) : relay_base(cfg) {}

  const char* name() const override { return "caisson.relay"; }

  /// Notifies the watchers of this address that it is down, and why. Further
  /// calls do nothing.
  void close(caf::error why = caf::exit_reason::normal) {
    this->cleanup(std::move(why), nullptr);
  }

#if CAISSON_CAF_LEGACY
  using relay_base::enqueue;

  void enqueue(caf::mailbox_element_ptr what, run_context* on) override {
    receive(std::move(what), on);
  }

  void on_destroy() override {
    on_gone();
    close(caf::exit_reason::unreachable);
  }

  // Only CAF's network asks an address to link itself, because another node
  // said so. If that node names the same address twice, CAF waits for itself.
  void add_link(caf::abstract_actor*) override {}
  void remove_link(caf::abstract_actor*) override {}
#else
  bool enqueue(caf::mailbox_element_ptr what, run_context* on) override {
    return receive(std::move(what), on);
  }

  // What CAF asks of an actor that it makes: there is nothing to measure.
  void setup_metrics() {}
#endif

  /// Puts `content` into the mailbox behind `to`, as if `from` had sent it
  /// under the number `id`.
  static void send_on(const caf::actor& to, caf::strong_actor_ptr from,
                      caf::message_id id, caf::message&& content,
                      run_context* on) {
    send(caf::actor_cast<caf::actor_control_block*>(to), std::move(from), id,
         std::move(content), on);
  }

protected:
#if !CAISSON_CAF_LEGACY
  void on_unreachable() override {
    on_gone();
    relay_base::on_unreachable();
  }
#endif

  /// Called once the last handle is gone.
  virtual void on_gone() {}

  /// Takes a message. Returns false if it will never be handled.
  virtual bool receive(caf::mailbox_element_ptr what, run_context* on) = 0;

  /// Asks for a down message once `x` has ended; at once if it has already.
  void watch(const caf::strong_actor_ptr& x) {
    x->get()->attach(caf::default_attachable::make_monitor(x->get()->address(),
                                                           this->address()));
  }

  void unwatch(const caf::strong_actor_ptr& x) {
    x->get()->detach(caf::default_attachable::observe_token{
      this->address(), caf::default_attachable::monitor});
  }

  /// Hands the message on as if it had been sent there.
  static bool pass_on(const caf::strong_actor_ptr& to,
                      caf::mailbox_element_ptr what, run_context* on) {
#if CAISSON_CAF_LEGACY
    to->enqueue(std::move(what), on);
    return true;
#else
    return to->enqueue(std::move(what), on);
#endif
  }

  /// Sends `content` with the sender and the number of another actor.
  static bool send(caf::actor_control_block* to, caf::strong_actor_ptr from,
                   caf::message_id id, caf::message&& content,
                   run_context* on) {
#if CAISSON_CAF_LEGACY
    to->enqueue(std::move(from), id, std::move(content), on);
    return true;
#else
    return to->enqueue(
      caf::make_mailbox_element(std::move(from), id, std::move(content)), on);
#endif
  }

  /// Takes the content out of a message.
  static caf::message content_of(caf::mailbox_element& what) {
#if CAISSON_CAF_LEGACY
    return what.move_content_to_message();
#else
    return std::move(what.payload);
#endif
  }

  /// Whether the message is from a `relay_timer` with that number.
  static bool is_from_timer(const caf::mailbox_element& what,
                            [[maybe_unused]] std::uint64_t number) {
#if CAISSON_CAF_LEGACY
    return holds_one<caf::timeout_msg>(what)
           && what.content().get_as<caf::timeout_msg>(0).timeout_id == number;
#else
    return what.content().empty() && !what.sender && !what.mid.is_response();
#endif
  }

  /// Drops the message; a request gets `request_receiver_down`.
  static bool drop(const caf::mailbox_element& what) {
    caf::detail::sync_request_bouncer bounce{
      caf::make_error(caf::sec::request_receiver_down)};
    bounce(what);
    return false;
  }

  /// Whether this is a message of CAF's own: actors do something else with it
  /// than call a handler of theirs.
  static bool is_system(const caf::mailbox_element& what) {
    // Messages of streams can come under a category of their own, and are
    // believed to be what it says.
    if (what.mid.category() > caf::message_id::normal_message_category)
      return true;
#if CAISSON_CAF_LEGACY
    auto& content = what.content();
    return holds_any<caf::exit_msg, caf::down_msg, caf::error, caf::timeout_msg,
                     caf::group_down_msg, caf::open_stream_msg,
                     caf::upstream_msg, caf::downstream_msg>(what)
           || (content.size() > 0 && content.match_element<caf::atom_value>(0)
               && content.get_as<caf::atom_value>(0) == caf::sys_atom_v);
#else
    return holds_any<caf::exit_msg, caf::down_msg, caf::node_down_msg,
                     caf::error, caf::timeout_msg, caf::action,
                     caf::stream_open_msg, caf::stream_demand_msg,
                     caf::stream_cancel_msg, caf::stream_ack_msg,
                     caf::stream_batch_msg, caf::stream_close_msg,
                     caf::stream_abort_msg>(what)
           || (what.payload.size() > 0
               && what.payload.type_at(0) == caf::type_id_v<caf::sys_atom>);
#endif
  }

  /// Whether the message is exactly one element of one of the types Ts.
  template <class... Ts>
  static bool holds_any(const caf::mailbox_element& what) {
    return (holds_one<Ts>(what) || ...);
  }

  /// Whether the message is exactly one element of type T.
  template <class T>
  static bool holds_one(const caf::mailbox_element& what) {
#if CAISSON_CAF_LEGACY
    auto& content = what.content();
    return content.size() == 1 && content.match_element<T>(0);
#else
    return what.content().match_elements<T>();
#endif
  }

#if !CAISSON_CAF_LEGACY

private:
  void force_close_mailbox() override {
    // There is none.
  }
#endif
};

/// A timer of a relay, which the clock keeps alive until it fires or is
/// cancelled.
class relay_timer {
public:
  relay_timer() = default;

  relay_timer(caf::actor_system& sys, const caf::strong_actor_ptr& to,
              time_point at, [[maybe_unused]] std::uint64_t number) {
#if CAISSON_CAF_LEGACY
    to_ = to->get();
    clock_ = &sys.clock();
    clock_->set_ordinary_timeout(at, to_, type, number);
#else
    pending_ = sys.clock().schedule_message(
      at, to,
      caf::make_mailbox_element(nullptr, caf::make_message_id(),
                                caf::message{}));
#endif
  }

  /// Not in the thread of the clock. @pre it has not fired
  void cancel() {
#if CAISSON_CAF_LEGACY
    if (to_)
      clock_->cancel_ordinary_timeout(std::exchange(to_, nullptr), type);
#else
    pending_.dispose();
#endif
  }

private:
#if CAISSON_CAF_LEGACY
  static constexpr auto type = caf::atom("caisson");

  caf::abstract_actor* to_ = nullptr;
  caf::actor_clock* clock_ = nullptr;
#else
  caf::disposable pending_;
#endif
};

/// Makes a relay of class T, with an id that no other address has.
template <class T, class... Ts>
caf::strong_actor_ptr make_relay(caf::actor_system& sys, caf::actor_id id,
                                 Ts&&... xs) {
  caf::actor_config cfg;
  return caf::make_actor<T, caf::strong_actor_ptr>(id, sys.node(), &sys, cfg,
                                                   std::forward<Ts>(xs)...);
}

/// As above. Its id is derived from that of `owner`, so that the ids of actors
/// do not depend on how many relays there are.
template <class T, class... Ts>
caf::strong_actor_ptr make_relay(const caf::abstract_actor& owner,
                                 std::uint64_t id_bit, Ts&&... xs) {
  return make_relay<T>(owner.home_system(), owner.id() | id_bit,
                       std::forward<Ts>(xs)...);
}

/// The address from which an actor sends requests: it passes only answers, to
/// the actor if that still exists. An actor that keeps a request keeps this
/// address alive, not the actor behind it.
class return_address final : public relay {
public:
  static constexpr std::uint64_t id_bit = std::uint64_t{1} << 62;

  /// Set in the numbers of all requests that are sent from here.
  static constexpr std::uint64_t request_bit = std::uint64_t{1} << 59;

  return_address(caf::actor_config& cfg, caf::weak_actor_ptr owner)
    : relay(cfg), owner_(std::move(owner)) {}

#if !CAISSON_CAF_LEGACY
  /// Whether this is an answer that came through `by`. Its content is one
  /// `caf::message`, that of the answer. Another node can forge the rest.
  static bool is_passed_on(const caf::mailbox_element& what,
                           const caf::strong_actor_ptr& by) {
    return what.mid.is_answered() && what.sender == by
           && holds_one<caf::message>(what);
  }
#endif

protected:
  bool receive(caf::mailbox_element_ptr what, run_context* on) override {
    if (!accepts(*what))
      return drop(*what);
    auto owner = caf::actor_cast<caf::strong_actor_ptr>(owner_);
    if (!owner)
      return false;
#if !CAISSON_CAF_LEGACY
    make_passable(*what);
#endif
    return pass_on(owner, std::move(what), on);
  }

private:
#if CAISSON_CAF_LEGACY
  static bool accepts(const caf::mailbox_element& what) {
    // The second is from the clock.
    return what.mid.is_response() || holds_one<caf::timeout_msg>(what);
  }
#else
  static bool accepts(const caf::mailbox_element& what) {
    // The second is what an owner that has ended returns to the sender.
    return what.mid.is_response() && !what.mid.is_answered()
           && (what.mid.request_id().integer_value() & request_bit) != 0;
  }

  // CAF shows responses to handlers that are made for one each, and keeps these
  // until the response comes. Requests that nobody is to answer go to the
  // actor's behavior, where a content of the worker's could be taken for a
  // message of CAF's or of the gate's own.
  void make_passable(caf::mailbox_element& what) {
    auto id = what.mid.request_id();
    if (!what.mid.is_urgent_message())
      id = id.with_normal_priority();
    id.mark_as_answered();
    what.mid = id;
    what.sender = caf::strong_actor_ptr{ctrl()};
    what.payload = caf::make_message(std::move(what.payload));
  }
#endif

  const caf::weak_actor_ptr owner_;
};

} // namespace caisson::portable
