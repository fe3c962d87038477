// Granted permits and their leases.
#pragma once

#include <caisson/caf/messages.hpp>
#include <caisson/engine/attempts.hpp>
#include <caisson/engine/engine_core.hpp>
#include <caisson/engine/next_step.hpp>

#include <cstddef>
#include <cstdint>
#include <unordered_map>

namespace caisson::detail {

/// Grants permits, and ends or prolongs their leases. Any actor that knows a
/// permit's number, which cannot be guessed, may release it. Only its holder
/// may prolong it, because it ends with the holder.
class leases {
public:
  leases(engine_core& core, attempts& attempts_part)
    : core_(core), attempts_(attempts_part) {}

  leases(const leases&) = delete;
  leases& operator=(const leases&) = delete;

  /// The call has passed all layers: its caller gets a permit, if there is time
  /// left for its work.
  [[nodiscard]] next_step grant(call_record& r);

  /// Returns the call whose permit that was, if it is known.
  [[nodiscard]] moved_call release(reply_slot&& from,
                                   const caisson::release& what);
  void renew(reply_slot&& from, const caisson::renew& what);

  /// The call with this permit is over.
  void forget(const call_record& r);

  /// The deadline of a call with a permit has been lifted: the one that is in
  /// force now is not beyond the end of its lease either.
  void limit(call_record& r) const;

  void clear() { held_.clear(); }

private:
  struct lease {
    call_id call = 0;
    /// It does not last longer, whoever prolongs it.
    time_point latest = never;
  };

  [[nodiscard]] call_record* find(std::uint64_t permit);
  [[nodiscard]] permit permit_of(const call_record& r) const;
  [[nodiscard]] time_point latest_end(call_record& r) const;
  void refuse(reply_slot& from);

  engine_core& core_;
  attempts& attempts_;
  std::unordered_map<std::uint64_t, lease> held_;
};

} // namespace caisson::detail
