#include <caisson/policies/keyed/keyed.hpp>

#include <caisson/policies/keyed/key_env.hpp>
#include <caisson/policy/callback.hpp>

#include <algorithm>
#include <type_traits>
#include <utility>

namespace caisson {

void keyed_policy::start() {
  keys_.start(make({}));
  keys_.allow_shared(per_key().keyless == keyless_calls::share);
}

// -- turns --------------------------------------------------------------------

// Takes note of what a policy has asked for, from the request `first` on.
// Inlined: as a rule it has asked for nothing.
[[gnu::always_inline]] inline void keyed_policy::carry(entry& x, env& e,
                                                       std::size_t first) {
  if (e.actions.size() > first) [[unlikely]]
    calls_.follow_all(x, e, first);
  keys_.update_timer(x);
}

template <class F>
decltype(auto) keyed_policy::turn_as_it_is(entry& x, env& e, F f, bool quiet) {
  auto first = e.actions.size();
  keys_.touch(x);
  auto ask = [&]() -> decltype(auto) {
    detail::key_env inner{calls_, x, e, quiet};
    return f(*x.machine, static_cast<env&>(inner));
  };
  // If it throws, the host ends, and nothing is carried out.
  if constexpr (std::is_void_v<decltype(ask())>) {
    ask();
    carry(x, e, first);
  } else {
    decltype(auto) result = ask();
    carry(x, e, first);
    return result;
  }
}

template <class F>
decltype(auto) keyed_policy::turn(entry& x, env& e, F f, bool quiet) {
  if (x.epoch != changes_.epoch())
    catch_up(x, e);
  return turn_as_it_is(x, e, f, quiet);
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
    x = entry_for(call, refusal, e);
    if (!x)
      return refusal;
  }
  calls_.arrive(call.id);
  auto first = e.actions.size();
  auto d = turn(*x, e, f);
  if (d.what != decision::kind::reject)
    calls_.enter(*x);
  if (d.what == decision::kind::hold)
    calls_.hold(*x, call.id, e, first);
  keys_.rest(*x);
  return d;
}

decision keyed_policy::complete(call_info& call, slot& notes, outcome& result,
                                env& e) {
  see(e);
  auto* x = calls_.is_gone(call.id) ? nullptr : keys_.find(call.key);
  if (!x)
    return decision::pass();
  auto first = e.actions.size();
  auto d = turn(*x, e, [&](policy& p, env& inner) {
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
  auto* x = calls_.is_gone(call.id) ? nullptr : keys_.find(call.key);
  if (!x)
    return;
  turn(*x, e, [&](policy& p, env& inner) {
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
  auto d = turn(*x, e, [&](policy& p, env& inner) {
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
  if (!x)
    return decision::pass();
  auto d = turn(
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
  auto d = turn(*x, e, [&](policy& p, env& inner) {
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
  turn(*x, e, [&](policy& p, env& inner) { p.attempt_timed_out(key, inner); });
  keys_.update_circuit(*x);
}

time_point keyed_policy::wakeup() const {
  auto next = std::min(keys_.next_timer(),
                       std::max(expiry_at_, keys_.next_expiry(per_key().idle)));
  return has_chores() ? std::min(next, chores_at_) : next;
}

// One policy at a time, so that the host sees to its requests before the next.
void keyed_policy::wake(env& e) {
  see(e);
  if (auto due = keys_.pop_due(e.now)) {
    auto* x = *due;
    if (!x)
      return;
    turn(*x, e, [](policy& p, env& inner) { p.wake(inner); });
    if (!keys_.is_blank(*x))
      keys_.update_circuit(*x);
    return;
  }
  if (has_chores() && chores_at_ <= e.now)
    do_chores(e);
  auto budget = most_at_once;
  expire_idle(false, budget, e);
  expire_idle(true, budget, e);
  expiry_at_ = budget == 0 ? time_after(e.now, pause) : time_point::min();
}

// -- keys that come and go ----------------------------------------------------

// A new entry for a call that arrives; null, and why, if there can be none.
keyed_policy::entry* keyed_policy::entry_for(const call_info& call,
                                             decision& refusal, env& e) {
  if (!call.key.empty() && !make_room(e)) {
    refusal = refuse(keyed_counter::refused_keys,
                     "as many keys as there may be", call, e);
    return nullptr;
  }
  auto entry = make_entry(call.key, e);
  if (!entry) {
    counters_.add(keyed_counter::refused_keys);
    refusal = decision::reject(errc::callback_failed);
    return nullptr;
  }
  counters_.add(keyed_counter::keys_made);
  entry->epoch = changes_.epoch();
  auto& x = keys_.add(std::move(entry), e.random);
  if (const auto* order = changes_.order_at(e.now))
    apply(*order, x, e);
  return &x;
}

// Nothing if the constructor of the policy throws.
std::unique_ptr<keyed_policy::entry>
keyed_policy::make_entry(const std::string& key, env& e) {
  auto make_one = [&] { return std::make_unique<entry>(key, make(key)); };
  return call_user("the policy of a key", make_one, e).value_or(nullptr);
}

// Drops a key that may give way. Returns whether there was one.
bool keyed_policy::evict(env& e) {
  auto* x = keys_.oldest(false);
  if (!x && !changes_.done()) {
    // An order may have closed circuits that are not known to be closed yet.
    visit(e);
    x = keys_.oldest(false);
  }
  if (!x)
    return false;
  counters_.add(keyed_counter::keys_evicted);
  keys_.drop(*x);
  return true;
}

// For one more key. There may be more than `max_keys` if that was lowered.
bool keyed_policy::make_room(env& e) {
  for (auto left = most_at_once; keys() >= per_key().max_keys; --left) {
    // The others that are too many follow.
    if (left == 0)
      return shrinking_;
    if (!evict(e))
      return false;
  }
  return true;
}

void keyed_policy::expire_idle(bool guarded, std::size_t& budget, env& e) {
  for (; budget > 0; --budget) {
    auto* x = keys_.oldest(guarded);
    if (!x || time_after(x->used, per_key().idle) > keys_.clock())
      return;
    if (x->epoch != changes_.epoch())
      catch_up(*x, e);
    if (is_idle(*x->machine, keys_.clock())) {
      counters_.add(keyed_counter::keys_expired);
      keys_.drop(*x);
    } else {
      // It is looked at again after as much time.
      keys_.rest(*x);
    }
  }
}

// -- changes for all keys -----------------------------------------------------

bool keyed_policy::command(policy_command c, env& e) {
  see(e);
  auto send = [&](policy& p, env& inner) { return p.command(c, inner); };
  if (!turn(keys_.blank(), e, send))
    return false;
  if (c.what == operator_command::reset)
    clear(e);
  else
    send_all(changes_.order(c.what, time_after(e.now, c.time)), e);
  return true;
}

void keyed_policy::drain(env& e) {
  see(e);
  send_all({.what = detail::key_change::kind::drained}, e);
}

void keyed_policy::adopt(env& e) {
  see(e);
  keys_.allow_shared(per_key().keyless == keyless_calls::share);
  detail::key_change next{.what = detail::key_change::kind::reconfigured};
  apply(next, keys_.blank(), e);
  keys_.follow_blank();
  send_all(next, e);
  shrinking_ = true;
  shrink(e);
  keys_.drop_shared();
}

// Those with calls get it at once, as what these wait for may come now.
void keyed_policy::send_all(const detail::key_change& c, env& e) {
  changes_.add(c);
  keys_.blank().epoch = changes_.epoch();
  if (keys() > most_at_once)
    for (auto* x : keys_.those_at_work())
      catch_up_and_rest(*x, e);
  visit(e);
  if (auto* x = keys_.shared())
    catch_up_and_rest(*x, e);
  chores_at_ = time_after(e.now, pause);
}

void keyed_policy::apply(const detail::key_change& c, entry& x, env& e) {
  using kind = detail::key_change::kind;
  auto deliver = [&](policy& p, env& inner) {
    switch (c.what) {
      case kind::reconfigured:
        return change(x.key, p, inner);
      case kind::drained:
        return p.drain(inner);
      case kind::ordered:
        if (c.until > e.now)
          p.command({c.command, time_until(c.until, e.now)}, inner);
        else // It has replaced an earlier order, and is over.
          p.command(operator_command::enable, inner);
    }
  };
  // The host reports an order itself.
  turn_as_it_is(x, e, deliver, c.what == kind::ordered);
}

void keyed_policy::catch_up(entry& x, env& e) {
  changes_.catch_up(x, [&](const detail::key_change& c) { apply(c, x, e); });
}

void keyed_policy::catch_up_and_rest(entry& x, env& e) {
  catch_up(x, e);
  keys_.update_circuit(x);
}

void keyed_policy::visit(env& e) {
  changes_.visit(keys_, most_at_once,
                 [&](entry& x) { catch_up_and_rest(x, e); });
}

bool keyed_policy::has_chores() const noexcept {
  return !changes_.done() || keys_.has_remains() || shrinking_;
}

void keyed_policy::do_chores(env& e) {
  visit(e);
  shrink(e);
  keys_.free_remains(most_at_once);
  chores_at_ = time_after(e.now, pause);
}

void keyed_policy::shrink(env& e) {
  for (auto left = most_at_once; shrinking_ && left > 0; --left)
    shrinking_ = keys() > per_key().max_keys && evict(e);
}

// Drops all keys without calls, but frees few of them now.
void keyed_policy::clear(env& e) {
  auto emit = [](policy& p, env& inner) {
    return p.command(operator_command::reset, inner);
  };
  auto reset = [&](entry& x) {
    turn(x, e, emit, true);
    x.admitted = 0;
    keys_.update_circuit(x);
  };
  for (auto* x : keys_.those_at_work())
    reset(*x);
  if (auto* x = keys_.shared())
    reset(*x);
  keys_.clear();
  changes_.clear();
  counters_.clear();
  shrinking_ = false;
  keys_.free_remains(most_at_once);
  chores_at_ = time_after(e.now, pause);
}

// -- reports ------------------------------------------------------------------

std::string_view keyed_policy::state() const {
  return keys_.worst().machine->state();
}

circuit keyed_policy::circuit(std::string_view key) const noexcept {
  const auto* x = keys_.find(key);
  // One that has not followed the last order yet has the circuit of a new one.
  if (!x || changes_.awaits_order(*x, keys_.clock()))
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
