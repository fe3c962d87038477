#include <caisson/engine/execution.hpp>

#include <caisson/base/ensure.hpp>
#include <caisson/policy/call_number.hpp>

namespace caisson::detail {

bool may_be_executing(engine_core& core, const call_record& r) {
  if (r.where == phase::delegated) {
    // One whose outcome is being handed over is gone, and has marked it.
    for (auto id : r.children)
      if (auto* c = core.calls.find(id);
          c && (may_have_executed(*c) || may_be_executing(core, *c)))
        return true;
    return false;
  }
  if (r.where == phase::held)
    return core.layers.acknowledges(r.id);
  // Nobody begins before the turn that was promised.
  return r.where == phase::in_flight
         || (r.where == phase::leased && r.sent_at <= core.now());
}

bool is_pursued_without(engine_core& core, const call_record& r) {
  for (auto id : r.children)
    if (auto* c = core.calls.find(id); c) {
      CAISSON_ENSURE(c->child && c->id != r.id,
                     "call {} is no child, and call {} has it", call_number(id),
                     call_number(r.id));
      if (c->child->waiting > 1 || is_pursued_without(core, *c))
        return true;
    }
  return false;
}

} // namespace caisson::detail
