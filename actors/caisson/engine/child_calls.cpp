#include <caisson/engine/child_calls.hpp>

#include <caisson/base/ensure.hpp>
#include <caisson/caf/error.hpp>
#include <caisson/engine/contract.hpp>
#include <caisson/engine/default_deadline.hpp>
#include <caisson/engine/error_replies.hpp>
#include <caisson/engine/execution.hpp>
#include <caisson/engine/layer_calls.hpp>
#include <caisson/policy/call_number.hpp>

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
    CAISSON_ENSURE(layer.outer_owner != layer_notes::none,
                   "the deadline of call {} is of layer {}, which has set none",
                   call_number(r.id), k);
    deadline = &layer.outer_deadline;
    k = layer.outer_owner;
  }
  return *deadline;
}

} // namespace

// -- start --------------------------------------------------------------------

call_id child_calls::make(std::size_t k, child_call request) {
  if (!core_.makes_children)
    throw std::logic_error{"layer " + core_.layers[k].owner->name()
                           + " makes child calls, and this host has none"};
  CAISSON_ENSURE(k < core_.layers.size(), "layer {} of {} makes a child", k,
                 core_.layers.size());
  CAISSON_ENSURE(request.target == child_call::below
                   || request.target < core_.layers[k].targets.size(),
                 "{} has no target {}", core_.layers[k].owner->name(),
                 request.target);
  auto& c = core_.calls.take();
  ++core_.children;
  c.child = std::make_unique<child_state>();
  c.child->origin = k;
  c.child->target = request.target;
  c.child->limit = request.deadline;
  c.child->has_parents = !request.parents.empty();
  c.child->parents = std::move(request.parents);
  c.child->permits = request.permits;
  c.permits = std::max<std::uint32_t>(request.permits, 1);
  c.key = std::move(request.key);
  c.child->has_own_key = !c.key.empty();
  if (!c.child->has_parents) {
    c.priority = request.priority;
    c.idempotent = request.idempotent;
    c.written_back = request.written_back;
    if (auto* cause = core_.calls.find(request.started_by))
      tracer::inherit(c, *cause);
  }
  c.arrived = core_.now();
  c.at = static_cast<std::int8_t>(k);
  // The newest one that the layer stands in, unless parents bring another.
  core_.calls.assign_plan(
    c, std::min(core_.layers[k].until - 1, core_.calls.plan()));
  return c.id;
}

std::vector<call_id> child_calls::take_parents(call_record& c) {
  CAISSON_ENSURE(c.child && c.where == phase::moving,
                 "call {} is started as a child while it is {}",
                 call_number(c.id), name_of(c.where));
  CAISSON_ENSURE(c.child->waiting == 0 && c.sends == 0,
                 "call {} is started, and {} parents wait for it",
                 call_number(c.id), c.child->waiting);
  return std::exchange(c.child->parents, {});
}

call_record* child_calls::held_parent(const call_record& c, call_id parent) {
  auto* p = core_.calls.find(parent);
  return is_held_by(c.child->origin, p) ? p : nullptr;
}

next_step child_calls::start(call_record& c,
                             const std::vector<call_id>& parents) {
  std::vector<caf::message> contents;
  for (auto p : parents) {
    auto* parent = held_parent(c, p);
    if (!parent || !attach(c, *parent))
      continue;
    contents.push_back(core_.content_to_send(*parent));
  }
  CAISSON_ENSURE(contents.size() == c.child->waiting
                   && c.child->waiting == c.child->parents.size(),
                 "{} parents of call {} wait, and it has {} contents",
                 c.child->waiting, call_number(c.id), contents.size());
  if (c.child->has_parents && c.child->waiting == 0)
    return next_step::finish(outcome::failure(errc::cancelled, false));
  // Without any, a layer could take the default deadline away, and nobody would
  // end the child.
  if (!c.child->has_parents)
    c.deadline = c.child->limit != never
                   ? c.child->limit
                   : time_after(core_.now(), core_.config.default_deadline);
  if (auto failed = fill(c, std::move(contents)))
    return *failed;
  return send(c);
}

// Creates the child's content. Returns how it ends if that fails.
std::optional<next_step> child_calls::fill(call_record& c,
                                           std::vector<caf::message> contents) {
  auto k = c.child->origin;
  CAISSON_ENSURE(c.where == phase::moving && c.inside == 0,
                 "call {} gets its content while it is in layers {:#x}",
                 call_number(c.id), c.inside);
  auto content = core_.layers.run_content(k, [&](layer& l, env& e) {
    return l.child_content(c.id, std::move(contents), e);
  });
  if (auto failure = core_.layers.take_failure())
    return next_step::finish(callback_reply(core_, c, k, *failure));
  c.payload = std::move(content);
  return std::nullopt;
}

next_step child_calls::send(call_record& c) {
  auto k = c.child->origin;
  CAISSON_ENSURE(core_.layers[k].serves(c.plan),
                 "call {} has plan {}, which layer {} does not serve",
                 call_number(c.id), c.plan, k);
  if (c.child->target == child_call::below)
    return next_step::descend(k + 1);
  if (auto s = expiry_.overdue(c))
    return s;
  CAISSON_ENSURE(c.child->target < core_.layers[k].targets.size(),
                 "call {} is for target {} of {}", call_number(c.id),
                 c.child->target, core_.layers[k].targets.size());
  auto to = core_.layers[k].targets[c.child->target];
  c.rejected_by = static_cast<std::int8_t>(k);
  c.depth = static_cast<std::int8_t>(k + 1);
  if (core_.host.is_down(to))
    return next_step::finish(outcome::failure(errc::worker_down, false));
  return next_step::send(to);
}

// -- parents ------------------------------------------------------------------

// Returns false if it is a parent of this child already.
bool child_calls::attach(call_record& c, call_record& parent) {
  if (waits_for(&parent, c.id))
    return false;
  // Nobody that is asked has to answer.
  if (parent.owner == default_replaced) {
    use_default_deadline(parent, core_);
    core_.schedule(parent);
  }
  CAISSON_ENSURE(is_held_by(c.child->origin, &parent),
                 "call {} gets a child while it is {}", call_number(parent.id),
                 name_of(parent.where));
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
                 c.child->parents.size(), call_number(c.id));
  return true;
}

void child_calls::inherit(call_record& c, call_record& parent) {
  CAISSON_ENSURE(parent.id != c.id && parent.children.back() == c.id,
                 "call {} is no parent of call {}", call_number(parent.id),
                 call_number(c.id));
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

call_record* child_calls::child_of(std::size_t k, call_id child) {
  auto* c = core_.calls.find(child);
  return c && c->child && c->child->origin == k ? c : nullptr;
}

moved_call child_calls::join(std::size_t k, call_id child, call_id parent) {
  auto* c = child_of(k, child);
  auto* p = core_.calls.find(parent);
  if (!c || !is_held_by(k, p))
    return {};
  CAISSON_ENSURE(p != c && (c->inside & (layer_bit(k + 1) - 1)) == 0,
                 "a child of layer {}, call {}, is in layers {:#x}", k,
                 call_number(child), c->inside);
  if (auto s = expiry_.overdue(*p))
    return {p, s};
  if (attach(*c, *p))
    spread(*c);
  return {};
}

// What a call has got by another parent, its own children need as well.
void child_calls::spread(call_record& c) {
  if (c.where == phase::moving)
    return;
  limit_by_layers(c);
  core_.schedule(c);
  for (auto id : c.children)
    if (auto* x = core_.calls.find(id)) {
      CAISSON_ENSURE(x->child && x->child->waiting > 0,
                     "call {} is no child of call {}, which has it",
                     call_number(id), call_number(c.id));
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
  CAISSON_ENSURE(c.owner < 0 || is_inside(c, static_cast<std::size_t>(c.owner)),
                 "the deadline of call {} is of layer {}, which has not got it",
                 call_number(c.id), c.owner);
}

// -- leaving ------------------------------------------------------------------

std::vector<call_id> child_calls::take_children(call_record& parent) {
  CAISSON_ENSURE(
    parent.where == phase::delegated || parent.where == phase::moving,
    "call {} leaves {} children while it is {}", call_number(parent.id),
    parent.children.size(), name_of(parent.where));
  if (may_be_executing(core_, parent) || is_pursued_without(core_, parent))
    mark_executed(parent);
  return std::exchange(parent.children, {});
}

// Returns the child if no parent waits for it any more.
call_record* child_calls::leave(call_record& parent, call_id child) {
  auto* c = core_.calls.find(child);
  if (!c)
    return nullptr;
  CAISSON_ENSURE(c->child && c->child->waiting > 0,
                 "no parent of call {} waits", call_number(child));
  CAISSON_ENSURE(!waits_for(&parent, child),
                 "call {} leaves call {}, and has it still",
                 call_number(parent.id), call_number(child));
  parent.sends += c->sends;
  return --c->child->waiting == 0 && c->child->has_parents ? c : nullptr;
}

} // namespace caisson::detail
