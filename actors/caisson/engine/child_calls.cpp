#include <caisson/engine/child_calls.hpp>

#include <caisson/base/ensure.hpp>
#include <caisson/caf/error.hpp>
#include <caisson/engine/call_expiry.hpp>
#include <caisson/engine/contract.hpp>
#include <caisson/engine/default_deadline.hpp>
#include <caisson/engine/error_replies.hpp>
#include <caisson/engine/router.hpp>
#include <caisson/engine/upstream.hpp>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace caisson::detail {

namespace {

// Under the deadlines that layers have put on a call lies the first one, its
// own.
time_point& own_deadline(call_record& r) {
  auto* deadline = &r.deadline;
  for (auto k = r.owner; k >= 0;) {
    auto& layer = r.layers[static_cast<std::size_t>(k)];
    deadline = &layer.outer_deadline;
    k = layer.outer_owner;
  }
  return *deadline;
}

} // namespace

// -- start --------------------------------------------------------------------

call_id child_calls::make(std::size_t k, child_call wish) {
  if (!core_.makes_children)
    throw std::logic_error{"layer " + core_.layers[k].owner->name()
                           + " makes child calls, and this host has none"};
  CAISSON_ENSURE(wish.target == child_call::below
                   || wish.target < core_.layers[k].targets.size(),
                 "{} has no target {}", core_.layers[k].owner->name(),
                 wish.target);
  auto& c = core_.calls.take();
  c.child = std::make_unique<child_state>();
  c.child->origin = k;
  c.child->target = wish.target;
  c.child->limit = wish.deadline;
  c.child->has_parents = !wish.parents.empty();
  c.child->parents = std::move(wish.parents);
  c.child->permits = wish.permits;
  c.permits = std::max<std::uint32_t>(wish.permits, 1);
  c.key = std::move(wish.key);
  c.child->has_own_key = !c.key.empty();
  if (!c.child->has_parents) {
    c.priority = wish.priority;
    c.idempotent = wish.idempotent;
    c.written_back = wish.written_back;
    if (auto* cause = core_.calls.find(wish.started_by))
      tracer::inherit(c, *cause);
  }
  c.arrived = core_.now();
  c.at = static_cast<std::int8_t>(k);
  // The newest one that the layer stands in, unless parents bring another.
  core_.calls.assign_plan(
    c, std::min(core_.layers[k].until - 1, core_.calls.plan()));
  return c.id;
}

void child_calls::start(call_id id) {
  auto* c = core_.calls.find(id);
  if (!c)
    return; // Given up before it began.
  CAISSON_ENSURE(c->child && c->where == phase::moving,
                 "call {} is started as a child while it is {}",
                 call_table::number_of(id), name_of(c->where));
  auto k = c->child->origin;
  auto parents = std::exchange(c->child->parents, {});
  // The last moment for those whose deadline has come. Such an end may end
  // others, so no call is attached before all of them are through.
  for (auto p : parents)
    if (auto* parent = core_.calls.find(p); holds(k, parent))
      core_.ends->overdue(*parent);
  std::vector<caf::message> contents;
  for (auto p : parents) {
    auto* parent = core_.calls.find(p);
    if (!holds(k, parent) || !attach(*c, *parent))
      continue;
    contents.push_back(core_.keeps_content(*parent)
                         ? parent->payload
                         : std::move(parent->payload));
  }
  if (c->child->has_parents && c->child->waiting == 0)
    return finish(*c, outcome::failure(errc::cancelled, false));
  // Without any, a deadline layer could take the default away, and nobody would
  // end the child.
  if (!c->child->has_parents)
    c->deadline = c->child->limit != never
                    ? c->child->limit
                    : time_after(core_.now(), core_.config.default_deadline);
  if (fill(*c, std::move(contents)))
    send(*c);
}

// Creates the child's content. Returns whether that succeeded.
bool child_calls::fill(call_record& c, std::vector<caf::message> contents) {
  auto k = c.child->origin;
  auto content = core_.layers.run_content(k, [&](layer& l, env& e) {
    return l.child_content(c.id, std::move(contents), e);
  });
  if (auto failure = core_.layers.take_failure()) {
    finish(c, callback_reply(core_, c, k, *failure));
    return false;
  }
  c.payload = std::move(content);
  return true;
}

void child_calls::send(call_record& c) {
  auto k = c.child->origin;
  if (c.child->target == child_call::below)
    return core_.route->descend(c, k + 1);
  if (core_.ends->overdue(c))
    return;
  auto to = core_.layers[k].targets[c.child->target];
  c.rejected_by = static_cast<std::int8_t>(k);
  c.depth = static_cast<std::int8_t>(k + 1);
  if (core_.host.is_down(to))
    return finish(c, outcome::failure(errc::worker_down, false));
  core_.route->send_to(c, to);
}

// -- parents ------------------------------------------------------------------

bool child_calls::holds(std::size_t k, const call_record* r) const {
  return r && (r->where == phase::held || r->where == phase::delegated)
         && static_cast<std::size_t>(r->at) == k;
}

// One that has left a child does not wait for it, also if the same layer holds
// it again.
bool child_calls::waits_for(const call_record* parent, call_id child) {
  return parent
         && std::find(parent->children.begin(), parent->children.end(), child)
              != parent->children.end();
}

// Returns false if it is a parent of this child already.
bool child_calls::attach(call_record& c, call_record& parent) {
  if (waits_for(&parent, c.id))
    return false;
  // Nobody that is asked has to answer.
  if (parent.owner == default_replaced) {
    use_default_deadline(parent, core_);
    core_.schedule(parent);
  }
  core_.calls.move_to(parent, phase::delegated);
  parent.children.push_back(c.id);
  inherit(c, parent);
  if (c.where == phase::moving && c.child->has_parents)
    core_.calls.assign_plan(c, c.child->parents.empty()
                                 ? parent.plan
                                 : std::max(c.plan, parent.plan));
  c.child->parents.push_back(parent.id);
  ++c.child->waiting;
  CAISSON_ENSURE(c.child->waiting <= c.child->parents.size(),
                 "{} of the {} parents of call {} wait", c.child->waiting,
                 c.child->parents.size(), call_table::number_of(c.id));
  return true;
}

void child_calls::inherit(call_record& c, call_record& parent) {
  auto first = c.child->has_parents && c.child->parents.empty();
  widen(c, parent, first);
  // What layers below go by from admission to completion.
  if (c.where == phase::moving) {
    if (first && !c.child->has_own_key)
      c.key = parent.key;
    else if (c.key != parent.key && !c.child->has_own_key)
      c.key.clear();
    if (first || c.user_priority != parent.user_priority)
      c.user_priority = first ? parent.user_priority : 0;
    // Counted once, whatever else is sent for the parent.
    if (auto n = std::exchange(parent.stands_for, 0); first)
      c.stands_for = n;
    // Of several calls it is none.
    if (first)
      c.idempotency_key = parent.idempotency_key;
    else
      c.idempotency_key.clear();
    tracer::inherit(c, parent);
    if (c.child->permits == 0)
      c.permits = first ? parent.permits : 1;
  }
}

// A child is as important as the most important of its parents, may be carried
// out twice if all of them may, and is pursued as long as one of them can use
// the result.
void child_calls::widen(call_record& c, const call_record& parent, bool first) {
  // One without parents keeps its own deadline: calls that join it may have
  // none, and may leave.
  if (c.child->has_parents) {
    auto& deadline = own_deadline(c);
    deadline = std::min(first ? parent.deadline
                              : std::max(deadline, parent.deadline),
                        c.child->limit);
  }
  c.priority = first ? parent.priority : std::max(c.priority, parent.priority);
  c.attempt = std::max(c.attempt, parent.attempt);
  if (first
      || (parent.idempotent != idempotence::yes
          && c.idempotent != idempotence::no))
    c.idempotent = parent.idempotent;
  // One that loops has the longest path sooner or later.
  if (first || parent.path.size() > c.path.size())
    c.path = parent.path;
}

void child_calls::join(std::size_t k, call_id child, call_id parent) {
  auto* c = core_.calls.find(child);
  auto* p = core_.calls.find(parent);
  if (!c || !c->child || c->child->origin != k || !holds(k, p)
      || core_.ends->overdue(*p))
    return;
  if (attach(*c, *p))
    spread(*c);
}

// What a call has got by another parent, its own children need as well.
void child_calls::spread(call_record& c) {
  if (c.where == phase::moving)
    return;
  limit_by_layers(c);
  core_.schedule(c);
  for (auto id : c.children)
    if (auto* x = core_.calls.find(id)) {
      widen(*x, c, false);
      spread(*x);
    }
}

// The child's own deadline may have moved beyond what layers allow that it has
// passed: they saw no need to limit it.
void child_calls::limit_by_layers(call_record& c) {
  for (auto k = c.child->origin + 1; k < core_.layers.size(); ++k) {
    if (!is_inside(c, k) || core_.layers.active(k) != mode::enforce
        || c.layers[k].outer_owner != layer_notes::none)
      continue;
    auto latest = core_.layers[k].machine->latest_end(c, c.layers[k].notes);
    if (c.owner >= 0) {
      // One that is set further in is earlier, and not the layer's to move.
      auto& deadline = own_deadline(c);
      deadline = std::min(deadline, latest);
    } else if (latest < c.deadline) {
      c.layers[k].outer_deadline = std::exchange(c.deadline, latest);
      c.layers[k].outer_owner = std::exchange(c.owner,
                                              static_cast<std::int8_t>(k));
    }
  }
}

// The parent is held as before, but for this child.
void child_calls::detach(call_record& parent, call_id child) {
  auto erased = std::erase(parent.children, child);
  CAISSON_ENSURE(erased == 1 && parent.where == phase::delegated,
                 "call {} is no child of call {}, which is {}",
                 call_table::number_of(child), call_table::number_of(parent.id),
                 name_of(parent.where));
  if (parent.children.empty() && parent.where == phase::delegated)
    core_.calls.move_to(parent, phase::held);
}

void child_calls::leave_all(call_record& parent) {
  if (parent.children.empty())
    return;
  if (core_.ends->may_be_executing(parent)
      || core_.ends->is_pursued_without(parent))
    mark_executed(parent);
  for (auto id : std::exchange(parent.children, {}))
    if (auto* c = core_.calls.find(id)) {
      CAISSON_ENSURE(c->child && c->child->waiting > 0,
                     "no parent of call {} waits", call_table::number_of(id));
      parent.sends += c->sends;
      if (--c->child->waiting == 0 && c->child->has_parents)
        give_up(*c);
    }
}

// No parent waits for it any more.
void child_calls::give_up(call_record& c) {
  // The deadline of its last parent is its own.
  if (core_.ends->overdue(c))
    return;
  auto o = outcome::failure(errc::cancelled, false);
  core_.ends->cut(c, -1, o);
  c.rejected_by = -1;
  finish(c, o);
}

void child_calls::cancel(std::size_t k, call_id child) {
  auto* c = core_.calls.find(child);
  if (!c || !c->child || c->child->origin != k)
    return;
  core_.ends->cut(*c, -1, outcome::failure(errc::cancelled, false));
  auto sent = may_have_executed(*c);
  auto sends = c->sends;
  auto state = std::move(c->child);
  core_.timers.cancel(c->timer);
  core_.calls.put_back(*c);
  for (auto id : state->parents)
    if (auto* p = core_.calls.find(id); waits_for(p, child)) {
      if (sent)
        mark_executed(*p);
      p->sends += sends;
      detach(*p, child);
    }
}

// -- the outcome --------------------------------------------------------------

void child_calls::finish(call_record& c, const outcome& o) {
  CAISSON_ENSURE(c.inside == 0 && c.children.empty(),
                 "call {} ends in layers {:#x}", call_table::number_of(c.id),
                 c.inside);
  auto state = std::move(c.child);
  state->sends = c.sends;
  auto id = c.id;
  auto sent = may_have_executed(c);
  auto rejected_by = c.rejected_by;
  auto result = o;
  auto whole = o.reply ? std::move(c.reply) : caf::message{};
  result.reply = o.reply ? &whole : nullptr;
  result.may_have_executed = o.may_have_executed || sent;
  core_.timers.cancel(c.timer);
  core_.calls.put_back(c);
  hand_over(*state, id, result, std::move(whole), rejected_by, sent);
}

// Every parent that still waits gets its part.
void child_calls::hand_over(const child_state& state, call_id id,
                            outcome result, caf::message whole,
                            std::int8_t rejected_by, bool sent) {
  auto k = state.origin;
  result.reply = result.reply ? &whole : nullptr;
  // A policy that has given it up is not called for it.
  auto d = core_.layers.gives_up(id)
             ? decision::hold()
             : core_.layers.run(k, [&](policy& p, env& e) {
                 return p.child_done(id, result, e);
               });
  check_decision(d);
  CAISSON_ENSURE(state.waiting <= state.parents.size(),
                 "{} of the {} parents of call {} wait", state.waiting,
                 state.parents.size(), call_table::number_of(id));
  auto failure = core_.layers.take_failure();
  std::optional<std::vector<caf::message>> parts;
  if (d.what == decision::kind::pass && !failure && result.ok && result.reply
      && state.waiting > 0) {
    parts = core_.layers.run_content(k, [&](layer& l, env& e) {
      return l.split(id, whole, state.parents.size(), e);
    });
    failure = core_.layers.take_failure();
  }
  // All of them before the first goes on, as that may end others.
  for (auto parent : state.parents)
    if (auto* p = core_.calls.find(parent); waits_for(p, id)) {
      p->sends += state.sends;
      if (sent)
        mark_executed(*p);
    }
  for (std::size_t i = 0; i < state.parents.size(); ++i) {
    auto* p = core_.calls.find(state.parents[i]);
    if (!waits_for(p, id))
      continue; // It has left.
    detach(*p, id);
    if (d.what == decision::kind::hold && !failure)
      continue;
    leave_all(*p);
    core_.calls.move_to(*p, phase::moving);
    p->hold_until = never;
    auto held_as = p->layers[k].held_as = p->rejected_by;
    p->rejected_by = parts ? static_cast<std::int8_t>(k) : rejected_by;
    auto own = outcome::failure(errc::batch_failed, true);
    if (failure) {
      own = callback_reply(core_, *p, k, *failure);
    } else if (d.what == decision::kind::reject) {
      own = outcome::failure(d.code, result.may_have_executed, d.retry_after);
      p->rejected_by = static_cast<std::int8_t>(k);
    } else if (!parts && !result.reply) {
      own = result;
    } else if (!parts || i < parts->size()) {
      p->reply = parts ? std::move((*parts)[i]) : whole;
      // A whole answer is what it was to the child; a part of one is a worker's
      // own answer.
      own = parts ? outcome_of(p->reply) : result;
      own.reply = &p->reply;
      if (parts) {
        own.from_worker = true;
        core_.route->classify(own);
        own.may_have_executed = true;
      }
    }
    core_.route->ascend(*p, static_cast<int>(k), own);
    if (p = core_.calls.find(state.parents[i]); holds(k, p))
      p->rejected_by = held_as;
  }
}

} // namespace caisson::detail
