#include <caisson/keyed.hpp>

#include <caisson/callback.hpp>

#include <algorithm>
#include <utility>

namespace caisson {

// -- the host of one key's policy ---------------------------------------------

// The policy's requests go into the host's own list, in order; its events get
// the key.
class keyed_policy::inner_env final : public env {
public:
  inner_env(keyed_policy& owner, entry& who, env& host, bool quiet)
    : env(host.now, host.random), owner_(owner), who_(who), host_(host),
      quiet_(quiet) {
    actions.swap(host.actions);
  }

  ~inner_env() override { actions.swap(host_.actions); }

  [[nodiscard]] const wide_histogram* durations(measured what,
                                                bool ok) const override {
    return host_.durations(what, ok);
  }

  // A policy that holds the host open is in use, like one that has a child.
  void hold_open(bool x) override {
    if (x == std::exchange(who_.holds_open, x))
      return;
    x ? ++who_.busy : --who_.busy;
    auto& n = owner_.holding_open_;
    x ? ++n : --n;
    host_.hold_open(n > 0);
  }

  void tell(const event_info& x) override {
    if (quiet_)
      return;
    auto own = x;
    own.key = who_.key;
    host_.tell(own);
  }

  void callback_threw(std::string_view function,
                      std::string_view what) override {
    host_.callback_threw(function, what);
  }

  [[nodiscard]] caisson::circuit circuit() const override {
    return host_.circuit();
  }

  [[nodiscard]] caisson::circuit
  circuit_for(std::string_view key) const override {
    return host_.circuit_for(key);
  }

protected:
  // The host notes the start of the child, too; the base class does that here,
  // behind what was asked for before.
  call_id make_child(child_call c) override {
    auto child = host_.start_child(std::move(c));
    host_.actions.pop_back();
    if (child != 0 && owner_.children_.emplace(child, &who_).second)
      ++who_.busy;
    return child;
  }

private:
  keyed_policy& owner_;
  entry& who_;
  env& host_;
  bool quiet_;
};

// -- turns --------------------------------------------------------------------

template <class F>
decltype(auto) keyed_policy::turn(entry& x, env& e, F f, bool quiet) {
  struct afterwards {
    keyed_policy& owner;
    entry& who;
    env& host;
    std::size_t first = host.actions.size();
    ~afterwards() { owner.carry(who, host, first); }
  } after{*this, x, e};
  inner_env inner{*this, x, e, quiet};
  return f(*x.machine, static_cast<env&>(inner));
}

// Takes note of what a policy has asked for, from the request `first` on.
void keyed_policy::carry(entry& x, env& e, std::size_t first) {
  for (auto i = first; i < e.actions.size(); ++i)
    follow(x, e.actions[i]);
  set_timer(x);
}

void keyed_policy::follow(entry& x, const env::action& a) {
  using kind = env::action::kind;
  if (a.what == kind::cancel_child) {
    if (children_.erase(a.index) > 0)
      --x.busy;
  } else if (a.what == kind::resume || a.what == kind::answer) {
    forget_held(a.call);
  } else if (a.what == kind::reject && held_.erase(a.call) > 0) {
    let_go_.insert(a.call);
    --x.busy;
  }
}

// Passes it to all policies, and then handles those without calls.
template <class F>
void keyed_policy::tell_all(env& e, F f) {
  auto one = [&](entry& x) {
    f(x, e);
    look_at_circuit(x);
  };
  table_.for_each(one);
  if (shared_)
    one(*shared_);
}

void keyed_policy::see(const env& e) {
  clock_ = std::max(clock_, e.now);
  if (!let_go_.empty() && e.now != let_go_at_)
    let_go_.clear();
  let_go_at_ = e.now;
}

void keyed_policy::start() {
  blank_ = std::make_unique<entry>(std::string{}, make({}));
  gone_ = detail::metric_sums{*blank_->machine};
}

// -- calls --------------------------------------------------------------------

decision keyed_policy::admit(call_info& call, slot& notes, env& e) {
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
  auto refusal = decision::pass();
  auto* x = entry_for(call, refusal, e);
  if (!x)
    return refusal;
  if (!let_go_.empty())
    let_go_.erase(call.id);
  auto first = e.actions.size();
  auto d = turn(
    *x, e, [&](policy& p, env& inner) { return p.admit(call, notes, inner); });
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

decision keyed_policy::settle(call_info& call, slot& notes, outcome& result,
                              env& e) {
  see(e);
  auto* x = is_gone(call.id) ? nullptr : find(call);
  if (!x)
    return decision::pass();
  auto first = e.actions.size();
  auto d = turn(*x, e, [&](policy& p, env& inner) {
    return p.settle(call, notes, result, inner);
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
  --x.busy;
  rest(x);
  return d;
}

decision keyed_policy::refuse(keyed_counter why, std::string_view detail,
                              const call_info& call, env& e) {
  counters_.add(why);
  e.tell({.kind = event_kind::rejected,
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
  // A host that only observes lets the call go on, and settles it later.
  if (d.what == decision::kind::reject && (!enforces_ || enforces_()))
    leave(*x, call.id);
  rest(*x);
  return d;
}

time_point keyed_policy::latest_end_for(const call_info& call,
                                        slot& notes) const {
  auto* x = find(call);
  return x && !passing_.contains(call.id)
           ? x->machine->latest_end_for(call, notes)
           : never;
}

void keyed_policy::attempt_timed_out_for(std::string_view key, env& e) {
  see(e);
  auto* x = key.empty() ? shared_.get() : table_.find(key);
  if (!x)
    return;
  turn(*x, e,
       [&](policy& p, env& inner) { p.attempt_timed_out_for(key, inner); });
  look_at_circuit(*x);
}

time_point keyed_policy::wakeup() const {
  auto next = timers_.next();
  for (auto* list : {&idle_, &guarded_})
    if (!list->empty())
      next = std::min(next, time_after(list->front().used, per_key().idle));
  return next;
}

// One policy at a time, so that the host sees to its requests before the next.
void keyed_policy::wake(env& e) {
  see(e);
  if (auto due = timers_.pop_due(e.now)) {
    auto& x = **due;
    x.wake_at = never;
    turn(x, e, [](policy& p, env& inner) { p.wake(inner); });
    if (&x != blank_.get())
      look_at_circuit(x);
    return;
  }
  expire_idle(idle_);
  expire_idle(guarded_);
}

// -- operation ----------------------------------------------------------------

bool keyed_policy::command(operator_command c, env& e) {
  see(e);
  auto tell = [&](policy& p, env& inner) { return p.command(c, inner); };
  if (!turn(*blank_, e, tell))
    return false;
  if (c == operator_command::force_open || c == operator_command::force_closed)
    order_ = {c, never};
  else if (c == operator_command::enable)
    order_.reset();
  auto clears = c == operator_command::reset;
  tell_all(e, [&](entry& x, env& host) {
    turn(x, host, tell, true);
    if (clears)
      x.admitted = 0;
  });
  if (!clears)
    return true;
  drop_unused();
  gone_ = detail::metric_sums{*blank_->machine};
  counters_.clear();
  return true;
}

bool keyed_policy::command_for(operator_command c, duration time, env& e) {
  see(e);
  auto tell = [&](policy& p, env& inner) {
    return p.command_for(c, time, inner);
  };
  if (!turn(*blank_, e, tell))
    return false;
  order_ = {c, time_after(e.now, time)};
  tell_all(e, [&](entry& x, env& host) { turn(x, host, tell, true); });
  return true;
}

// An order that is over is forgotten here, and not before.
void keyed_policy::apply_to_all(entry& x, env& e) {
  if (order_ && order_->until <= e.now)
    order_.reset();
  if (!order_)
    return;
  turn(
    x, e,
    [said = *order_, now = e.now](policy& p, env& inner) {
      return said.until == never
               ? p.command(said.what, inner)
               : p.command_for(said.what, time_until(said.until, now), inner);
    },
    true);
}

void keyed_policy::drain(env& e) {
  see(e);
  tell_all(e, [&](entry& x, env& host) {
    turn(x, host, [](policy& p, env& inner) { p.drain(inner); });
  });
}

void keyed_policy::adopt(env& e) {
  see(e);
  auto renew = [&](entry& x, env& host) {
    turn(x, host, [&](policy& p, env& inner) { change(x.key, p, inner); });
  };
  renew(*blank_, e);
  tell_all(e, renew);
  while (table_.size() > per_key().max_keys && evict()) {
  }
  drop_shared();
}

} // namespace caisson
