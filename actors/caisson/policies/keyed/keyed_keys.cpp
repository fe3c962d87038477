// The keys of a keyed policy, and reports about them.
#include <caisson/policies/keyed/keyed.hpp>

#include <caisson/base/ensure.hpp>
#include <caisson/policy/callback.hpp>

#include <algorithm>
#include <utility>

namespace caisson {

// -- finding and making -------------------------------------------------------

// A new entry for a call that arrives; null, and why, if there can be none.
keyed_policy::entry* keyed_policy::entry_for(const call_info& call,
                                             decision& refusal, env& e) {
  if (!call.key.empty() && !make_room(e)) {
    refusal = refuse(keyed_counter::refused_keys,
                     "as many keys as there may be", call, e);
    return nullptr;
  }
  auto made = make_entry(call.key, e);
  if (!made) {
    counters_.add(keyed_counter::refused_keys);
    refusal = decision::reject(errc::callback_failed);
    return nullptr;
  }
  counters_.add(keyed_counter::keys_made);
  auto& x = *made;
  if (call.key.empty())
    shared_ = std::move(made);
  else
    table_.add(std::move(made), e.random);
  x.epoch = epoch_;
  x.life = life_;
  sums_.add(x);
  // An order that is over is forgotten here, and not before.
  if (order_ && order_->until <= e.now)
    order_.reset();
  if (order_)
    apply(*order_, x, e);
  return &x;
}

// Nothing if the constructor of the policy throws.
std::unique_ptr<keyed_policy::entry>
keyed_policy::make_entry(const std::string& key, env& e) {
  auto make_one = [&] { return std::make_unique<entry>(key, make(key)); };
  return call_user("the policy of a key", make_one, e).value_or(nullptr);
}

// -- coming and going ---------------------------------------------------------

void keyed_policy::leave(entry& x, call_id call) {
  forget_held(call);
  less_busy(x);
}

// An entry without calls goes to the end of its list.
void keyed_policy::settle(entry& x) {
  if (&x == shared_.get())
    return drop_shared();
  auto at_work = x.busy > 0;
  static_cast<detail::link<detail::by_use>&>(x).unlink();
  x.at_work = at_work;
  if (at_work)
    return at_work_.push_back(x);
  x.used = clock_;
  x.guarded = is_guarded(x);
  (x.guarded ? guarded_ : idle_).push_back(x);
}

// After anything else: it stays in its place unless its circuit says otherwise.
void keyed_policy::update_circuit(entry& x) {
  auto linked = static_cast<detail::link<detail::by_use>&>(x).linked();
  if (!linked || x.at_work || x.busy > 0 || is_guarded(x) != x.guarded)
    rest(x);
}

// A circuit that is worse than that of a new key would come back closed.
bool keyed_policy::is_guarded(const entry& x) const {
  return x.machine->circuit(x.key) > blank_->machine->circuit({});
}

void keyed_policy::set_timer(entry& x, time_point at) {
  x.wake_at = at;
  if (at == never)
    timers_.cancel(x.timer);
  else if (!timers_.update(x.timer, at))
    x.timer = timers_.push(at, &x);
}

// -- dropping -----------------------------------------------------------------

// Drops a key that may give way. Returns whether there was one.
bool keyed_policy::evict(env& e) {
  // An order may have closed circuits that are not known to be closed yet.
  if (idle_.empty() && !changes_.empty())
    visit(e);
  if (idle_.empty())
    return false;
  counters_.add(keyed_counter::keys_evicted);
  drop(idle_.front());
  return true;
}

// For one more key. There may be more than `max_keys` if that was lowered.
bool keyed_policy::make_room(env& e) {
  for (auto left = most_at_once; table_.size() >= per_key().max_keys; --left) {
    // The others that are too many follow.
    if (left == 0)
      return shrinking_;
    if (!evict(e))
      return false;
  }
  return true;
}

void keyed_policy::expire_idle(entry_list& list, std::size_t& budget, env& e) {
  for (; budget > 0 && !list.empty()
         && time_after(list.front().used, per_key().idle) <= clock_;
       --budget) {
    auto& x = list.front();
    if (x.epoch != epoch_)
      catch_up(x, e);
    if (is_idle(*x.machine, clock_)) {
      counters_.add(keyed_counter::keys_expired);
      drop(x);
    } else {
      // It is looked at again after as much time.
      rest(x);
    }
  }
}

void keyed_policy::drop(entry& x) {
  CAISSON_ENSURE(x.busy == 0, "the key {} has {} calls", x.key, x.busy);
  sums_.remove(x);
  timers_.cancel(x.timer);
  table_.erase(x);
}

// Calls without a key may have a policy no more.
void keyed_policy::drop_shared() {
  if (!shared_ || shared_->busy > 0
      || per_key().keyless == keyless_calls::share)
    return;
  sums_.remove(*shared_);
  timers_.cancel(shared_->timer);
  shared_.reset();
}

// -- what is said -------------------------------------------------------------

std::string_view keyed_policy::state() const {
  return worst()->machine->state();
}

const keyed_policy::entry* keyed_policy::worst() const {
  if (auto* x = sums_.worst())
    return x;
  if (auto* x = table_.front())
    return x;
  return shared_ ? shared_.get() : blank_.get();
}

circuit keyed_policy::circuit(std::string_view key) const noexcept {
  const auto* x = key.empty() ? shared_.get() : table_.find(key);
  // One that has not followed the last order yet has the circuit of a new one.
  if (x && x->epoch != epoch_ && order_ && order_->epoch > x->epoch
      && order_->until > clock_)
    x = nullptr;
  return (x ? x : blank_.get())->machine->circuit(key);
}

void keyed_policy::list_metrics(std::vector<metric>& out) const {
  std::vector<metric> sums;
  sums_.list(sums, *blank_->machine);
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
  std::vector<key_report> out;
  for (const auto* x : sums_.busiest(n)) {
    out.push_back({x->key, x->machine->state(), x->admitted, {}});
    x->machine->list_metrics(out.back().metrics);
  }
  return out;
}

} // namespace caisson
