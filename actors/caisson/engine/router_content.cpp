// What layers and targets get of calls.
#include <caisson/base/ensure.hpp>
#include <caisson/caf/error.hpp>
#include <caisson/engine/error_replies.hpp>
#include <caisson/engine/router.hpp>
#include <caisson/engine/upstream.hpp>

#include <utility>

namespace caisson::detail {

// -- layers that work on content ----------------------------------------------

decision router::admit_content(call_record& r, std::size_t k, policy& p,
                               env& e) {
  const auto& x = core_.layers[k];
  x.owner->examine(r.payload, e);
  if (!x.weighs)
    return p.admit(r, r.layers[k].notes, e);
  // For this layer only.
  auto permits = r.permits;
  auto is_known = x.owner->weigh(r.payload, r.permits, e);
  auto d = is_known ? p.admit(r, r.layers[k].notes, e)
                    : decision::reject(errc::callback_failed);
  r.permits = permits;
  return d;
}

// Returns whether layer k has answered the call before its policy sees it.
bool router::prefiltered(call_record& r, std::size_t k) {
  auto answer = core_.layers.run_content(
    k, [&](layer& l, env& e) { return l.prefilter(r.payload, e); });
  if (auto failure = core_.layers.take_failure()) {
    ascend(r, static_cast<int>(k) - 1, callback_reply(core_, r, k, *failure));
    return true;
  }
  if (!answer)
    return false;
  r.reply = std::move(*answer);
  auto o = outcome_of(r.reply);
  o.may_have_executed = o.from_worker = false;
  ascend(r, static_cast<int>(k) - 1, o);
  return true;
}

// -- targets that want to know more than the content --------------------------

call_options router::options_of(std::uint64_t key) const {
  auto* r = core_.calls.at(key & (call_table::capacity - 1));
  CAISSON_ENSURE(r && r->attempt_key == key, "attempt {} is not in flight",
                 key);
  return options_of(*r, core_.workers->target(r->target).info);
}

call_options router::options_of(const call_record& r,
                                const target_info& to) const {
  call_options o;
  o.priority = r.priority;
  o.user_priority = r.user_priority;
  o.stands_for = r.stands_for;
  o.permits = r.permits;
  o.attempt = r.attempt;
  o.idempotent = r.idempotent;
  o.key = r.key;
  o.idempotency_key = r.idempotency_key;
  o.traceparent = tracer::traceparent_of(r);
  o.path.reserve(r.path.size() + 1);
  o.path = r.path;
  o.path.push_back(core_.path_key);
  // The clocks of two nodes do not agree: only time left can cross.
  if (to.is_remote)
    o.time_left = time_until(r.deadline, core_.now());
  else if (r.deadline != never)
    o.deadline_ns = r.deadline.time_since_epoch().count();
  else
    o.time_left = unlimited;
  return o;
}

} // namespace caisson::detail
