// The calls that policies start by themselves.
#pragma once

#include <caisson/engine/call_expiry.hpp>
#include <caisson/engine/engine_core.hpp>
#include <caisson/engine/next_step.hpp>

#include <cstddef>
#include <optional>
#include <vector>

namespace caisson::detail {

/// Starts children on behalf of their parents, and says which of them no parent
/// waits for. (What comes of them: `child_results`.)
class child_calls {
public:
  child_calls(engine_core& core, call_expiry& expiry)
    : core_(core), expiry_(expiry) {}

  child_calls(const child_calls&) = delete;
  child_calls& operator=(const child_calls&) = delete;

  // -- start ------------------------------------------------------------------

  /// Names a child of layer k that will be started.
  call_id make(std::size_t k, child_call request);

  /// For which parents the child is to be started. It has none before `start`.
  [[nodiscard]] std::vector<call_id> take_parents(call_record& child);

  /// The call `parent`, if the layer of the child still holds it; null if not.
  [[nodiscard]] call_record* held_parent(const call_record& child,
                                         call_id parent);

  /// Starts it, with those of `parents` that its layer still holds.
  [[nodiscard]] next_step start(call_record& child,
                                const std::vector<call_id>& parents);

  /// A call that layer k holds becomes a parent as well, unless its deadline
  /// has come: then that is what happens to it.
  [[nodiscard]] moved_call join(std::size_t k, call_id child, call_id parent);

  /// The child of that id, if layer k has started it; null if not.
  [[nodiscard]] call_record* child_of(std::size_t k, call_id child);

  // -- leaving ----------------------------------------------------------------

  /// The call is not held any more: its children go on without it. Hands those
  /// that nobody waits for to `give_up`.
  template <class F>
  void leave_all(call_record& parent, F give_up) {
    if (parent.children.empty()) [[likely]]
      return;
    for (auto id : take_children(parent))
      if (auto* c = leave(parent, id))
        give_up(*c);
  }

private:
  [[nodiscard]] std::vector<call_id> take_children(call_record& parent);
  [[nodiscard]] call_record* leave(call_record& parent, call_id child);
  bool attach(call_record& child, call_record& parent);
  void inherit(call_record& child, call_record& parent);
  void widen(call_record& child, const call_record& parent, bool first);
  void spread(call_record& child);
  void limit_by_layers(call_record& child);
  std::optional<next_step> fill(call_record& child,
                                std::vector<caf::message> contents);
  next_step send(call_record& child);

  engine_core& core_;
  call_expiry& expiry_;
};

} // namespace caisson::detail
