#include <caisson/engine/call_finish.hpp>

#include <caisson/base/ensure.hpp>
#include <caisson/engine/dead_letters.hpp>
#include <caisson/engine/error_replies.hpp>
#include <caisson/policy/call_number.hpp>

#include <utility>

namespace caisson::detail {

namespace {

// Its caller has ended, or has taken it back. The sender of a plain send waits
// for nothing, so that its end takes nothing back.
bool is_withdrawn(const call_record& r, const outcome& o) {
  return r.from.expects_reply() && !o.reply && r.rejected_by < 0
         && o.is(errc::cancelled);
}

} // namespace

void call_finish::finish(call_record& r, const outcome& o) {
  CAISSON_ENSURE(r.where == phase::moving && !r.child,
                 "call {} ends while it is {}", call_number(r.id),
                 name_of(r.where));
  core_.totals.count_end(o);
  auto ok = o.ok || o.neutral;
  core_.times.record(measured::calls, ok, core_.now() - r.arrived);
  if (!r.lease)
    tally(r, ok);
  // One that was answered by a batch, or without the worker, is not a failed
  // wait.
  if (r.sent_at == never && !o.ok && !may_have_executed(r)) {
    CAISSON_ENSURE(!r.granted && r.permit == 0,
                   "call {} has permit {}, and nothing was sent for it",
                   call_number(r.id), r.permit);
    core_.times.record(measured::waits, false, core_.now() - r.arrived);
  }
  core_.traces.end_call(core_.now(), r, o);
  core_.callers.release(r);
  core_.timers.cancel(r.timer);
  if (r.permit != 0)
    leases_.forget(r);
  auto is_dead_letter = !ok && core_.may_be_dead_letter(r)
                        && !is_withdrawn(r, o);
  if (r.from.expects_reply() || is_dead_letter) {
    auto content = o.reply ? reply_from_below(r, o) : error_reply(core_, r, o);
    if (is_dead_letter)
      send_dead_letter(core_, r, content);
    core_.answer(r, std::move(content));
  }
  core_.calls.put_back(r);
}

void call_finish::tally(const call_record& r, bool ok) {
  core_.needs.record(tallied::attempts, ok, r.sends);
  if (r.limit != never)
    core_.needs.record(tallied::limit_used, ok,
                       share_used(r.arrived, core_.now(), r.limit));
}

} // namespace caisson::detail
