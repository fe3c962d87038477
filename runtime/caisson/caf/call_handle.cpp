#include <caisson/caf/call_handle.hpp>

#include <caisson/caf/error.hpp>
#include <caisson/caf/hooks.hpp>
#include <caisson/caf/messages.hpp>

#include <utility>

namespace caisson {

namespace {

// Asks on behalf of another actor, so that the answer does not name its sender.
// For one request.
class messenger final : public portable::relay {
public:
  messenger(caf::actor_config& cfg, portable::reply_to from)
    : relay(cfg), from_(std::move(from)) {}

  const char* name() const override { return "caisson.messenger"; }

protected:
  // One answer comes, so that no two threads meet here.
  bool receive(caf::mailbox_element_ptr what,
               portable::run_context* on) override {
    if (!what->mid.is_response())
      return drop(*what);
    from_.answer(on, content_of(*what));
    close();
    return true;
  }

private:
  portable::reply_to from_;
};

class caller_side final : public portable::relay {
public:
  caller_side(caf::actor_config& cfg, caf::strong_actor_ptr gate)
    : relay(cfg), gate_(std::move(gate)) {}

  const char* name() const override { return "caisson.call_handle"; }

  [[nodiscard]] const caf::strong_actor_ptr& gate() const { return gate_; }

  void watch_gate() { watch(gate_); }

protected:
  bool receive(caf::mailbox_element_ptr what,
               portable::run_context* on) override {
    // No request is sent in the name of this address.
    if (what->mid.is_response())
      return true;
    if (holds_one<caf::down_msg>(*what))
      check_gate(*what);
    if (is_system(*what)
        || holds_any<reconfigure, command, subscribe, unsubscribe, drain,
                     detail::worker_made, detail::group_order,
                     detail::replace_stack>(*what)) {
      refuse(*what, on);
      return true;
    }
    if (holds_one<get_status>(*what))
      return ask_status(*what, on);
    if (holds_one<cancelled>(*what))
      return take_back(*what, on);
    return pass_on(gate_, std::move(what), on);
  }

  void on_gone() override { unwatch(gate_); }

private:
  // Any actor can send a down message, so its type alone proves nothing.
  void check_gate(const caf::mailbox_element& what) {
    if (!portable::is_down(caf::actor_cast<caf::actor>(gate_)))
      return;
#if CAISSON_CAF_LEGACY
    close(what.content().get_as<caf::down_msg>(0).reason);
#else
    close(what.payload.get_as<caf::down_msg>(0).reason);
#endif
  }

  static void refuse(caf::mailbox_element& what, portable::run_context* on) {
    portable::reply_to from{what};
    from.answer(on, caf::make_message(make_error(
                      errc::invalid_config,
                      rejection{"call_handle", duration::zero(), false,
                                "this handle is for calls only"})));
  }

  // CAF answers for the handler of the gate, in the gate's name.
  bool ask_status(caf::mailbox_element& what, portable::run_context* on) {
    auto id = what.mid;
    portable::reply_to from{what};
    if (!from.expects_reply())
      return true;
    auto& sys = home_system();
    auto asker = portable::make_relay<messenger>(sys, sys.next_actor_id(),
                                                 std::move(from));
    return send(gate_.get(), std::move(asker), id,
                caf::make_message(get_status{}), on);
  }

  // As above: a request would be answered with nothing, but by the gate.
  bool take_back(caf::mailbox_element& what, portable::run_context* on) {
    auto caller = what.sender;
    portable::reply_to from{what};
    from.answer(on, caf::message{});
    return send(gate_.get(), std::move(caller), caf::make_message_id(),
                content_of(what), on);
  }

  const caf::strong_actor_ptr gate_;
};

caller_side* as_call_handle(const caf::actor& x) {
  return x ? dynamic_cast<caller_side*>(
           caf::actor_cast<caf::abstract_actor*>(x))
           : nullptr;
}

} // namespace

call_handle::call_handle(const caf::actor& gate) : caf::actor(gate) {
  if (!gate || as_call_handle(gate))
    return;
  auto& sys = gate.home_system();
  auto relay_actor = portable::make_relay<caller_side>(
    sys, sys.next_actor_id(), caf::actor_cast<caf::strong_actor_ptr>(gate));
  static_cast<caf::actor&>(*this) = caf::actor_cast<caf::actor>(relay_actor);
  as_call_handle(*this)->watch_gate();
}

namespace detail {

caf::actor behind_call_handle(const caf::actor& x) {
  auto* handle = as_call_handle(x);
  return handle ? caf::actor_cast<caf::actor>(handle->gate()) : x;
}

} // namespace detail

} // namespace caisson
