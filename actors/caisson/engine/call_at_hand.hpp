// The state of the call that an engine moves, for texts of violated invariants.
#pragma once

#include <caisson/base/ensure.hpp>
#include <caisson/engine/engine_core.hpp>

#include <string>

namespace caisson::detail {

/// The call that was last taken up in this step, if it is not over.
class call_at_hand final : public work_at_hand {
public:
  explicit call_at_hand(engine_core& core) : core_(core) {}

  call_at_hand(const call_at_hand&) = delete;
  call_at_hand& operator=(const call_at_hand&) = delete;

  /// Such as `call 7: moving, attempts: 1, time left: 2.00 s, layers: retrier`.
  [[nodiscard]] std::string describe() const override;

private:
  engine_core& core_;
};

} // namespace caisson::detail
