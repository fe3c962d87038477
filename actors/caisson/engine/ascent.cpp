#include <caisson/engine/ascent.hpp>

#include <caisson/base/ensure.hpp>
#include <caisson/engine/contract.hpp>
#include <caisson/engine/error_replies.hpp>
#include <caisson/engine/layer_calls.hpp>
#include <caisson/policy/call_number.hpp>

namespace caisson::detail {

// Inlined: it runs for each layer and call. The deadline is the host's but for
// `admit`, whatever a policy writes there.
[[gnu::always_inline]] inline decision
ascent::complete(call_record& r, std::size_t k, layer_entry& x, outcome& o) {
  auto deadline = r.deadline;
  auto d = core_.layers.run(k, x, [&](policy& p, env& e) {
    return p.complete(r, r.layers[k].notes, o, e);
  });
  r.deadline = deadline;
  return d;
}

bool ascent::pass(call_record& r, int last, outcome& o) {
  CAISSON_ENSURE(r.where == phase::moving && r.inside >> (last + 1) == 0,
                 "call {} goes up from layer {} while it is {} below",
                 call_number(r.id), last, name_of(r.where));
  auto layers = core_.layers.entries();
  CAISSON_ENSURE(last < static_cast<int>(layers.size()) && r.attempt_key == 0,
                 "call {} goes up from layer {} of {}", call_number(r.id), last,
                 layers.size());
  for (auto n = last; n >= 0; --n) {
    auto k = static_cast<std::size_t>(n);
    if (!is_inside(r, k))
      continue;
    // Of this attempt for the layers below one that repeats calls, of all of
    // them above it.
    o.may_have_executed = o.may_have_executed || may_have_executed(r, k);
    auto d = complete(r, k, layers[k], o);
    if (o.as_held) [[unlikely]] {
      o.as_held = false;
      r.rejected_by = r.layers[k].held_as;
    }
    if (d.what == decision::kind::pass && !core_.layers.has_failure())
      [[likely]]
      leave_layer(r, k);
    else if (!completed(r, k, d, o))
      return false;
  }
  return true;
}

// What is left to do when a layer has not just let an outcome pass. Returns
// whether it goes on up.
bool ascent::completed(call_record& r, std::size_t k, const decision& d,
                       outcome& o) {
  check_decision(d);
  auto enforced = core_.layers.active(k) == mode::enforce;
  auto failure = core_.layers.take_failure();
  if (!enforced)
    failure.reset();
  if (d.what == decision::kind::hold) {
    // A permit cannot be granted a second time to its holder.
    if ((enforced || d.in_all_modes) && !r.granted && !failure) {
      r.reply = caf::message{};
      hold_in_layer(core_, r, k, d.until);
      return false;
    }
    ++core_.layers[k].observed_passes;
    abandon_in_layer(core_, r, k, o, false);
  } else {
    leave_layer(r, k);
  }
  CAISSON_ENSURE(!is_inside(r, k), "call {} is past layer {}, which has it",
                 call_number(r.id), k);
  if (failure) {
    o = callback_reply(core_, r, k, *failure);
  } else if (d.what == decision::kind::reject && !enforced) {
    ++core_.layers[k].observed_passes;
  } else if (d.what == decision::kind::reject) {
    o = outcome::failure(d.code, o.may_have_executed, d.retry_after);
    r.rejected_by = static_cast<std::int8_t>(k);
  }
  return true;
}

} // namespace caisson::detail
