#include <caisson/policies/keyed/keyed.hpp>

#include <caisson/base/ensure.hpp>
#include <caisson/policy/call_number.hpp>

#include <algorithm>

namespace caisson {

// -- construction -------------------------------------------------------------

void keyed_policy::start() {
  keys_.start(make({}));
  keys_.allow_shared(per_key().keyless == keyless_calls::share);
}

// -- calls --------------------------------------------------------------------

decision keyed_policy::admit(call_info& call, slot& notes, env& e) {
  return take_in(call, e, [&](policy& p, env& inner) {
    return p.admit(call, notes, inner);
  });
}

decision keyed_policy::reserve(call_info& call, slot& notes,
                               const reservation& times, env& e) {
  return take_in(call, e, [&](policy& p, env& inner) {
    return p.reserve(call, notes, times, inner);
  });
}

// Passes the call on to the policy of its key, which `f` asks.
template <class F>
decision keyed_policy::take_in(const call_info& call, env& e, F f) {
  see(e);
  if (call.key.empty()) {
    counters_.add(keyed_counter::keyless);
    if (per_key().keyless == keyless_calls::pass) {
      calls_.pass(call.id);
      return decision::pass();
    }
    if (per_key().keyless == keyless_calls::reject)
      return refuse(keyed_counter::refused_keyless, "no key", call, e);
  }
  auto* x = keys_.find(call.key);
  if (!x) [[unlikely]] {
    auto refusal = decision::pass();
    x = add_key(call, refusal, e);
    if (!x)
      return refusal;
  }
  calls_.arrive(call.id);
  auto first = e.actions.size();
  auto d = turns_.turn(*x, e, f);
  if (d.what != decision::kind::reject)
    calls_.enter(*x);
  if (d.what == decision::kind::hold)
    calls_.hold(*x, call.id, e, first);
  keys_.rest(*x);
  return d;
}

// A new key for a call that arrives; null, and why, if there can be none.
detail::key_entry* keyed_policy::add_key(const call_info& call,
                                         decision& refusal, env& e) {
  if (!call.key.empty() && !room_.make_room(e)) {
    refusal = refuse(keyed_counter::refused_keys, "max_keys reached", call, e);
    return nullptr;
  }
  auto* x = room_.add(call.key, e);
  if (!x) {
    counters_.add(keyed_counter::refused_keys);
    refusal = decision::reject(errc::callback_failed);
  }
  return x;
}

// The key of a call that comes back; null if no policy has the call. Inlined,
// as every call comes by.
[[gnu::always_inline]] inline detail::key_entry*
keyed_policy::take_back(const call_info& call) {
  if (calls_.is_gone(call.id))
    return nullptr;
  auto* x = keys_.find(call.key);
  CAISSON_ENSURE(x, "the key of call {} is gone", call_number(call.id));
  return x;
}

decision keyed_policy::complete(call_info& call, slot& notes, outcome& result,
                                env& e) {
  see(e);
  auto* x = take_back(call);
  if (!x)
    return decision::pass();
  auto first = e.actions.size();
  auto d = turns_.turn(*x, e, [&](policy& p, env& inner) {
    return p.complete(call, notes, result, inner);
  });
  if (d.what == decision::kind::hold)
    calls_.hold(*x, call.id, e, first);
  else
    calls_.leave(*x, call.id);
  keys_.rest(*x);
  return d;
}

void keyed_policy::abandon(call_info& call, slot& notes, const outcome& why,
                           bool in_flight, env& e) {
  see(e);
  auto* x = take_back(call);
  if (!x)
    return;
  turns_.turn(*x, e, [&](policy& p, env& inner) {
    p.abandon(call, notes, why, in_flight, inner);
  });
  calls_.leave(*x, call.id);
  keys_.rest(*x);
}

decision keyed_policy::child_done(call_id child, outcome& result, env& e) {
  see(e);
  auto* x = calls_.take_child(child);
  if (!x)
    return decision::pass();
  auto d = turns_.turn(*x, e, [&](policy& p, env& inner) {
    return p.child_done(child, result, inner);
  });
  calls_.end_child(*x);
  keys_.rest(*x);
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
  auto* x = keys_.find(call.key);
  CAISSON_ENSURE(x && calls_.holds(call.id), "call {} is not held",
                 call_number(call.id));
  auto d = turns_.turn(
    *x, e, [&](policy& p, env& inner) { return p.expire(call, notes, inner); });
  if (d.what == decision::kind::pass)
    calls_.go_on(call.id);
  else if (d.what == decision::kind::reject)
    calls_.leave(*x, call.id);
  keys_.rest(*x);
  return d;
}

decision keyed_policy::deadline_passed(call_info& call, slot& notes, env& e) {
  see(e);
  auto* x = keys_.find(call.key);
  if (!x || calls_.passes(call.id))
    return decision::pass();
  CAISSON_ENSURE(x->busy > 0, "the key of call {} does not have it",
                 call_number(call.id));
  auto d = turns_.turn(*x, e, [&](policy& p, env& inner) {
    return p.deadline_passed(call, notes, inner);
  });
  // A host that only observes lets the call go on, and completes it later.
  if (d.what == decision::kind::reject && (!enforces_ || enforces_()))
    calls_.leave(*x, call.id);
  keys_.rest(*x);
  return d;
}

time_point keyed_policy::latest_end(const call_info& call, slot& notes) const {
  const auto* x = keys_.find(call.key);
  return x && !calls_.passes(call.id) ? x->machine->latest_end(call, notes)
                                      : never;
}

void keyed_policy::attempt_timed_out(std::string_view key, env& e) {
  see(e);
  auto* x = keys_.find(key);
  if (!x)
    return;
  turns_.turn(*x, e,
              [&](policy& p, env& inner) { p.attempt_timed_out(key, inner); });
  keys_.update_circuit(*x);
}

time_point keyed_policy::wakeup() const {
  auto next = std::min(keys_.next_timer(), room_.next_expiry());
  return needs_maintenance() ? std::min(next, maintenance_at_) : next;
}

// One policy at a time, so that the host sees to its requests before the next.
void keyed_policy::wake(env& e) {
  see(e);
  if (auto due = keys_.pop_due(e.now)) {
    auto* x = *due;
    if (!x)
      return;
    turns_.turn(*x, e, [](policy& p, env& inner) { p.wake(inner); });
    if (!keys_.is_blank(*x))
      keys_.update_circuit(*x);
    return;
  }
  if (needs_maintenance() && maintenance_at_ <= e.now)
    do_maintenance(e);
  room_.expire(e);
}

bool keyed_policy::needs_maintenance() const noexcept {
  return !turns_.all_follow() || keys_.has_dropped() || room_.is_shrinking();
}

void keyed_policy::do_maintenance(env& e) {
  turns_.visit(e);
  room_.shrink(e);
  keys_.free_dropped(most_at_once);
  delay_maintenance(e);
}

// -- operation ----------------------------------------------------------------

bool keyed_policy::command(policy_command c, env& e) {
  see(e);
  auto send = [&](policy& p, env& inner) { return p.command(c, inner); };
  if (!turns_.turn(keys_.blank(), e, send))
    return false;
  if (c.what == operator_command::reset)
    reset(e);
  else
    turns_.order(c, e);
  delay_maintenance(e);
  return true;
}

void keyed_policy::drain(env& e) {
  see(e);
  turns_.drain(e);
  delay_maintenance(e);
}

void keyed_policy::adopt(env& e) {
  see(e);
  keys_.allow_shared(per_key().keyless == keyless_calls::share);
  turns_.reconfigure(e);
  room_.limit(e);
  keys_.drop_shared();
  delay_maintenance(e);
}

// Drops all keys without calls, but frees few of them now.
void keyed_policy::reset(env& e) {
  auto send = [](policy& p, env& inner) {
    return p.command(operator_command::reset, inner);
  };
  auto begin_again = [&](detail::key_entry& x) {
    turns_.turn(x, e, send, true);
    x.admitted = 0;
    keys_.update_circuit(x);
  };
  for (auto* x : keys_.busy_entries())
    begin_again(*x);
  if (auto* x = keys_.shared())
    begin_again(*x);
  keys_.clear();
  turns_.forget();
  counters_.clear();
  room_.stop_shrinking();
  keys_.free_dropped(most_at_once);
}

std::string_view keyed_policy::state() const {
  return keys_.worst().machine->state();
}

circuit keyed_policy::circuit(std::string_view key) const noexcept {
  const auto* x = keys_.find(key);
  // One that has not followed the last order yet has the circuit of a new one.
  if (!x || turns_.awaits_order(*x))
    x = &keys_.blank();
  return x->machine->circuit(key);
}

void keyed_policy::list_metrics(std::vector<metric>& out) const {
  std::vector<metric> sums;
  keys_.list_sums(sums);
  std::vector<metric> own;
  counters_.list(own);
  own.push_back({"keys", static_cast<std::int64_t>(keys()), true});
  // A policy may have a number of a name that is taken here.
  for (const auto& m : sums)
    if (std::none_of(own.begin(), own.end(),
                     [&](const metric& x) { return x.name == m.name; }))
      out.push_back(m);
  out.insert(out.end(), own.begin(), own.end());
}

std::vector<key_report> keyed_policy::busiest(std::size_t n) const {
  return keys_.busiest(n);
}

} // namespace caisson
