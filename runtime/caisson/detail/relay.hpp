// The part of caf.hpp for addresses that are no actors of their own: what is
// sent to them is handed on, or not, in the thread of the sender. Included by
// caf.hpp only.
#pragma once

namespace caisson::rt {

#if CAISSON_CAF_LEGACY
using relay_base = caf::monitorable_actor;
using run_context = caf::execution_unit;
#else
using relay_base = caf::abstract_actor;
using run_context = caf::scheduler;
#endif

/// An address with a mailbox somewhere else. It can be sent to, watched and
/// published like an actor, but has no thread, no behaviour, and no say in when
/// the actor system ends. It lives as long as somebody holds a handle, and is
/// down for those who watch it from `close` on.
///
/// `receive` runs in the threads of those who send, several at a time.
class relay : public relay_base {
public:
  explicit relay(caf::actor_config& cfg) : relay_base(cfg) {}

  const char* name() const override { return "caisson.relay"; }

  /// Tells those who watch this address that it is down. Further calls do
  /// nothing.
  void close() { this->cleanup(caf::exit_reason::normal, nullptr); }

#if CAISSON_CAF_LEGACY
  using relay_base::enqueue;

  void enqueue(caf::mailbox_element_ptr what, run_context* on) override {
    receive(std::move(what), on);
  }
#else
  bool enqueue(caf::mailbox_element_ptr what, run_context* on) override {
    return receive(std::move(what), on);
  }

  // What CAF asks of an actor that it makes: there is nothing to measure.
  void setup_metrics() {}
#endif

protected:
  /// Takes a message. Returns false if nobody will ever see it.
  virtual bool receive(caf::mailbox_element_ptr what, run_context* on) = 0;

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

  /// Drops the message; whoever waits for an answer hears that nobody is here.
  static bool drop(const caf::mailbox_element& what) {
    caf::detail::sync_request_bouncer bounce{
      caf::make_error(caf::sec::request_receiver_down)};
    bounce(what);
    return false;
  }

  /// The type of system messages that end an actor.
  static bool is_exit(const caf::mailbox_element& what) {
    return holds_one<caf::exit_msg>(what);
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

/// Makes a relay of class T. Its id is derived from that of `owner`, so that the
/// ids of actors do not depend on how many relays there are.
template <class T, class... Ts>
caf::strong_actor_ptr make_relay(const caf::abstract_actor& owner,
                                 std::uint64_t id_bit, Ts&&... xs) {
  caf::actor_config cfg;
  return caf::make_actor<T, caf::strong_actor_ptr>(
    owner.id() | id_bit, owner.node(), &owner.home_system(), cfg,
    std::forward<Ts>(xs)...);
}

/// The address under which an actor sends requests: what comes back is handed
/// to the actor if it is still there, and nothing else is. Whoever keeps a
/// request keeps this address alive, not the actor behind it.
class return_address final : public relay {
public:
  static constexpr std::uint64_t id_bit = std::uint64_t{1} << 62;

  return_address(caf::actor_config& cfg, caf::weak_actor_ptr owner)
    : relay(cfg), owner_(std::move(owner)) {}

protected:
  bool receive(caf::mailbox_element_ptr what, run_context* on) override {
    auto wanted = what->mid.is_response();
#if CAISSON_CAF_LEGACY
    // From the clock.
    wanted = wanted || holds_one<caf::timeout_msg>(*what);
#endif
    if (!wanted)
      return drop(*what);
    auto owner = caf::actor_cast<caf::strong_actor_ptr>(owner_);
    return owner && pass_on(owner, std::move(what), on);
  }

private:
  const caf::weak_actor_ptr owner_;
};

} // namespace caisson::rt
