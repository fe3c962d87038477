// Calls of a guard whose work is done somewhere else.
#pragma once

#include <caisson/gate/detail/guard/attempt_maker.hpp>
#include <caisson/gate/detail/guard/guard_core.hpp>
#include <caisson/gate/detail/guard/opened_call.hpp>

#include <cstdint>
#include <optional>

namespace caisson::detail {

/// Admits calls, or refuses them, and hands out tokens for those that are in.
/// A call lives from `open` to `close`.
class guard_admissions {
public:
  /// `core` must outlive this.
  explicit guard_admissions(guard_core& core) : core_(core) {}

  /// See `guard_host`. Both take the mutex, unless `close` is called within a
  /// step.
  opened_call open(call_options* options);
  void close(std::uint64_t token, const std::optional<attempt_result>& how);

private:
  struct admitted_caller;
  class late_close;

  void refuse_wait(admitted_caller& caller);
  void end(admitted_caller& caller, const std::optional<attempt_result>& how,
           time_point now);
  void withdraw(admitted_caller& caller, time_point now);

  guard_core& core_;
};

} // namespace caisson::detail
