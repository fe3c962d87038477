#include <caisson/engine/call_expiry.hpp>

#include <caisson/base/ensure.hpp>
#include <caisson/engine/child_calls.hpp>
#include <caisson/engine/contract.hpp>
#include <caisson/engine/default_deadline.hpp>
#include <caisson/engine/error_replies.hpp>
#include <caisson/engine/router.hpp>
#include <caisson/engine/upstream.hpp>

#include <utility>

namespace caisson::detail {

namespace {

bool is_held(const call_record& r) {
  return r.where == phase::held || r.where == phase::delegated;
}

} // namespace

void call_expiry::fire(call_record& r) {
  r.timer_at = never;
  if (overdue(r))
    return;
  if (!is_held(r) || core_.now() < r.hold_until)
    return core_.schedule(r); // Set for a hold, or a deadline, that is over.
  expire(r, static_cast<std::size_t>(r.at));
}

void call_expiry::expire(call_record& r, std::size_t k) {
  CAISSON_ENSURE(is_inside(r, k), "call {} is held outside of layer {}",
                 call_table::number_of(r.id), k);
  auto deadline = r.deadline;
  auto d = core_.layers.run(
    k, [&](policy& p, env& e) { return p.expire(r, r.layers[k].notes, e); });
  r.deadline = deadline;
  check_decision(d);
  auto failure = core_.layers.take_failure();
  if (failure && core_.layers.active(k) == mode::enforce) {
    core_.children->leave_all(r);
    core_.calls.move_to(r, phase::moving);
    if (d.what == decision::kind::reject)
      core_.route->leave(r, k);
    else
      core_.route->abandon(
        r, k, outcome::failure(errc::callback_failed, may_have_executed(r, k)),
        false);
    return core_.route->ascend(r, r.at - 1,
                               callback_reply(core_, r, k, *failure));
  }
  if (d.what == decision::kind::hold) {
    r.hold_until = d.until;
    return core_.schedule(r);
  }
  core_.children->leave_all(r);
  if (d.what == decision::kind::pass)
    return core_.route->descend(r, k + 1);
  core_.calls.move_to(r, phase::moving);
  core_.route->leave(r, k);
  r.rejected_by = r.at;
  core_.route->ascend(r, r.at - 1,
                      outcome::failure(d.code, false, d.retry_after));
}

bool call_expiry::may_be_executing(const call_record& r) {
  if (r.where == phase::delegated) {
    // One whose outcome is being handed over is gone, and has marked it.
    for (auto id : r.children)
      if (auto* c = core_.calls.find(id);
          c && (may_have_executed(*c) || may_be_executing(*c)))
        return true;
    return false;
  }
  // Nobody begins before the turn that was promised.
  return r.where == phase::in_flight
         || (r.where == phase::leased && r.sent_at <= core_.now());
}

bool call_expiry::overdue(call_record& r) {
  while (core_.now() >= r.deadline)
    if (deadline_hit(r))
      return true;
  return false;
}

bool call_expiry::is_pursued_without(const call_record& r) {
  for (auto id : r.children)
    if (auto* c = core_.calls.find(id);
        c && (c->child->waiting > 1 || is_pursued_without(*c)))
      return true;
  return false;
}

// Returns false if the deadline was lifted, so that the outer one is in force.
bool call_expiry::deadline_hit(call_record& r) {
  if (may_be_executing(r))
    mark_executed(r);
  if (r.owner < 0) {
    deadline_of_call(r);
    return true;
  }
  auto k = static_cast<std::size_t>(r.owner);
  CAISSON_ENSURE(is_inside(r, k),
                 "call {} has left layer {}, and its deadline "
                 "has not",
                 call_table::number_of(r.id), k);
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
    return false;
  }
  auto o = outcome::failure(d.code, false, d.retry_after);
  cut(r, static_cast<int>(k), o);
  core_.route->leave(r, k);
  r.rejected_by = static_cast<std::int8_t>(k);
  core_.route->ascend(r, static_cast<int>(k) - 1, o);
  return true;
}

// The caller's own deadline, or the gate's default: no layer is above it.
void call_expiry::deadline_of_call(call_record& r) {
  ++core_.totals.expired;
  core_.layers.publish({.kind = event_kind::expired, .call = r.id});
  auto o = outcome::failure(errc::deadline_exceeded, false);
  cut(r, -1, o);
  r.rejected_by = -1;
  core_.route->finish(r, o);
}

// `may_have_executed` is what each layer knows: of this attempt if it is below
// a retrier, of all of them if it is above it.
void call_expiry::cut(call_record& r, int layer, const outcome& why) {
  auto held_by = r.where == phase::held ? r.at : -1;
  // A layer that rejects it while another call is cut has let it go.
  auto rejected_by = -1;
  if (is_held(r) && core_.layers.rejects(static_cast<std::size_t>(r.at), r.id))
    rejected_by = r.at;
  auto executing = may_be_executing(r);
  // As if it was given back: no work has begun that could say anything.
  auto is_unused = r.where == phase::leased && !executing;
  if (executing || is_pursued_without(r))
    mark_executed(r);
  if (r.where == phase::in_flight || r.where == phase::leased)
    core_.route->measure_attempt(r, why);
  if (r.where == phase::in_flight)
    core_.workers->recall(r, why);
  else if (r.where == phase::waiting)
    core_.workers->stop_waiting(r);
  else if (r.where == phase::leased)
    core_.layers.publish({.kind = event_kind::lease_ended,
                          .detail = name_of(static_cast<errc>(why.code)),
                          .call = r.id});
  core_.route->end_attempt(r);
  r.hold_until = never;
  for (auto n = static_cast<int>(core_.layers.size()) - 1; n > layer; --n) {
    auto k = static_cast<std::size_t>(n);
    if (!is_inside(r, k))
      continue;
    auto seen = is_unused ? outcome::without_verdict() : why;
    seen.may_have_executed = may_have_executed(r, k);
    if (n == rejected_by)
      core_.route->leave(r, k);
    else
      core_.route->abandon(r, k, seen, n != held_by && !is_unused);
  }
  core_.children->leave_all(r);
}

void call_expiry::cancel(call_record& r) {
  ++core_.totals.cancelled;
  auto o = outcome::failure(errc::cancelled, false);
  cut(r, -1, o);
  r.rejected_by = -1;
  core_.route->finish(r, o);
}

} // namespace caisson::detail
