#include <caisson/policies/batcher/forming_batches.hpp>

#include <caisson/base/ensure.hpp>

#include <utility>

namespace caisson::detail {

bool forming_batches::contains(const std::string& key) const {
  if (!key.empty())
    return known_.contains(key);
  return unnamed_ != none && !(*this)[unnamed_].empty();
}

const forming_batch* forming_batches::of_shard(const std::string& key) const {
  if (key.empty())
    return find(unnamed_);
  auto i = known_.find(key);
  return i == known_.end() ? nullptr : find(i->second);
}

forming_batches::handle forming_batches::find_or_add(const std::string& key) {
  if (key.empty()) {
    if (unnamed_ == none)
      unnamed_ = entries_.push_back(std::make_unique<entry>());
    return unnamed_;
  }
  auto [i, is_new] = known_.try_emplace(key, none);
  if (is_new) {
    i->second = entries_.push_back(std::make_unique<entry>());
    find_entry(i->second)->key = &i->first;
  }
  return i->second;
}

void forming_batches::reorder(handle h, time_point due, time_point now) {
  auto& x = *find_entry(h);
  CAISSON_ENSURE(x.queued == none || x.timed_for == not_timed,
                 "shard {} is due, and has a timer", h);
  if (x.batch.empty())
    return drop(h);
  if (due <= now) {
    cancel_timer(x);
    if (x.queued == none)
      x.queued = queue_.push_back(h);
    return;
  }
  if (x.queued != none)
    queue_.erase(std::exchange(x.queued, none));
  if (x.timed_for == not_timed)
    x.timer = timers_.push(due, h);
  else if (x.timed_for != due)
    timers_.update(x.timer, due);
  x.timed_for = due;
}

void forming_batches::drop(handle h) {
  auto& x = *find_entry(h);
  cancel_timer(x);
  if (x.queued != none)
    queue_.erase(std::exchange(x.queued, none));
  if (!x.key)
    return;
  auto known = known_.find(*x.key);
  CAISSON_ENSURE(known != known_.end() && known->second == h,
                 "one of {} shards is not known", known_.size());
  known_.erase(known);
  entries_.erase(h);
}

void forming_batches::cancel_timer(entry& x) {
  if (x.timed_for == not_timed)
    return;
  auto cancelled = timers_.cancel(x.timer);
  CAISSON_ENSURE(cancelled, "a timer of {} is not set", timers_.size());
  x.timed_for = not_timed;
}

void forming_batches::queue_timers(time_point now) {
  while (auto h = timers_.pop_due(now)) {
    auto& x = *find_entry(*h);
    CAISSON_ENSURE(x.queued == none && x.timed_for <= now,
                   "shard {} becomes due twice, or too early", *h);
    x.timed_for = not_timed;
    x.queued = queue_.push_back(*h);
  }
}

forming_batches::handle forming_batches::take_queued() {
  if (queue_.empty())
    return none;
  auto place = queue_.front();
  auto h = queue_.erase(place);
  auto* x = find_entry(h);
  CAISSON_ENSURE(x && x->queued == place && !x->batch.empty(),
                 "shard {} is not in the queue", h);
  x->queued = none;
  return h;
}

forming_batches::handle forming_batches::take_earliest() {
  auto h = timers_.pop_due(timers_.next());
  if (!h)
    return none;
  find_entry(*h)->timed_for = not_timed;
  return *h;
}

} // namespace caisson::detail
