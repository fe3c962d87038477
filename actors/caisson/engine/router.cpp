#include <caisson/engine/router.hpp>

#include <caisson/base/ensure.hpp>
#include <caisson/caf/error.hpp>
#include <caisson/engine/call_expiry.hpp>
#include <caisson/engine/child_calls.hpp>
#include <caisson/engine/contract.hpp>
#include <caisson/engine/dead_letters.hpp>
#include <caisson/engine/default_deadline.hpp>
#include <caisson/engine/error_replies.hpp>
#include <caisson/engine/leases.hpp>
#include <caisson/engine/transport_errc.hpp>
#include <caisson/engine/upstream.hpp>
#include <caisson/policy/callback.hpp>

#include <algorithm>
#include <utility>

namespace caisson::detail {

namespace {

/// Keys of attempts have so many bits.
constexpr std::size_t key_bits = 59;

// Its caller has ended, or has taken it back. The sender of a plain send waits
// for nothing, so that its end takes nothing back.
bool is_withdrawn(const call_record& r, const outcome& o) {
  return r.from.expects_reply() && !o.reply && r.rejected_by < 0
         && o.is(errc::cancelled);
}

std::uint64_t bit(std::size_t layer) {
  return std::uint64_t{1} << layer;
}

} // namespace

router::router(engine_core& core)
  : core_(core), attempt_factor_(core.secrets.bits() | 1),
    attempt_mask_(core.secrets.bits()) {}

// -- one turn of a layer ------------------------------------------------------

// Inlined: they run for each layer and call.

// Layer k is asked by `f`. Returns whether the call goes on to the next one.
template <class F>
[[gnu::always_inline]] inline bool
router::admit_by(call_record& r, std::size_t k, layer_entry& x, mode act, F f) {
  const admission_before before{r.deadline, r.default_deadline};
  auto id = r.id;
  auto d = core_.layers.run(k, x, f);
  if (d.what == decision::kind::pass && act == mode::enforce && r.id == id
      && r.deadline == before.deadline
      && r.default_deadline == before.by_default && !core_.layers.has_failure())
    [[likely]] {
    r.inside |= bit(k);
    return true;
  }
  CAISSON_ENSURE(r.id == id
                   && (r.deadline <= before.deadline || before.by_default),
                 "{} gives call {} what is not its own", x.owner->name(),
                 call_table::number_of(id));
  return admitted(r, k, act, d, before);
}

[[gnu::always_inline]] inline bool router::admit(call_record& r, std::size_t k,
                                                 layer_entry& x, mode act) {
  // In one turn, so that what a function threw at either is seen below.
  return admit_by(r, k, x, act, [&](policy& p, env& e) {
    if (x.handles_content) [[unlikely]]
      return admit_content(r, k, p, e);
    return p.admit(r, r.layers[k].notes, e);
  });
}

// The deadline is the host's but for `admit`, whatever a policy writes there.
[[gnu::always_inline]] inline decision
router::complete(call_record& r, std::size_t k, layer_entry& x, outcome& o) {
  auto deadline = r.deadline;
  auto d = core_.layers.run(k, x, [&](policy& p, env& e) {
    return p.complete(r, r.layers[k].notes, o, e);
  });
  r.deadline = deadline;
  return d;
}

[[gnu::always_inline]] inline void router::let_go(call_record& r,
                                                  std::size_t k) {
  r.inside &= ~bit(k);
  if (r.lease) [[unlikely]]
    r.begins = r.layers[k].outer_begins;
  if (auto& outer = r.layers[k].outer_owner; outer != layer_notes::none) {
    r.owner = std::exchange(outer, layer_notes::none);
    r.deadline = r.layers[k].outer_deadline;
  }
}

// -- down ---------------------------------------------------------------------

void router::descend(call_record& r, std::size_t first) {
  CAISSON_ENSURE(r.inside >> first == 0 && r.attempt_key == 0,
                 "call {} goes down from layer {} while it is below",
                 call_table::number_of(r.id), first);
  core_.calls.move_to(r, phase::moving);
  r.hold_until = never;
  // It may have been held until this instant.
  if (core_.ends->overdue(r))
    return;
  // The layer that limited the attempt before may be off by now.
  if (r.owner == default_replaced)
    use_default_deadline(r, core_);
  auto layers = core_.layers.entries();
  // What they knew of attempts is over: none of them has the call.
  r.may_have_executed &= (bit(first) - 1) | bit(any_attempt);
  // While none comes or goes, each serves each call.
  auto all_serve = r.plan == core_.calls.plan() && !core_.layers.any_retired();
  for (auto k = first; k < layers.size(); ++k) {
    auto& x = layers[k];
    if (!all_serve && !x.serves(r.plan))
      continue;
    auto act = x.owner->active();
    if (act != mode::enforce || x.handles_content || r.lease) [[unlikely]] {
      if (act == mode::off && !x.owner->acts_when_off())
        continue;
      if (r.lease) {
        // It has no content to batch or to ask others for.
        if (x.handles_content && !x.weighs)
          continue;
        if (!admit_lease(r, k, x, act))
          return;
        continue;
      }
      if (act == mode::enforce && prefiltered(r, k))
        return;
    }
    if (!admit(r, k, x, act))
      return;
  }
  dispatch(r);
}

// The same as `admit` for a request for a permit, which has no content.
bool router::admit_lease(call_record& r, std::size_t k, layer_entry& x,
                         mode act) {
  r.layers[k].outer_begins = r.begins;
  return admit_by(r, k, x, act, [&](policy& p, env& e) {
    if (!r.reserves())
      return p.admit(r, r.layers[k].notes, e);
    auto d = p.reserve(r, r.layers[k].notes,
                       {std::max(r.begins, e.now), r.begin_by}, e);
    if (act == mode::enforce && d.what == decision::kind::pass
        && d.until != never)
      r.begins = std::max(r.begins, d.until);
    return d;
  });
}

// What is left to do when a layer has not just let a call pass. As above.
bool router::admitted(call_record& r, std::size_t k, mode act,
                      const decision& d, const admission_before& before) {
  check_decision(d);
  auto [outer, by_default] = before;
  auto replaced = r.deadline != outer || r.default_deadline != by_default;
  // The layers further in must not see a deadline that is only observed; the
  // policy counts by itself what overran it.
  if (act != mode::enforce || d.what == decision::kind::reject) {
    r.deadline = outer;
    r.default_deadline = by_default;
    replaced = false;
  }
  if (d.what == decision::kind::reject) {
    if (act != mode::enforce) {
      ++core_.layers[k].observed_passes;
      return true;
    }
    if (auto failure = core_.layers.take_failure()) {
      ascend(r, static_cast<int>(k) - 1, callback_reply(core_, r, k, *failure));
      return false;
    }
    r.rejected_by = static_cast<std::int8_t>(k);
    auto o = outcome::failure(d.code, false, d.retry_after);
    o.threshold = d.threshold;
    ascend(r, static_cast<int>(k) - 1, o);
    return false;
  }
  r.inside |= bit(k);
  if (replaced) {
    // The default is not back when the deadline that took its place is over.
    auto in_its_place = by_default && !r.default_deadline;
    r.layers[k].outer_deadline = in_its_place ? never : outer;
    r.layers[k].outer_owner = in_its_place ? default_replaced : r.owner;
    r.owner = static_cast<std::int8_t>(k);
    if (limits_whole_call(r, k))
      r.limit = r.deadline;
  }
  if (auto failure = core_.layers.take_failure();
      failure && act == mode::enforce) {
    abandon(r, k, outcome::failure(errc::callback_failed, false), false);
    ascend(r, static_cast<int>(k) - 1, callback_reply(core_, r, k, *failure));
    return false;
  }
  auto is_hold = d.what == decision::kind::hold;
  // A promise that is only observed keeps nobody waiting, as a hold.
  if (!is_hold && (act == mode::enforce || d.until == never))
    return true;
  if (is_hold && (act == mode::enforce || d.in_all_modes)) {
    hold(r, k, d.until);
    return false;
  }
  ++core_.layers[k].observed_passes;
  abandon(r, k, outcome::failure(errc::cancelled, false), false);
  return true;
}

// Whether no layer outside of layer k may send the call again.
bool router::limits_whole_call(const call_record& r, std::size_t k) const {
  while (k-- > 0)
    if (is_inside(r, k) && core_.layers[k].machine->resends())
      return false;
  return true;
}

void router::hold(call_record& r, std::size_t k, time_point until) {
  CAISSON_ENSURE(is_inside(r, k) && r.where == phase::moving,
                 "layer {} holds call {}, which is {}", k,
                 call_table::number_of(r.id), name_of(r.where));
  core_.calls.move_to(r, phase::held);
  r.at = static_cast<std::int8_t>(k);
  r.hold_until = until;
  core_.callers.watch(r);
  core_.schedule(r);
}

void router::dispatch(call_record& r) {
  CAISSON_ENSURE(r.where == phase::moving && r.children.empty(),
                 "call {} is sent while it is {}", call_table::number_of(r.id),
                 name_of(r.where));
  r.depth = static_cast<std::int8_t>(core_.layers.size());
  if (core_.ends->overdue(r))
    return;
  if (r.lease)
    return core_.leased->grant(r);
  r.rejected_by = -1;
  core_.workers->take(r);
}

void router::note_sent(call_record& r) {
  if (r.sent_at == never && !r.child)
    core_.times.record(measured::waits, true, core_.now() - r.arrived);
  r.sent_at = core_.now();
}

void router::send_to(call_record& r, target_id to) {
  CAISSON_ENSURE(r.where == phase::moving && r.attempt_key == 0,
                 "call {} is sent while it is {}", call_table::number_of(r.id),
                 name_of(r.where));
  ++core_.totals.attempts;
  ++r.sends;
  core_.calls.move_to(r, phase::in_flight);
  note_sent(r);
  // A permutation of the attempt's number: never twice the same, and known only
  // to the receiver.
  auto number = (++attempts_ * attempt_factor_) ^ attempt_mask_;
  r.attempt_key = (number << call_table::index_bits | r.index)
                  & ((std::uint64_t{1} << key_bits) - 1);
  r.target = to;
  core_.traces.begin_attempt(r);
  core_.schedule(r);
  auto content = core_.keeps_content(r) ? r.payload : std::move(r.payload);
  auto& target = core_.workers->target(to);
  target.calls.push_back(r);
  if (target.info.takes_calls)
    content = caf::make_message(
      call{std::move(content), options_of(r, target.info)});
  // Further attempts stand for themselves.
  r.stands_for = 0;
  r.attempt_number = core_.host.deliver(to, r.attempt_key, std::move(content),
                                        r.from.urgent());
}

// -- up -----------------------------------------------------------------------

void router::on_answer(std::uint64_t key, caf::message&& content) {
  auto* r = core_.calls.at(key & (call_table::capacity - 1));
  if (!r || r->where != phase::in_flight || r->attempt_key != key) {
    ++core_.totals.late_results;
    core_.layers.publish({.kind = event_kind::late_result});
    return;
  }
  auto target = r->target;
  CAISSON_ENSURE(r->link<by_target>::linked() && r->sent_at <= core_.now(),
                 "call {} was not sent", call_table::number_of(r->id));
  end_attempt(*r);
  auto* err = portable::get_if<caf::error>(content);
  if (err && portable::is_receiver_down(*err))
    return lose_attempt(*r, target);
  r->reply = std::move(content);
  auto o = outcome_of(r->reply);
  // A worker may answer with an error that it got from a gate elsewhere, which
  // says nothing about this call.
  auto is_gate = core_.workers->target(target).info.is_gate;
  if (!is_gate)
    o.may_have_executed = o.from_worker = true;
  // A gate may have made other attempts, of which the answer knows nothing.
  auto executed_before = is_gate && o.may_have_executed;
  // Another actor, to which a fallback may turn, says nothing about the worker.
  if (is_gate && o.own_error && target == worker_target)
    o.threshold = threshold_in(r->reply);
  classify(o);
  o.may_have_executed = o.may_have_executed || executed_before;
  if (o.may_have_executed)
    mark_executed(*r);
  measure_attempt(*r, o);
  ascend(*r, r->depth - 1, o);
}

void router::measure_attempt(const call_record& r, const outcome& o) {
  // A permit whose turn has not come was no attempt.
  if (r.sent_at > core_.now())
    return;
  core_.times.record(measured::attempts, o.ok || o.neutral,
                     core_.now() - r.sent_at);
  core_.traces.end_attempt(core_.now(), r, o);
}

void router::classify(outcome& o) {
  // What Caisson's own errors mean is known.
  if (o.own_error)
    return;
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

// The attempt bounced. This may arrive before the target's down message.
void router::lose_attempt(call_record& r, target_id from) {
  core_.workers->suspect(from);
  mark_executed(r);
  auto o = outcome::failure(errc::worker_down, true);
  measure_attempt(r, o);
  ascend(r, r.depth - 1, o);
}

void router::end_attempt(call_record& r) {
  core_.calls.move_to(r, phase::moving);
  r.link<by_target>::unlink();
  r.attempt_key = 0;
  r.target = worker_target;
}

void router::ascend(call_record& r, int last, outcome o) {
  CAISSON_ENSURE(r.where == phase::moving && r.inside >> (last + 1) == 0,
                 "call {} goes up from layer {} while it is {} below",
                 call_table::number_of(r.id), last, name_of(r.where));
  auto layers = core_.layers.entries();
  for (auto n = last; n >= 0; --n) {
    auto k = static_cast<std::size_t>(n);
    if (!is_inside(r, k))
      continue;
    // Of this attempt for the layers below a retrier, of all of them above it.
    o.may_have_executed = o.may_have_executed || may_have_executed(r, k);
    auto d = complete(r, k, layers[k], o);
    if (o.as_held) [[unlikely]] {
      o.as_held = false;
      r.rejected_by = r.layers[k].held_as;
    }
    if (d.what == decision::kind::pass && !core_.layers.has_failure())
      [[likely]]
      let_go(r, k);
    else if (!completed(r, k, d, o))
      return;
  }
  finish(r, o);
}

// What is left to do when a layer has not just let an outcome pass. Returns
// whether it goes on up.
bool router::completed(call_record& r, std::size_t k, const decision& d,
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
      hold(r, k, d.until);
      return false;
    }
    ++core_.layers[k].observed_passes;
    abandon(r, k, o, false);
  } else {
    leave(r, k);
  }
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

void router::finish(call_record& r, const outcome& o) {
  if (r.child)
    return core_.children->finish(r, o);
  CAISSON_ENSURE(r.inside == 0 && r.children.empty(),
                 "call {} ends in layers {:#x}", call_table::number_of(r.id),
                 r.inside);
  core_.totals.count_end(o);
  auto ok = o.ok || o.neutral;
  core_.times.record(measured::calls, ok, core_.now() - r.arrived);
  if (!r.lease)
    tally(r, ok);
  // One that was answered by a batch, or without the worker, is not a failed
  // wait.
  if (r.sent_at == never && !o.ok && !may_have_executed(r))
    core_.times.record(measured::waits, false, core_.now() - r.arrived);
  core_.traces.end_call(core_.now(), r, o);
  core_.callers.release(r);
  core_.timers.cancel(r.timer);
  if (r.permit != 0)
    core_.leased->forget(r);
  auto is_dead_letter = !ok && core_.may_be_dead_letter(r)
                        && !is_withdrawn(r, o);
  if (r.from.expects_reply() || is_dead_letter) {
    auto content = o.reply ? reply_from_below(r, o) : error_reply(core_, r, o);
    if (is_dead_letter)
      send_dead_letter(core_, r, content);
    answer(r, std::move(content));
  }
  core_.calls.put_back(r);
}

void router::tally(const call_record& r, bool ok) {
  core_.needs.record(tallied::attempts, ok, r.sends);
  if (r.limit != never)
    core_.needs.record(tallied::limit_used, ok,
                       share_used(r.arrived, core_.now(), r.limit));
}

void router::answer(call_record& r, caf::message&& content) {
  core_.calls.unindex(r);
  if (r.from.expects_reply())
    core_.host.answer(std::move(r.from), std::move(content));
}

// -- one layer's view of a call -----------------------------------------------

void router::abandon(call_record& r, std::size_t k, const outcome& why,
                     bool in_flight) {
  CAISSON_ENSURE(is_inside(r, k),
                 "call {} leaves layer {}, which has not got it",
                 call_table::number_of(r.id), k);
  auto deadline = r.deadline;
  core_.layers.run(k, [&](policy& p, env& e) {
    p.abandon(r, r.layers[k].notes, why, in_flight, e);
  });
  r.deadline = deadline;
  leave(r, k);
}

void router::leave(call_record& r, std::size_t k) {
  let_go(r, k);
}

} // namespace caisson::detail
