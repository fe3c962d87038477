// The state of the call that an engine moves, for texts of violated invariants.
#pragma once

#include <caisson/base/ensure.hpp>
#include <caisson/engine/engine_core.hpp>

#include <string>

namespace caisson::detail {

/// The call that was last taken up in this step, if it is not over.
class current_call final : public current_work {
public:
  explicit current_call(engine_core& core) : core_(core) {}

  current_call(const current_call&) = delete;
  current_call& operator=(const current_call&) = delete;

  /// Such as `call 7: moving, attempts: 1, time left: 2.00 s, layers: outer`.
  [[nodiscard]] std::string describe() const override;

private:
  engine_core& core_;
};

} // namespace caisson::detail
