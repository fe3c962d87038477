#include <caisson/policies/keyed/keyed.hpp>

#include <caisson/base/ensure.hpp>
#include <caisson/policies/keyed/keyed_turn.hpp>

#include <algorithm>
#include <utility>

namespace caisson {

// -- turns --------------------------------------------------------------------

void keyed_policy::follow_all(entry& x, env& e, std::size_t first) {
  for (auto i = first; i < e.actions.size(); ++i)
    follow(x, e.actions[i]);
}

void keyed_policy::follow(entry& x, const env::action& a) {
  using kind = env::action::kind;
  if (a.what == kind::cancel_child) {
    if (children_.erase(a.index) > 0)
      less_busy(x);
  } else if (a.what == kind::resume || a.what == kind::answer) {
    forget_held(a.call);
  } else if (a.what == kind::reject && held_.erase(a.call) > 0) {
    let_go_.insert(a.call);
    less_busy(x);
  }
}

void keyed_policy::start() {
  blank_ = std::make_unique<entry>(std::string{}, make({}));
  sums_ = detail::key_sums{*blank_->machine};
}

// -- calls --------------------------------------------------------------------

decision keyed_policy::admit(call_info& call, slot& notes, env& e) {
  return take_in(call, e, [&](policy& p, env& inner) {
    return p.admit(call, notes, inner);
  });
}

decision keyed_policy::reserve(call_info& call, slot& notes,
                               const reservation& wish, env& e) {
  return take_in(call, e, [&](policy& p, env& inner) {
    return p.reserve(call, notes, wish, inner);
  });
}

// Passes the call on to the policy of its key, which `f` asks.
template <class F>
decision keyed_policy::take_in(const call_info& call, env& e, F f) {
  see(e);
  if (call.key.empty()) {
    counters_.add(keyed_counter::keyless);
    if (per_key().keyless == keyless_calls::pass) {
      passing_.insert(call.id);
      return decision::pass();
    }
    if (per_key().keyless == keyless_calls::reject)
      return refuse(keyed_counter::refused_keyless, "no key", call, e);
  }
  auto* x = find(call);
  if (!x) [[unlikely]] {
    auto refusal = decision::pass();
    x = entry_for(call, refusal, e);
    if (!x)
      return refusal;
  }
  if (!let_go_.empty())
    let_go_.erase(call.id);
  auto first = e.actions.size();
  auto d = turn(*x, e, f);
  if (d.what != decision::kind::reject) {
    ++x->busy;
    ++x->admitted;
  }
  if (d.what == decision::kind::hold)
    hold(*x, call.id, e, first);
  rest(*x);
  return d;
}

// The policy holds the call, of which it may have asked something already.
void keyed_policy::hold(entry& x, call_id call, const env& e,
                        std::size_t first) {
  held_.insert(call);
  for (auto i = first; i < e.actions.size(); ++i)
    if (e.actions[i].call == call)
      follow(x, e.actions[i]);
}

decision keyed_policy::complete(call_info& call, slot& notes, outcome& result,
                                env& e) {
  see(e);
  auto* x = is_gone(call.id) ? nullptr : find(call);
  if (!x)
    return decision::pass();
  auto first = e.actions.size();
  auto d = turn(*x, e, [&](policy& p, env& inner) {
    return p.complete(call, notes, result, inner);
  });
  if (d.what == decision::kind::hold)
    hold(*x, call.id, e, first);
  else
    leave(*x, call.id);
  rest(*x);
  return d;
}

void keyed_policy::abandon(call_info& call, slot& notes, const outcome& why,
                           bool in_flight, env& e) {
  see(e);
  auto* x = is_gone(call.id) ? nullptr : find(call);
  if (!x)
    return;
  turn(*x, e, [&](policy& p, env& inner) {
    p.abandon(call, notes, why, in_flight, inner);
  });
  leave(*x, call.id);
  rest(*x);
}

decision keyed_policy::child_done(call_id child, outcome& result, env& e) {
  see(e);
  auto i = children_.find(child);
  if (i == children_.end())
    return decision::pass();
  auto& x = *i->second;
  children_.erase(i);
  auto d = turn(x, e, [&](policy& p, env& inner) {
    return p.child_done(child, result, inner);
  });
  less_busy(x);
  rest(x);
  return d;
}

decision keyed_policy::refuse(keyed_counter why, std::string_view detail,
                              const call_info& call, env& e) {
  counters_.add(why);
  e.emit({.kind = event_kind::rejected,
          .to = name_of(errc::shed),
          .detail = detail,
          .call = call.id,
          .key = call.key});
  return decision::reject(errc::shed);
}

// -- time ---------------------------------------------------------------------

decision keyed_policy::expire(call_info& call, slot& notes, env& e) {
  see(e);
  auto* x = find(call);
  if (!x)
    return decision::pass();
  auto d = turn(
    *x, e, [&](policy& p, env& inner) { return p.expire(call, notes, inner); });
  if (d.what == decision::kind::pass)
    forget_held(call.id);
  else if (d.what == decision::kind::reject)
    leave(*x, call.id);
  rest(*x);
  return d;
}

decision keyed_policy::deadline_passed(call_info& call, slot& notes, env& e) {
  see(e);
  auto* x = find(call);
  if (!x || passing_.contains(call.id))
    return decision::pass();
  auto d = turn(*x, e, [&](policy& p, env& inner) {
    return p.deadline_passed(call, notes, inner);
  });
  // A host that only observes lets the call go on, and completes it later.
  if (d.what == decision::kind::reject && (!enforces_ || enforces_()))
    leave(*x, call.id);
  rest(*x);
  return d;
}

time_point keyed_policy::latest_end(const call_info& call, slot& notes) const {
  auto* x = find(call);
  return x && !passing_.contains(call.id) ? x->machine->latest_end(call, notes)
                                          : never;
}

void keyed_policy::attempt_timed_out(std::string_view key, env& e) {
  see(e);
  auto* x = key.empty() ? shared_.get() : table_.find(key);
  if (!x)
    return;
  turn(*x, e, [&](policy& p, env& inner) { p.attempt_timed_out(key, inner); });
  update_circuit(*x);
}

time_point keyed_policy::wakeup() const {
  auto next = timers_.next();
  for (auto* list : {&idle_, &guarded_})
    if (!list->empty())
      next = std::min(next, std::max(expiry_at_, time_after(list->front().used,
                                                            per_key().idle)));
  return has_chores() ? std::min(next, chores_at_) : next;
}

// One policy at a time, so that the host sees to its requests before the next.
void keyed_policy::wake(env& e) {
  see(e);
  if (auto due = timers_.pop_due(e.now)) {
    auto& x = **due;
    if (x.life != life_)
      return; // A reset has dropped it.
    x.wake_at = never;
    turn(x, e, [](policy& p, env& inner) { p.wake(inner); });
    if (&x != blank_.get())
      update_circuit(x);
    return;
  }
  if (has_chores() && chores_at_ <= e.now)
    do_chores(e);
  auto budget = most_at_once;
  expire_idle(idle_, budget, e);
  expire_idle(guarded_, budget, e);
  expiry_at_ = budget == 0 ? time_after(e.now, pause) : time_point::min();
}

} // namespace caisson
