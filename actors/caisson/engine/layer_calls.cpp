#include <caisson/engine/layer_calls.hpp>

#include <caisson/policy/call_number.hpp>

namespace caisson::detail {

void abandon_in_layer(engine_core& core, call_record& r, std::size_t k,
                      const outcome& why, bool in_flight) {
  CAISSON_ENSURE(is_inside(r, k),
                 "call {} is taken from layer {}, which has not got it",
                 call_number(r.id), k);
  // The deadline is the host's, whatever a policy writes there.
  auto deadline = r.deadline;
  auto id = r.id;
  core.layers.run(k, [&](policy& p, env& e) {
    p.abandon(r, r.layers[k].notes, why, in_flight, e);
  });
  CAISSON_ENSURE(r.id == id, "layer {} gives call {} another id", k,
                 call_number(id));
  r.deadline = deadline;
  leave_layer(r, k);
}

void hold_in_layer(engine_core& core, call_record& r, std::size_t k,
                   time_point until) {
  CAISSON_ENSURE(is_inside(r, k) && r.where == phase::moving,
                 "layer {} holds call {}, which is {}", k, call_number(r.id),
                 name_of(r.where));
  CAISSON_ENSURE(r.inside >> k == 1 && r.children.empty(),
                 "layer {} holds call {}, which is in layers {:#x}", k,
                 call_number(r.id), r.inside);
  core.calls.move_to(r, phase::held);
  r.at = static_cast<std::int8_t>(k);
  r.hold_until = until;
  core.callers.watch(r);
  core.schedule(r);
}

} // namespace caisson::detail
