// Hosts of throttles, for tests of them.
#pragma once

#include <caisson/policies/throttle.hpp>

#include <support/rig.hpp>

#include <utility>

namespace caisson::test::throttling {

/// Rejects by the formula alone: nothing else lets a call pass, and the
/// probability comes as close to 1 as it can.
inline throttle_config bare() {
  throttle_config c;
  c.max_rejection = 0.999999;
  c.min_rate = 0;
  c.pass_after = unlimited;
  return c;
}

/// Hosts one layer, and plays the worker behind it.
class throttle_rig : public rig<throttle> {
public:
  explicit throttle_rig(throttle_config c = bare()) : rig(std::move(c)) {}

  /// So many calls are accepted and so many refused, all at this instant. They
  /// are in flight together, so that none of them is rejected here if none was
  /// before.
  void end_together(int accepted, int refused) {
    for (auto id : arrive_together(accepted + refused)) {
      if (accepted-- > 0)
        finish(id);
      else
        fail(id, errc::shed, false);
      calls.erase(id);
    }
  }
};

} // namespace caisson::test::throttling
