#include <caisson/engine/descent.hpp>

#include <caisson/base/ensure.hpp>
#include <caisson/caf/error.hpp>
#include <caisson/engine/contract.hpp>
#include <caisson/engine/default_deadline.hpp>
#include <caisson/engine/error_replies.hpp>
#include <caisson/engine/layer_calls.hpp>
#include <caisson/policy/call_number.hpp>

#include <algorithm>
#include <utility>

namespace caisson::detail {

// -- one turn of a layer ------------------------------------------------------

// Inlined: they run for each layer and call.

// Layer k is asked by `f`.
template <class F>
[[gnu::always_inline]] inline bool
descent::admit_by(call_record& r, std::size_t k, layer_entry& x, mode act,
                  next_step& out, F f) {
  const admission_before before{r.deadline, r.default_deadline};
  auto id = r.id;
  auto d = core_.layers.run(k, x, f);
  if (d.what == decision::kind::pass && act == mode::enforce && r.id == id
      && r.deadline == before.deadline
      && r.default_deadline == before.by_default && !core_.layers.has_failure())
    [[likely]] {
    r.inside |= layer_bit(k);
    return true;
  }
  CAISSON_ENSURE(
    r.id == id && (r.deadline <= before.deadline || before.by_default),
    "{} gives call {} what is not its own", x.owner->name(), call_number(id));
  return admitted(r, k, act, d, before, out);
}

[[gnu::always_inline]] inline bool descent::admit(call_record& r, std::size_t k,
                                                  layer_entry& x, mode act,
                                                  next_step& out) {
  // In one turn, so that what a function threw at either is seen below.
  return admit_by(r, k, x, act, out, [&](policy& p, env& e) {
    if (x.handles_content) [[unlikely]]
      return admit_content(r, k, p, e);
    return p.admit(r, r.layers[k].notes, e);
  });
}

// -- all of them --------------------------------------------------------------

next_step descent::pass(call_record& r, std::size_t first) {
  CAISSON_ENSURE(r.inside >> first == 0 && r.attempt_key == 0,
                 "call {} goes down from layer {} while it is below",
                 call_number(r.id), first);
  core_.calls.move_to(r, phase::moving);
  r.hold_until = never;
  // It may have been held until this instant.
  auto out = expiry_.overdue(r);
  if (out) [[unlikely]]
    return out;
  // The layer that limited the attempt before may be off by now.
  if (r.owner == default_replaced)
    use_default_deadline(r, core_);
  auto layers = core_.layers.entries();
  // What they knew of attempts is over: none of them has the call.
  r.may_have_executed &= (layer_bit(first) - 1) | layer_bit(any_attempt);
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
        if (!admit_lease(r, k, x, act, out))
          return out;
        continue;
      }
      if (act == mode::enforce && !prefilter(r, k, out))
        return out;
    }
    if (!admit(r, k, x, act, out))
      return out;
  }
  out.what = next_step::kind::dispatch;
  return out;
}

// The same as `admit` for a request for a permit, which has no content.
bool descent::admit_lease(call_record& r, std::size_t k, layer_entry& x,
                          mode act, next_step& out) {
  r.layers[k].outer_begins = r.begins;
  return admit_by(r, k, x, act, out, [&](policy& p, env& e) {
    if (!r.reserves())
      return p.admit(r, r.layers[k].notes, e);
    auto d = p.reserve(r, r.layers[k].notes,
                       {std::max(r.begins, e.now), r.begin_by}, e);
    if (d.what == decision::kind::pass && d.until != never)
      r.begins = std::max(r.begins, d.until);
    return d;
  });
}

// What is left to do when a layer has not just let a call pass.
bool descent::admitted(call_record& r, std::size_t k, mode act,
                       const decision& d, const admission_before& before,
                       next_step& out) {
  CAISSON_ENSURE(r.inside >> k == 0 && r.where == phase::moving,
                 "layer {} decides about call {}, which is in layers {:#x}, "
                 "and {}",
                 k, call_number(r.id), r.inside, name_of(r.where));
  check_decision(d);
  // The layers further in must not see a deadline that is only observed; the
  // policy counts by itself what overran it.
  if (act != mode::enforce || d.what == decision::kind::reject) {
    r.deadline = before.deadline;
    r.default_deadline = before.by_default;
  }
  if (d.what == decision::kind::reject)
    return rejected(r, k, act, d, out);
  r.inside |= layer_bit(k);
  note_deadline(r, k, before);
  if (auto failure = core_.layers.take_failure();
      failure && act == mode::enforce) {
    abandon_in_layer(core_, r, k,
                     outcome::failure(errc::callback_failed, false), false);
    out.set_ascend(static_cast<int>(k) - 1,
                   callback_reply(core_, r, k, *failure));
    return false;
  }
  auto is_hold = d.what == decision::kind::hold;
  // A promise that is only observed keeps nobody waiting, as a hold.
  if (!is_hold && (act == mode::enforce || d.until == never))
    return true;
  if (is_hold && (act == mode::enforce || d.in_all_modes)) {
    hold_in_layer(core_, r, k, d.until);
    return false;
  }
  ++core_.layers[k].observed_passes;
  abandon_in_layer(core_, r, k, outcome::failure(errc::cancelled, false),
                   false);
  return true;
}

bool descent::rejected(call_record& r, std::size_t k, mode act,
                       const decision& d, next_step& out) {
  CAISSON_ENSURE(!is_inside(r, k), "layer {} rejects call {}, which it has", k,
                 call_number(r.id));
  if (act != mode::enforce) {
    ++core_.layers[k].observed_passes;
    return true;
  }
  auto last = static_cast<int>(k) - 1;
  if (auto failure = core_.layers.take_failure()) {
    out.set_ascend(last, callback_reply(core_, r, k, *failure));
    return false;
  }
  r.rejected_by = static_cast<std::int8_t>(k);
  auto o = outcome::failure(d.code, false, d.retry_after);
  o.threshold = d.threshold;
  out.set_ascend(last, o);
  return false;
}

// Layer k may have put a deadline on the call.
void descent::note_deadline(call_record& r, std::size_t k,
                            const admission_before& before) {
  auto [outer, by_default] = before;
  if (r.deadline == outer && r.default_deadline == by_default)
    return;
  // The default is not back when the deadline that took its place is over.
  auto in_its_place = by_default && !r.default_deadline;
  r.layers[k].outer_deadline = in_its_place ? never : outer;
  r.layers[k].outer_owner = in_its_place ? default_replaced : r.owner;
  r.owner = static_cast<std::int8_t>(k);
  if (limits_whole_call(r, k))
    r.limit = r.deadline;
}

// Whether no layer outside of layer k may send the call again.
bool descent::limits_whole_call(const call_record& r, std::size_t k) const {
  while (k-- > 0)
    if (is_inside(r, k) && core_.layers[k].machine->resends())
      return false;
  return true;
}

// -- layers that work on content ----------------------------------------------

decision descent::admit_content(call_record& r, std::size_t k, policy& p,
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

// Layer k may answer the call before its policy sees it.
bool descent::prefilter(call_record& r, std::size_t k, next_step& out) {
  auto answer = core_.layers.run_content(
    k, [&](layer& l, env& e) { return l.prefilter(r.payload, e); });
  auto last = static_cast<int>(k) - 1;
  if (auto failure = core_.layers.take_failure()) {
    out.set_ascend(last, callback_reply(core_, r, k, *failure));
    return false;
  }
  if (!answer)
    return true;
  r.reply = std::move(*answer);
  auto o = outcome_of(r.reply);
  o.may_have_executed = o.from_worker = false;
  out.set_ascend(last, o);
  return false;
}

} // namespace caisson::detail
