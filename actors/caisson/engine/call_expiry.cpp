#include <caisson/engine/call_expiry.hpp>

#include <caisson/base/ensure.hpp>
#include <caisson/engine/contract.hpp>
#include <caisson/engine/default_deadline.hpp>
#include <caisson/engine/error_replies.hpp>
#include <caisson/engine/execution.hpp>
#include <caisson/engine/layer_calls.hpp>
#include <caisson/policy/call_number.hpp>

#include <utility>

namespace caisson::detail {

// -- holds --------------------------------------------------------------------

bool call_expiry::hold_is_over(const call_record& r) const {
  auto is_held = r.where == phase::held || r.where == phase::delegated;
  return is_held && core_.now() >= r.hold_until;
}

std::optional<expired_hold> call_expiry::expire(call_record& r) {
  auto k = static_cast<std::size_t>(r.at);
  CAISSON_ENSURE(is_inside(r, k), "call {} is held outside of layer {}",
                 call_number(r.id), k);
  CAISSON_ENSURE(r.inside >> k == 1 && r.attempt_key == 0,
                 "call {} is held by layer {}, and in layers {:#x}",
                 call_number(r.id), k, r.inside);
  auto deadline = r.deadline;
  auto id = r.id;
  auto d = core_.layers.run(
    k, [&](policy& p, env& e) { return p.expire(r, r.layers[k].notes, e); });
  CAISSON_ENSURE(r.id == id, "layer {} gives call {} another id", k,
                 call_number(id));
  r.deadline = deadline;
  check_decision(d);
  auto failure = core_.layers.take_failure();
  if (failure && core_.layers.active(k) == mode::enforce)
    return expired_hold{d, std::move(failure)};
  if (d.what == decision::kind::hold) {
    r.hold_until = d.until;
    core_.schedule(r);
    return std::nullopt;
  }
  return expired_hold{d};
}

next_step call_expiry::end_hold(call_record& r, const expired_hold& x) {
  CAISSON_ENSURE(r.children.empty()
                   && is_held_by(static_cast<std::size_t>(r.at), &r),
                 "the hold of call {} is over while it is {}",
                 call_number(r.id), name_of(r.where));
  auto k = static_cast<std::size_t>(r.at);
  if (!x.failure && x.what.what == decision::kind::pass)
    return next_step::descend(k + 1);
  core_.calls.move_to(r, phase::moving);
  if (!x.failure) {
    leave_layer(r, k);
    r.rejected_by = r.at;
    return next_step::ascend(
      r.at - 1, outcome::failure(x.what.code, false, x.what.retry_after));
  }
  if (x.what.what == decision::kind::reject)
    leave_layer(r, k);
  else
    abandon_in_layer(
      core_, r, k,
      outcome::failure(errc::callback_failed, may_have_executed(r, k)), false);
  return next_step::ascend(r.at - 1, callback_reply(core_, r, k, *x.failure));
}

// -- deadlines ----------------------------------------------------------------

next_step call_expiry::end_of_time(call_record& r) {
  while (core_.now() >= r.deadline)
    if (auto s = deadline_hit(r))
      return s;
  return {};
}

// Returns nothing if the deadline was lifted, so that the outer one is in
// force.
next_step call_expiry::deadline_hit(call_record& r) {
  if (may_be_executing(core_, r))
    mark_executed(r);
  if (r.owner < 0)
    return deadline_of_call(r);
  auto k = static_cast<std::size_t>(r.owner);
  CAISSON_ENSURE(is_inside(r, k),
                 "call {} has left layer {}, and its deadline "
                 "has not",
                 call_number(r.id), k);
  auto d = core_.layers.run(k, [&](policy& p, env& e) {
    return p.deadline_passed(r, r.layers[k].notes, e);
  });
  check_decision(d);
  if (d.what == decision::kind::pass
      || core_.layers.active(k) != mode::enforce) {
    ++core_.layers[k].observed_passes;
    r.deadline = r.layers[k].outer_deadline;
    r.owner = std::exchange(r.layers[k].outer_owner, layer_notes::none);
    CAISSON_ENSURE(r.owner != layer_notes::none, "layer {} has set no deadline",
                   k);
    // The call is still below.
    if (r.owner == default_replaced)
      use_default_deadline(r, core_);
    if (r.where == phase::leased)
      leases_.limit(r);
    return {};
  }
  return next_step::cut_off(static_cast<int>(k),
                            outcome::failure(d.code, false, d.retry_after));
}

// The caller's own deadline, or the gate's default: no layer is above it.
next_step call_expiry::deadline_of_call(call_record& r) {
  ++core_.totals.expired;
  core_.layers.publish({.kind = event_kind::expired, .call = r.id});
  return next_step::cut_off(-1,
                            outcome::failure(errc::deadline_exceeded, false));
}

next_step call_expiry::cancel() {
  ++core_.totals.cancelled;
  return next_step::cut_off(-1, outcome::failure(errc::cancelled, false));
}

// -- what is below ------------------------------------------------------------

// `may_have_executed` is what each layer knows: of this attempt if it is below
// one that repeats calls, of all of them if it is above it.
void call_expiry::cut(call_record& r, int layer, const outcome& why) {
  CAISSON_ENSURE(
    r.where != phase::free
      && (layer < 0 || is_inside(r, static_cast<std::size_t>(layer))),
    "layer {} ends call {}, which is {}", layer, call_number(r.id),
    name_of(r.where));
  auto held_by = r.where == phase::held ? r.at : -1;
  // A layer that rejects it while another call is cut has let it go.
  auto rejected_by = -1;
  if (r.at >= 0 && is_held_by(static_cast<std::size_t>(r.at), &r)
      && core_.layers.rejects(static_cast<std::size_t>(r.at), r.id))
    rejected_by = r.at;
  auto executing = may_be_executing(core_, r);
  // As if it was given back: no work has begun that could say anything.
  auto is_unused = r.where == phase::leased && !executing;
  if (executing || is_pursued_without(core_, r))
    mark_executed(r);
  leave_place(r, why);
  for (auto n = static_cast<int>(core_.layers.size()) - 1; n > layer; --n) {
    auto k = static_cast<std::size_t>(n);
    if (!is_inside(r, k))
      continue;
    auto seen = is_unused ? outcome::without_verdict() : why;
    seen.may_have_executed = may_have_executed(r, k);
    if (n == rejected_by)
      leave_layer(r, k);
    else
      abandon_in_layer(core_, r, k, seen, n != held_by && !is_unused);
  }
  CAISSON_ENSURE(r.inside >> (layer + 1) == 0,
                 "call {} is below layer {} when it is cut off",
                 call_number(r.id), layer);
}

// Wherever it is, it is there no more.
void call_expiry::leave_place(call_record& r, const outcome& why) {
  if (r.where == phase::in_flight || r.where == phase::leased)
    attempts_.measure(r, why);
  if (r.where == phase::in_flight)
    upstream_.recall(r, why);
  else if (r.where == phase::waiting)
    upstream_.stop_waiting(r);
  else if (r.where == phase::leased)
    core_.layers.publish({.kind = event_kind::lease_ended,
                          .detail = name_of(static_cast<errc>(why.code)),
                          .call = r.id});
  attempts_.end(r);
  r.hold_until = never;
}

} // namespace caisson::detail
