// Answers and counts a call whose outcome has passed all layers.
#pragma once

#include <caisson/engine/engine_core.hpp>
#include <caisson/engine/leases.hpp>

namespace caisson::detail {

/// Ends calls that are no children: counts them, and answers their callers.
class call_finish {
public:
  call_finish(engine_core& core, leases& leases_part)
    : core_(core), leases_(leases_part) {}

  call_finish(const call_finish&) = delete;
  call_finish& operator=(const call_finish&) = delete;

  /// No layer has the call any more. Its record is given back.
  void finish(call_record& r, const outcome& o);

private:
  void tally(const call_record& r, bool ok);

  engine_core& core_;
  leases& leases_;
};

} // namespace caisson::detail
