// The calls that policies start by themselves.
#pragma once

#include <caisson/engine/engine_core.hpp>

#include <cstddef>
#include <optional>
#include <vector>

namespace caisson::detail {

/// Starts children on behalf of their parents, hands their outcome to the
/// policy that asked, and gives up those that no parent waits for.
class child_calls {
public:
  explicit child_calls(engine_core& core) : core_(core) {}

  /// Names a child of layer k that will be started.
  call_id make(std::size_t k, child_call wish);

  /// Starts it: with those of its parents that layer k still holds.
  void start(call_id child);

  void join(std::size_t k, call_id child, call_id parent);

  /// Layer k has no use for it; its parents stay held.
  void cancel(std::size_t k, call_id child);

  /// The child has its outcome.
  void finish(call_record& child, const outcome& o);

  /// The call is not held any more: its children go on without it.
  void leave_all(call_record& parent);

  /// Whether `r` is a call that layer k holds, with or without children.
  [[nodiscard]] bool holds(std::size_t k, const call_record* r) const;

private:
  [[nodiscard]] static bool waits_for(const call_record* parent, call_id child);
  bool attach(call_record& child, call_record& parent);
  void inherit(call_record& child, call_record& parent);
  void widen(call_record& child, const call_record& parent, bool first);
  void spread(call_record& child);
  void limit_by_layers(call_record& child);
  bool fill(call_record& child, std::vector<caf::message> contents);
  void send(call_record& child);
  void detach(call_record& parent, call_id child);
  void give_up(call_record& child);
  void hand_over(const child_state& state, call_id child, outcome result,
                 caf::message whole, std::int8_t rejected_by, bool sent);

  engine_core& core_;
};

} // namespace caisson::detail
