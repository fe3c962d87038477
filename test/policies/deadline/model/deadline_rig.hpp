// Helpers of the deadline's unit tests.
#pragma once

#include <caisson/policies/deadline/deadline.hpp>

#include <support/rig.hpp>

#include <utility>

namespace caisson::test {

class deadline_rig : public rig<deadline> {
public:
  explicit deadline_rig(deadline_config c) : rig(std::move(c)) {}

  /// A call arrives to which the host has given so much time, by default.
  call_id arrive_by_default(duration left) {
    call_info call;
    call.default_deadline = true;
    return arrive_with(left, call);
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
