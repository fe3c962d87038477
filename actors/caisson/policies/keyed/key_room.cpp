#include <caisson/policies/keyed/key_room.hpp>

#include <caisson/base/ensure.hpp>
#include <caisson/policy/callback.hpp>

#include <memory>
#include <utility>

namespace caisson::detail {

// -- number -------------------------------------------------------------------

// There may be more than `max_keys` if that was lowered.
bool key_room::make_room(env& e) {
  for (auto left = key_pace::most_at_once;
       keys_.size() >= kind_.per_key().max_keys; --left) {
    // The others that are too many follow.
    if (left == 0)
      return shrinking_;
    if (!evict(e))
      return false;
  }
  return true;
}

key_entry* key_room::add(const std::string& key, env& e) {
  CAISSON_ENSURE(key.empty() || shrinking_
                   || keys_.size() < kind_.per_key().max_keys,
                 "there are {} keys, and one more", keys_.size());
  auto make_one = [&] {
    return std::make_unique<key_entry>(key, kind_.make(key));
  };
  auto entry = call_user("the policy of a key", make_one, e).value_or(nullptr);
  if (!entry)
    return nullptr;
  counters_.add(keyed_counter::keys_made);
  auto& x = keys_.add(std::move(entry), e.random);
  turns_.begin(x, e);
  return &x;
}

// Drops a key that may give way. Returns whether there was one.
bool key_room::evict(env& e) {
  auto* x = keys_.oldest(false);
  if (!x && !turns_.all_follow()) {
    // An order may have closed circuits that are not known to be closed yet.
    turns_.visit(e);
    x = keys_.oldest(false);
  }
  if (!x)
    return false;
  counters_.add(keyed_counter::keys_evicted);
  keys_.drop(*x);
  return true;
}

void key_room::shrink(env& e) {
  for (auto left = key_pace::most_at_once; shrinking_ && left > 0; --left)
    shrinking_ = keys_.size() > kind_.per_key().max_keys && evict(e);
}

// -- time ---------------------------------------------------------------------

void key_room::expire(env& e) {
  auto budget = key_pace::most_at_once;
  expire_list(false, budget, e);
  expire_list(true, budget, e);
  expiry_at_ = budget == 0 ? time_after(e.now, key_pace::pause)
                           : time_point::min();
}

void key_room::expire_list(bool guarded, std::size_t& budget, env& e) {
  for (; budget > 0; --budget) {
    auto* x = keys_.oldest(guarded);
    if (!x || time_after(x->used, kind_.per_key().idle) > keys_.clock())
      return;
    CAISSON_ENSURE(x->busy == 0 && x->guarded == guarded,
                   "a key has {} calls, and is listed without", x->busy);
    turns_.catch_up(*x, e);
    if (kind_.is_idle(*x->machine, keys_.clock())) {
      counters_.add(keyed_counter::keys_expired);
      keys_.drop(*x);
    } else {
      // It is looked at again after as much time.
      keys_.rest(*x);
    }
  }
}

} // namespace caisson::detail
