// Expiry and cancellation of calls.
#pragma once

#include <caisson/engine/engine_core.hpp>

namespace caisson::detail {

class call_expiry {
public:
  explicit call_expiry(engine_core& core) : core_(core) {}

  /// The call's timer has gone off.
  void fire(call_record& r);

  /// Ends the call if its deadline has come. Returns whether it is gone from
  /// here.
  bool overdue(call_record& r);

  /// Takes the call away from all layers below `layer`, from its children and
  /// from the worker.
  void cut(call_record& r, int layer, const outcome& why);

  /// The answer is no longer wanted.
  void cancel(call_record& r);

  /// Whether the present attempt may have executed.
  [[nodiscard]] bool may_be_executing(const call_record& r);

  /// Whether a child with its content goes on if it leaves: that may reach a
  /// worker later.
  [[nodiscard]] bool is_pursued_without(const call_record& r);

private:
  void expire(call_record& r, std::size_t k);
  bool deadline_hit(call_record& r);
  void deadline_of_call(call_record& r);

  engine_core& core_;
};

} // namespace caisson::detail
