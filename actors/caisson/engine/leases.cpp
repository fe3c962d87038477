#include <caisson/engine/leases.hpp>

#include <caisson/base/ensure.hpp>
#include <caisson/engine/execution.hpp>
#include <caisson/policy/call_number.hpp>

#include <algorithm>
#include <utility>

namespace caisson::detail {

namespace {

outcome outcome_after(const release& what) {
  auto result = what.failed ? release_outcome::failure : what.outcome;
  if (result == release_outcome::success)
    return outcome::success();
  // Another node may say anything.
  if (result != release_outcome::failure)
    return outcome::without_verdict();
  outcome o;
  o.ok = false;
  o.code = 1;
  o.category = category_hash("holder");
  return o;
}

} // namespace

next_step leases::grant(call_record& r) {
  CAISSON_ENSURE(r.lease && !r.granted, "call {} gets a permit",
                 call_number(r.id));
  CAISSON_ENSURE(r.where == phase::moving && r.permit == 0,
                 "call {} gets a permit while it is {}", call_number(r.id),
                 name_of(r.where));
  // A layer further in may have shortened its time after a turn was promised.
  if (r.begins >= r.deadline) {
    r.rejected_by = -1;
    return next_step::ascend(static_cast<int>(core_.layers.size()) - 1,
                             outcome::failure(errc::deadline_exceeded, false));
  }
  r.granted = true;
  attempts_.note_sent(r);
  r.sent_at = std::max(r.begins, core_.now());
  core_.calls.move_to(r, phase::leased);
  const lease x{r.id, time_after(r.sent_at, core_.config.max_lease)};
  do
    r.permit = core_.secrets.bits();
  while (r.permit == 0 || !held_.emplace(r.permit, x).second);
  limit(r);
  core_.callers.watch(r);
  core_.schedule(r);
  CAISSON_ENSURE(held_.size() == core_.calls.in(phase::leased),
                 "{} permits are held, and {} calls are leased", held_.size(),
                 core_.calls.in(phase::leased));
  core_.answer(r, caf::make_message(permit_of(r)));
  return {};
}

void leases::limit(call_record& r) const {
  auto latest = held_.at(r.permit).latest;
  if (latest >= r.deadline)
    return;
  // The gate's own deadline, whichever layer set the one that it replaces.
  r.deadline = latest;
  r.owner = -1;
}

// Times left, as the holder may be on another node.
permit leases::permit_of(const call_record& r) const {
  auto now = core_.now();
  return {r.permit, time_until(r.deadline, now), time_until(r.sent_at, now)};
}

void leases::forget(const call_record& r) {
  auto forgotten = held_.erase(r.permit);
  CAISSON_ENSURE(forgotten == 1, "call {} has no permit", call_number(r.id));
}

call_record* leases::find(std::uint64_t permit) {
  auto i = held_.find(permit);
  if (i == held_.end())
    return nullptr;
  auto* r = core_.calls.find(i->second.call);
  CAISSON_ENSURE(r && r->where == phase::leased,
                 "the permit of call {} is held, and the call is over",
                 call_number(i->second.call));
  core_.take_up(*r);
  return r;
}

// Of a permit that may be over, or that anybody has made up.
void leases::refuse(reply_slot& from) {
  ++core_.totals.no_such_permit;
  if (from.expects_reply())
    core_.host.answer(std::move(from), core_.refusal(errc::no_such_permit));
}

moved_call leases::release(reply_slot&& from, const caisson::release& what) {
  auto* r = find(what.id);
  if (!r) {
    refuse(from);
    return {};
  }
  if (from.expects_reply())
    core_.host.answer(std::move(from), caf::message{});
  CAISSON_ENSURE(r->permit == what.id && r->granted,
                 "the permit of call {} is another one", call_number(r->id));
  CAISSON_ENSURE(held_.size() == core_.calls.in(phase::leased),
                 "{} permits are held, and {} calls are leased", held_.size(),
                 core_.calls.in(phase::leased));
  // Given back before its turn, there was no work that could say anything.
  auto was_used = may_be_executing(core_, *r);
  auto o = was_used ? outcome_after(what) : outcome::without_verdict();
  o.may_have_executed = was_used;
  attempts_.measure(*r, o);
  attempts_.end(*r);
  if (was_used)
    mark_executed(*r);
  return {r, next_step::ascend(static_cast<int>(core_.layers.size()) - 1, o)};
}

void leases::renew(reply_slot&& from, const caisson::renew& what) {
  auto* r = find(what.id);
  // A local gate has only one caller.
  auto holder = r && r->watched ? r->watched->caller : 0;
  if (!r || from.caller() != holder)
    return refuse(from);
  ++core_.totals.renewals;
  auto now = core_.now();
  // What a layer has set does not move, and is earlier than what does.
  if (r->owner < 0) {
    auto requested_end = time_after(now, what.time_left == duration::zero()
                                           ? core_.config.default_deadline
                                           : what.time_left);
    r->deadline = std::max(r->deadline,
                           std::min(requested_end, latest_end(*r)));
    core_.schedule(*r);
  }
  CAISSON_ENSURE(r->permit == what.id && r->deadline > now,
                 "the lease of call {} is over", call_number(r->id));
  if (from.expects_reply())
    core_.host.answer(std::move(from), caf::make_message(permit_of(*r)));
}

time_point leases::latest_end(call_record& r) const {
  auto latest = held_.at(r.permit).latest;
  for (std::size_t k = 0; k < core_.layers.size(); ++k)
    if (is_inside(r, k) && core_.layers.active(k) == mode::enforce)
      latest = std::min(
        latest, core_.layers[k].machine->latest_end(r, r.layers[k].notes));
  return latest;
}

} // namespace caisson::detail
