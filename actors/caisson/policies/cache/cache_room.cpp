// How a cache makes room: few answers in each turn.
#include <caisson/policies/cache/cache.hpp>

#include <caisson/base/ensure.hpp>

#include <algorithm>

namespace caisson {

namespace {

// How many answers one turn drops, and how long the cache then leaves the gate
// to others.
constexpr std::size_t most_dropped_at_once = 1000;
constexpr duration pause_of_drops = std::chrono::milliseconds(1);

} // namespace

// -- what there is no room for ------------------------------------------------

void cache::shrink() {
  for (auto left = most_dropped_at_once;
       left > 0 && used_.size() > config_.max_entries; --left) {
    count(counter::evicted);
    evict(used_.back());
  }
}

void cache::evict(record_map::iterator at) {
  CAISSON_ENSURE(at->second.kept, "nothing is kept for the key {}", at->first);
  drop(at);
  ++at->second.pins;
  unpin(at);
}

void cache::adapt(env& e) {
  shrink();
  chores_at_ = time_after(e.now, pause_of_drops);
}

// -- what is forgotten --------------------------------------------------------

void cache::forget(env& e) {
  forgotten_ = ++loads_;
  for (auto& [child, x] : pending_)
    x.at->second.child = 0;
  ++life_;
  old_.splice(old_.end(), used_);
  drop_old();
  chores_at_ = time_after(e.now, pause_of_drops);
}

// An answer from before the last reset is no answer any more.
void cache::drop_forgotten(record_map::iterator at) {
  if (at->second.kept && at->second.life != life_)
    drop(at);
}

void cache::drop_old() {
  for (auto left = most_dropped_at_once; left > 0 && !old_.empty(); --left)
    evict(old_.front());
}

// -- time ---------------------------------------------------------------------

bool cache::has_chores() const noexcept {
  return !old_.empty() || used_.size() > config_.max_entries;
}

time_point cache::wakeup() const {
  if (!again_.empty())
    return time_point::min();
  auto due = writes_.due(config_);
  return has_chores() ? std::min(due, chores_at_) : due;
}

void cache::do_chores(time_point now) {
  if (!has_chores() || chores_at_ > now)
    return;
  shrink();
  drop_old();
  chores_at_ = time_after(now, pause_of_drops);
}

} // namespace caisson
