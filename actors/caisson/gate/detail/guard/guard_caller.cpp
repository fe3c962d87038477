#include <caisson/gate/detail/guard/guard_caller.hpp>

#include <caisson/caf/error.hpp>
#include <caisson/engine/answers.hpp>

#include <algorithm>
#include <utility>

namespace caisson::detail {

call_end end_of(guard_caller& caller) {
  auto o = outcome_of(*caller.answer);
  call_end out{{}, o.may_have_executed};
  if (auto* err = portable::get_if<caf::error>(*caller.answer))
    out.error = *err;
  out.retry_after = caisson::retry_after(out.error);
  // A policy's error is not what the function threw before it.
  if (!o.ok && !o.own_error) {
    out.thrown = std::move(caller.last.thrown);
    out.may_have_executed = caller.executed;
    if (caller.last.meaning)
      out.retry_after = std::max(caller.last.meaning->retry_after,
                                 duration::zero());
  }
  return out;
}

} // namespace caisson::detail
