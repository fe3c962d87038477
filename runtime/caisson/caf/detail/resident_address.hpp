// The part of hooks.hpp for addresses within an actor of the user's. Included
// by hooks.hpp only.
#pragma once

#include <mutex>

namespace caisson::portable {

/// The address of a resident: what is sent to it is put into its actor's
/// mailbox as an answer to the resident's standing request.
class resident_address final : public relay {
public:
  /// `echo` never comes through here.
  enum class kind : std::uint64_t { answer, timer, down, echo };

  resident_address(caf::actor_config& cfg, caf::weak_actor_ptr owner,
                   caf::message_id inlet)
    : relay(cfg), owner_(std::move(owner)), inlet_(inlet) {}

  using relay::unwatch;
  using relay::watch;

  /// From now on nothing refers to the actor, whose memory may be freed.
  void leave_owner() {
    std::lock_guard guard{mutex_};
    owner_ = nullptr;
  }

protected:
  bool receive(caf::mailbox_element_ptr what, run_context* on) override {
    auto key = what->mid.request_id().integer_value();
    if (what->mid.is_response())
      return put(kind::answer, key, content_of(*what), on);
    if (holds_one<caf::down_msg>(*what))
      return put(kind::down, 0, content_of(*what), on);
#if CAISSON_CAF_LEGACY
    // From the clock.
    if (holds_one<caf::timeout_msg>(*what))
      return put(kind::timer, 0, caf::message{}, on);
#else
    if (what->content().empty() && !what->sender)
      return put(kind::timer, 0, caf::message{}, on);
#endif
    return drop(*what);
  }

private:
  bool put(kind what, std::uint64_t key, caf::message&& content,
           run_context* on) {
    // An actor whose constructor throws is freed no matter who refers to it.
    std::lock_guard guard{mutex_};
    auto owner = caf::actor_cast<caf::strong_actor_ptr>(owner_);
    return owner
           && send(owner.get(), nullptr, inlet_,
                   caf::make_message(static_cast<std::uint64_t>(what), key,
                                     std::move(content)),
                   on);
  }

  // If the last other reference to the owner goes meanwhile, it ends in `put`.
  std::recursive_mutex mutex_;
  caf::weak_actor_ptr owner_;
  const caf::message_id inlet_;
};

} // namespace caisson::portable
