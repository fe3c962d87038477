// Hosts of throttles, for tests of them.
#pragma once

#include <caisson/policies/throttle.hpp>

#include <support/rig.hpp>

#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

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
    std::vector<call_id> ids;
    for (int i = 0; i < accepted + refused; ++i)
      ids.push_back(arrive());
    for (int i = 0; i < accepted + refused; ++i) {
      if (i < accepted)
        finish(ids[static_cast<std::size_t>(i)]);
      else
        fail(ids[static_cast<std::size_t>(i)], errc::shed, false);
      calls.erase(ids[static_cast<std::size_t>(i)]);
    }
  }

  /// Whether a call that comes now is let through; it is answered at once with
  /// what `worker` gives, and then forgotten.
  bool offer(const std::function<outcome()>& worker) {
    auto id = arrive();
    auto passes = where(id) == place::below;
    if (passes)
      finish(id, worker());
    calls.erase(id);
    return passes;
  }
};

} // namespace caisson::test::throttling
