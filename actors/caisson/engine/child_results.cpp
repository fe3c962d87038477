#include <caisson/engine/child_results.hpp>

#include <caisson/base/ensure.hpp>
#include <caisson/caf/error.hpp>
#include <caisson/engine/contract.hpp>
#include <caisson/engine/error_replies.hpp>
#include <caisson/engine/layer_calls.hpp>
#include <caisson/policy/call_number.hpp>

#include <utility>

namespace caisson::detail {

ended_child child_results::finish(call_record& c, const outcome& o) {
  CAISSON_ENSURE(c.inside == 0 && c.children.empty(),
                 "call {} ends in layers {:#x}", call_number(c.id), c.inside);
  CAISSON_ENSURE(c.where == phase::moving && c.attempt_key == 0,
                 "call {} ends while it is {}", call_number(c.id),
                 name_of(c.where));
  ended_child x;
  x.state = std::move(c.child);
  x.state->sends = c.sends;
  x.id = c.id;
  x.executed = may_have_executed(c);
  x.rejected_by = c.rejected_by;
  x.result = o;
  x.result.may_have_executed = o.may_have_executed || x.executed;
  x.has_reply = o.reply != nullptr;
  if (x.has_reply)
    x.whole = std::move(c.reply);
  core_.timers.cancel(c.timer);
  core_.calls.put_back(c);
  --core_.children;
  judge(x);
  mark_parents(x);
  return x;
}

// The policy decides about the parents, and its layer shares the answer out.
void child_results::judge(ended_child& x) {
  auto k = x.state->origin;
  x.result.reply = x.has_reply ? &x.whole : nullptr;
  // A policy that has given it up is not called for it.
  if (!core_.layers.gives_up(x.id))
    x.verdict = core_.layers.run(
      k, [&](policy& p, env& e) { return p.child_done(x.id, x.result, e); });
  x.result.reply = nullptr;
  check_decision(x.verdict);
  CAISSON_ENSURE(x.state->waiting <= x.state->parents.size(),
                 "{} of the {} parents of call {} wait", x.state->waiting,
                 x.state->parents.size(), call_number(x.id));
  x.failure = core_.layers.take_failure();
  if (x.verdict.what == decision::kind::pass && !x.failure && x.result.ok
      && x.has_reply && x.state->waiting > 0) {
    x.parts = core_.layers.run_content(k, [&](layer& l, env& e) {
      return l.split(x.id, x.whole, x.state->parents.size(), e);
    });
    x.failure = core_.layers.take_failure();
  }
}

// All of them before the first goes on, as that may end others.
void child_results::mark_parents(const ended_child& x) {
  std::size_t waiting = 0;
  for (auto parent : x.state->parents)
    if (auto* p = core_.calls.find(parent); waits_for(p, x.id)) {
      ++waiting;
      p->sends += x.state->sends;
      if (x.executed)
        mark_executed(*p);
    }
  // One that has left and come back is there twice.
  CAISSON_ENSURE(waiting >= x.state->waiting,
                 "{} parents of call {} wait, and {} are counted", waiting,
                 call_number(x.id), x.state->waiting);
}

call_record* child_results::released_parent(const ended_child& x,
                                            std::size_t i) {
  auto* p = core_.calls.find(x.state->parents[i]);
  if (!waits_for(p, x.id))
    return nullptr; // It has left.
  detach(*p, x.id);
  return x.verdict.what == decision::kind::hold && !x.failure ? nullptr : p;
}

outcome child_results::outcome_for(ended_child& x, std::size_t i,
                                   call_record& parent) {
  auto k = x.state->origin;
  CAISSON_ENSURE(is_held_by(k, &parent) && parent.children.empty(),
                 "call {} gets what came of a child while it is {}",
                 call_number(parent.id), name_of(parent.where));
  core_.calls.move_to(parent, phase::moving);
  parent.hold_until = never;
  parent.layers[k].held_as = parent.rejected_by;
  parent.rejected_by = x.parts ? static_cast<std::int8_t>(k) : x.rejected_by;
  if (x.failure)
    return callback_reply(core_, parent, k, *x.failure);
  if (x.verdict.what == decision::kind::reject) {
    parent.rejected_by = static_cast<std::int8_t>(k);
    return outcome::failure(x.verdict.code, x.result.may_have_executed,
                            x.verdict.retry_after);
  }
  if (!x.parts && !x.has_reply)
    return x.result;
  if (x.parts && i >= x.parts->size())
    return outcome::failure(errc::batch_failed, true);
  parent.reply = x.parts ? std::move((*x.parts)[i]) : x.whole;
  // A whole answer is what it was to the child; a part of one is an answer of
  // its own, by whoever has given the whole.
  auto own = x.parts ? outcome_of(parent.reply) : x.result;
  own.reply = &parent.reply;
  if (x.parts) {
    own.from_worker = x.result.from_worker;
    if (own.from_worker)
      attempts_.classify(own);
    own.may_have_executed = own.from_worker || x.result.may_have_executed;
  }
  return own;
}

void child_results::drop(call_record& c) {
  CAISSON_ENSURE(c.child && c.where == phase::moving && c.children.empty(),
                 "call {} is given up while it is {}", call_number(c.id),
                 name_of(c.where));
  auto id = c.id;
  auto sent = may_have_executed(c);
  auto sends = c.sends;
  auto state = std::move(c.child);
  core_.timers.cancel(c.timer);
  core_.calls.put_back(c);
  --core_.children;
  std::size_t left = 0;
  for (auto parent : state->parents)
    if (auto* p = core_.calls.find(parent); waits_for(p, id)) {
      ++left;
      if (sent)
        mark_executed(*p);
      p->sends += sends;
      detach(*p, id);
    }
  CAISSON_ENSURE(left == state->waiting,
                 "{} parents of call {} stay, and {} are counted", left,
                 call_number(id), state->waiting);
}

// The parent is held as before, but for this child.
void child_results::detach(call_record& parent, call_id child) {
  auto erased = std::erase(parent.children, child);
  CAISSON_ENSURE(erased == 1 && parent.where == phase::delegated,
                 "call {} is no child of call {}, which is {}",
                 call_number(child), call_number(parent.id),
                 name_of(parent.where));
  if (parent.children.empty() && parent.where == phase::delegated)
    core_.calls.move_to(parent, phase::held);
}

} // namespace caisson::detail
