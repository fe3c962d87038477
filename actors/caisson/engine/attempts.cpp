#include <caisson/engine/attempts.hpp>

#include <caisson/base/ensure.hpp>
#include <caisson/caf/error.hpp>
#include <caisson/engine/error_replies.hpp>
#include <caisson/engine/transport_errc.hpp>
#include <caisson/policy/call_number.hpp>
#include <caisson/policy/callback.hpp>

#include <utility>

namespace caisson::detail {

namespace {

/// Keys of attempts have so many bits.
constexpr std::size_t key_bits = 59;

} // namespace

attempts::attempts(engine_core& core, target_table& targets)
  : core_(core), targets_(targets), factor_(core.secrets.bits() | 1),
    mask_(core.secrets.bits()) {}

// -- the way out --------------------------------------------------------------

void attempts::note_sent(call_record& r) {
  if (r.sent_at == never && !r.child)
    core_.times.record(measured::waits, true, core_.now() - r.arrived);
  r.sent_at = core_.now();
}

void attempts::send(call_record& r, target_id to) {
  CAISSON_ENSURE(r.where == phase::moving && r.attempt_key == 0,
                 "call {} is sent while it is {}", call_number(r.id),
                 name_of(r.where));
  ++core_.totals.attempts;
  ++r.sends;
  core_.calls.move_to(r, phase::in_flight);
  note_sent(r);
  // A permutation of the attempt's number: never twice the same, and known only
  // to the receiver.
  auto number = (++count_ * factor_) ^ mask_;
  r.attempt_key = (number << call_place_bits | r.index)
                  & ((std::uint64_t{1} << key_bits) - 1);
  r.target = to;
  core_.traces.begin_attempt(r);
  core_.schedule(r);
  auto content = core_.content_to_send(r);
  auto& target = targets_[to];
  target.calls.push_back(r);
  if (target.info.takes_calls)
    content = caf::make_message(
      call{std::move(content), options_of(r, target.info)});
  // Further attempts stand for themselves.
  r.stands_for = 0;
  r.attempt_number = core_.host.deliver(to, r.attempt_key, std::move(content),
                                        r.from.urgent());
}

call_options attempts::options_of(std::uint64_t key) const {
  auto* r = core_.calls.at(key & (call_table::capacity - 1));
  CAISSON_ENSURE(r && r->attempt_key == key, "attempt {} is not in flight",
                 key);
  return options_of(*r, targets_[r->target].info);
}

call_options attempts::options_of(const call_record& r,
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
  tracer::continue_in(o, r);
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

// -- the way back -------------------------------------------------------------

call_record* attempts::answered(std::uint64_t key) {
  auto* r = core_.calls.at(key & (call_table::capacity - 1));
  if (!r || r->where != phase::in_flight || r->attempt_key != key) {
    ++core_.totals.late_results;
    core_.layers.publish({.kind = event_kind::late_result});
    return nullptr;
  }
  CAISSON_ENSURE(r->link<by_target>::linked() && r->sends > 0,
                 "call {} was not sent", call_number(r->id));
  return r;
}

outcome attempts::take_answer(call_record& r, target_id from,
                              caf::message&& content) {
  r.reply = std::move(content);
  auto o = outcome_of(r.reply);
  CAISSON_ENSURE(o.reply == &r.reply, "call {} gets the answer of another one",
                 call_number(r.id));
  // A worker may answer with an error that it got from a gate elsewhere, which
  // says nothing about this call.
  auto is_gate = targets_[from].info.is_gate;
  if (!is_gate)
    o.may_have_executed = o.from_worker = true;
  else if (auto* err = o.ok ? nullptr : portable::get_if<caf::error>(r.reply))
    o.may_have_executed = caisson::may_have_executed(*err);
  // A gate may have made other attempts, of which the adapter knows nothing.
  auto executed_before = is_gate && o.may_have_executed;
  // Another actor, to which a layer may turn, says nothing about the worker.
  if (is_gate && o.own_error && from == worker_target)
    o.threshold = threshold_in(r.reply);
  classify(o);
  o.may_have_executed = o.may_have_executed || executed_before;
  if (o.may_have_executed)
    mark_executed(r);
  // Another actor may have done something before it passed on the error of an
  // adapter. Layers believe the classifier, callers need not.
  if (!is_gate && from != worker_target)
    r.may_have_executed |= std::uint64_t{1} << any_attempt;
  measure(r, o);
  return o;
}

void attempts::measure(const call_record& r, const outcome& o) {
  // A permit whose turn has not come was no attempt.
  if (r.sent_at > core_.now())
    return;
  core_.times.record(measured::attempts, o.ok || o.neutral,
                     core_.now() - r.sent_at);
  core_.traces.end_attempt(core_.now(), r, o);
}

void attempts::classify(outcome& o) {
  // What Caisson's own errors mean is known.
  if (o.own_error)
    return;
  CAISSON_ENSURE(o.reply, "an answer is classified, and there is none");
  const auto& content = *static_cast<const caf::message*>(o.reply);
  // Known without an adapter, as gates pass such errors on.
  if (!o.ok)
    if (auto known = transport_answer(content)) {
      o.unanswered = known->unanswered;
      o.out_of_time = known->out_of_time;
    }
  if (!core_.adapter)
    return;
  auto info = try_user([&] { return core_.adapter(content); },
                       [&](std::string_view what) {
                         core_.layers.note_failure(core_.layers.size(),
                                                   "classified_by", what);
                       })
                .value_or(std::nullopt)
                .value_or(answer_info{});
  if (info.kind > last_answer_class)
    info.kind = answer_class::unknown;
  ++core_.totals.answers[static_cast<std::size_t>(info.kind)];
  if (info.kind == answer_class::unknown)
    return;
  o.kind = info.kind;
  o.answer = info.code;
  o.max_attempts = info.max_attempts;
  o.retry_after = info.retry_after;
  o.unanswered = o.unanswered || info.unanswered;
  o.out_of_time = o.out_of_time || info.out_of_time;
  o.ok = o.ok && o.kind == answer_class::ok;
  o.may_have_executed = info.may_have_executed || o.ok;
}

} // namespace caisson::detail
