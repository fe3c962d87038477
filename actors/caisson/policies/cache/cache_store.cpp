#include <caisson/policies/cache/cache_store.hpp>

#include <caisson/base/ensure.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

namespace caisson::detail {

namespace {

// How many answers one turn drops, and how long the cache then leaves the gate
// to others.
constexpr std::size_t most_dropped_at_once = 1000;
constexpr duration pause_of_drops = std::chrono::milliseconds(1);

} // namespace

// -- records ------------------------------------------------------------------

cache_store::place cache_store::pin(const std::string& key) {
  auto i = records_.try_emplace(key).first;
  drop_forgotten(i);
  ++i->second.pins;
  return i;
}

void cache_store::unpin(place at) {
  CAISSON_ENSURE(at->second.pins > 0, "nobody has a key that is let go of");
  if (--at->second.pins == 0 && !at->second.kept)
    records_.erase(at);
}

bool cache_store::is_outdated(const record& r,
                              load_number number) const noexcept {
  return number < std::max(r.newest, last_outdated_load_);
}

// -- answers ------------------------------------------------------------------

bool cache_store::add(const std::string& key, kept_message value,
                      time_point expires) {
  auto i = records_.try_emplace(key).first;
  drop_forgotten(i);
  if (i->second.kept)
    return false;
  keep(i, std::move(value), expires, false);
  return true;
}

bool cache_store::keep(place at, kept_message value, time_point expires,
                       bool negative) {
  auto& r = at->second;
  r.value = std::move(value);
  r.expires = expires;
  r.negative = negative;
  r.refresh_at = r.failing_until = time_point::min();
  if (r.kept) {
    touch(at);
    return false;
  }
  r.use = used_.insert(used_.begin(), at);
  r.kept = true;
  r.life = life_;
  CAISSON_ENSURE(used_.size() + old_.size() <= records_.size(),
                 "{} answers are kept for {} keys", used_.size() + old_.size(),
                 records_.size());
  return true;
}

void cache_store::drop(place at) {
  auto& r = at->second;
  if (!r.kept)
    return;
  auto& list = r.life == life_ ? used_ : old_;
  CAISSON_ENSURE(!list.empty() && *r.use == at,
                 "the answer of a key is not in its list");
  list.erase(r.use);
  r.kept = false;
  r.value = nullptr;
}

// Loads that are in flight may have read what was there before.
void cache_store::invalidate(place at) {
  drop(at);
  at->second.newest = ++loads_;
  at->second.child = 0;
}

void cache_store::begin_changes(place at, std::uint32_t n) {
  at->second.changing += n;
  invalidate(at);
}

void cache_store::end_change(place at) {
  CAISSON_ENSURE(at->second.changing > 0,
                 "nothing changes a key whose change ends");
  --at->second.changing;
  // What was read while it was below may be from before it.
  invalidate(at);
}

// -- room ---------------------------------------------------------------------

std::size_t cache_store::shrink(std::size_t most) {
  std::size_t n = 0;
  for (; n < most_dropped_at_once && used_.size() > most; ++n)
    evict(used_.back());
  return n;
}

void cache_store::evict(place at) {
  CAISSON_ENSURE(at->second.kept, "nothing is kept for a key");
  drop(at);
  ++at->second.pins;
  unpin(at);
}

void cache_store::forget(time_point now) {
  last_outdated_load_ = ++loads_;
  ++life_;
  old_.splice(old_.end(), used_);
  CAISSON_ENSURE(used_.empty() && old_.size() <= records_.size(),
                 "{} of {} keys have an old answer", old_.size(),
                 records_.size());
  drop_old();
  pause(now);
}

void cache_store::drop_old() {
  for (auto left = most_dropped_at_once; left > 0 && !old_.empty(); --left)
    evict(old_.front());
}

std::size_t cache_store::do_maintenance(time_point now, std::size_t most) {
  if (!needs_maintenance(most) || maintenance_at_ > now)
    return 0;
  auto n = shrink(most);
  drop_old();
  pause(now);
  return n;
}

void cache_store::pause(time_point now) {
  maintenance_at_ = time_after(now, pause_of_drops);
}

} // namespace caisson::detail
