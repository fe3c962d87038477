// Helpers of the deadline's unit tests.
#pragma once

#include <caisson/policies/deadline/deadline.hpp>

#include <support/rig.hpp>

#include <utility>

namespace caisson::test {

class deadline_rig : public rig<deadline> {
public:
  explicit deadline_rig(deadline_config c) : rig(std::move(c)) {}

  /// A call with so much time left arrives, which its caller asked for or the
  /// host gave it by default.
  call_id arrive_with(duration left, bool by_default = false) {
    call_info call;
    call.deadline = left == unlimited ? never : e.now + left;
    call.default_deadline = by_default;
    return arrive(call);
  }

  /// How much time the call has left as the layers below see it.
  [[nodiscard]] duration left(call_id id) const {
    return time_until(calls.at(id).call.deadline, e.now);
  }

  decision expire(call_id id) { return pass_deadline(id, true); }
};

inline deadline_config limited_to(duration timeout,
                                  duration min_left = duration::zero()) {
  deadline_config c;
  c.timeout = timeout;
  c.min_left = min_left;
  return c;
}

} // namespace caisson::test
