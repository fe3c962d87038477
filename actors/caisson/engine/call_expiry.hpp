// Expiry and cancellation of calls.
#pragma once

#include <caisson/engine/attempts.hpp>
#include <caisson/engine/engine_core.hpp>
#include <caisson/engine/leases.hpp>
#include <caisson/engine/next_step.hpp>
#include <caisson/engine/upstream.hpp>

#include <cstddef>
#include <optional>
#include <string>

namespace caisson::detail {

/// What a layer has said at the end of a hold.
struct expired_hold {
  decision what;
  /// Which function of the user's threw, and what.
  std::optional<std::string> failure = {};
};

/// Knows what ends a wait: deadlines, the end of a hold, a caller that gives
/// up.
class call_expiry {
public:
  call_expiry(engine_core& core, attempts& attempts_part,
              upstream& upstream_part, const leases& leases_part)
    : core_(core), attempts_(attempts_part), upstream_(upstream_part),
      leases_(leases_part) {}

  call_expiry(const call_expiry&) = delete;
  call_expiry& operator=(const call_expiry&) = delete;

  // -- deadlines --------------------------------------------------------------

  /// What ends the call, if its deadline has come.
  [[nodiscard]] next_step overdue(call_record& r) {
    if (core_.now() < r.deadline) [[likely]]
      return {};
    return end_of_time(r);
  }

  /// The answer is no longer wanted.
  [[nodiscard]] next_step cancel();

  // -- holds ------------------------------------------------------------------

  /// Whether a layer holds the call, and no longer.
  [[nodiscard]] bool hold_is_over(const call_record& r) const;

  /// Asks the layer that holds the call what is next. Nothing: it holds it
  /// further.
  [[nodiscard]] std::optional<expired_hold> expire(call_record& r);

  /// The call has left its children, and is not held any more.
  [[nodiscard]] next_step end_hold(call_record& r, const expired_hold& x);

  // -- what is below ----------------------------------------------------------

  /// Takes the call away from all layers below `layer` and from the worker. Its
  /// children are the caller's to take away.
  void cut(call_record& r, int layer, const outcome& why);

private:
  next_step end_of_time(call_record& r);
  next_step deadline_hit(call_record& r);
  next_step deadline_of_call(call_record& r);
  void leave_place(call_record& r, const outcome& why);

  engine_core& core_;
  attempts& attempts_;
  upstream& upstream_;
  const leases& leases_;
};

} // namespace caisson::detail
