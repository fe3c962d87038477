#include <caisson/policies/cache/cache_writes.hpp>

#include <caisson/base/ensure.hpp>
#include <caisson/policy/call_number.hpp>

#include <algorithm>
#include <utility>

namespace caisson::detail {

// -- writes -------------------------------------------------------------------

bool cache_writes::holds(std::string_view key) const {
  return entries_.find(key) != entries_.end();
}

const kept_message* cache_writes::value(std::string_view key) const {
  auto i = entries_.find(key);
  return i == entries_.end() ? nullptr : &i->second.latest.value;
}

bool cache_writes::accepts(const cache_config& c, std::string_view key,
                           time_point now) const {
  if (!by_age_.empty() && time_after(by_age_.begin()->at, c.staleness) <= now)
    return false;
  auto i = entries_.find(key);
  return i == entries_.end() ? entries_.size() < c.max_unwritten
                             : i->second.waiting.empty();
}

bool cache_writes::put(const cache_config& c, const std::string& key,
                       cache_write x, time_point now) {
  auto [i, is_new] = entries_.try_emplace(key);
  auto& saved = i->second;
  auto replaces = !is_new && saved.latest.content;
  if (replaces)
    saved.refusals = 0;
  saved.latest = std::move(x);
  if (is_new) {
    saved.number = ++numbers_;
    saved.since = now;
    saved.due = hurried_ ? now : time_after(now, c.flush_after);
    by_age_.insert(oldest_turn(i));
    by_due_.insert(due_turn(i));
  } else if (!replaces) {
    saved.newer_since = now;
  }
  CAISSON_ENSURE(by_age_.size() == entries_.size()
                   && by_due_.size() + flushes_.size() == entries_.size(),
                 "{} writes, {} by age, {} are due, {} in flight",
                 entries_.size(), by_age_.size(), by_due_.size(),
                 flushes_.size());
  return replaces;
}

cache_writes::place cache_writes::wait(std::string_view key, call_id call,
                                       time_point now) {
  auto i = entries_.find(key);
  CAISSON_ENSURE(i != entries_.end(), "there is no write of the key {}", key);
  auto& saved = i->second;
  // One that failed keeps its time, as the worker may be overloaded.
  if (saved.child == 0 && saved.failures == 0)
    set_due(i, std::min(saved.due, now));
  return saved.waiting.insert(saved.waiting.end(), call);
}

void cache_writes::leave(std::string_view key, place at) {
  auto i = entries_.find(key);
  CAISSON_ENSURE(i != entries_.end() && !i->second.waiting.empty(),
                 "no call waits for the key {}", key);
  i->second.waiting.erase(at);
}

void cache_writes::hurry(time_point now) {
  hurried_ = true;
  std::set<turn> all;
  for (const auto& x : by_due_) {
    x.entry->second.due = std::min(x.at, now);
    all.insert(due_turn(x.entry));
  }
  CAISSON_ENSURE(all.size() == by_due_.size(), "{} of {} writes are due",
                 all.size(), by_due_.size());
  by_due_ = std::move(all);
}

// -- flushes ------------------------------------------------------------------

time_point cache_writes::due(const cache_config& c) const {
  auto most = careful_ ? 1 : c.flushes;
  if (by_due_.empty() || flushes_.size() >= most)
    return never;
  return std::max(by_due_.begin()->at, paused_until_);
}

const std::string& cache_writes::next_key() const {
  return by_due_.begin()->entry->first;
}

const cache_write& cache_writes::next_write() const {
  return by_due_.begin()->entry->second.latest;
}

void cache_writes::sent(call_id child) {
  CAISSON_ENSURE(!by_due_.empty() && by_age_.size() == entries_.size(),
                 "{} writes are due, of {}", by_due_.size(), entries_.size());
  auto i = by_due_.begin()->entry;
  auto& saved = i->second;
  CAISSON_ENSURE(saved.child == 0, "call {} flushes the key {} already",
                 call_number(saved.child), i->first);
  by_due_.erase(by_due_.begin());
  saved.sending = std::exchange(saved.latest.content, nullptr);
  saved.child = child;
  flushes_.emplace(child, i);
}

kept_message cache_writes::content(call_id child) const {
  auto i = flushes_.find(child);
  return i == flushes_.end() ? nullptr : i->second->second.sending;
}

cache_writes::result cache_writes::written(call_id child, const cache_config& c,
                                           time_point now) {
  careful_ = false;
  paused_until_ = time_point::min();
  return finish(end_flush(child), c, now);
}

void cache_writes::failed(call_id child, const cache_config& c,
                          time_point now) {
  constexpr std::uint32_t most_doublings = 5;
  auto i = end_flush(child);
  auto& saved = i->second;
  // What came meanwhile replaces it.
  if (!saved.latest.content)
    saved.latest.content = saved.sending;
  else
    saved.refusals = 0;
  saved.sending = nullptr;
  auto doublings = std::min(saved.failures++, most_doublings);
  saved.due = time_after(now, c.flush_backoff * (1 << doublings));
  by_due_.insert(due_turn(i));
  careful_ = true;
  paused_until_ = time_after(now, c.flush_backoff);
}

std::uint32_t cache_writes::refused(call_id child) {
  return ++flushes_.at(child)->second.refusals;
}

cache_writes::result cache_writes::lost(call_id child, const cache_config& c,
                                        time_point now) {
  // The worker has answered, so it is there.
  careful_ = false;
  paused_until_ = time_point::min();
  auto i = end_flush(child);
  if (!i->second.latest.content)
    i->second.latest.value = nullptr;
  return finish(i, c, now);
}

cache_writes::entry_map::iterator cache_writes::end_flush(call_id child) {
  auto node = flushes_.extract(child);
  CAISSON_ENSURE(!node.empty(), "call {} is not a flush", call_number(child));
  auto i = node.mapped();
  CAISSON_ENSURE(i->second.child == child, "the key {} is with call {}",
                 i->first, call_number(i->second.child));
  i->second.child = 0;
  return i;
}

// The worker lacks nothing of what was in progress.
cache_writes::result cache_writes::finish(entry_map::iterator i,
                                          const cache_config& c,
                                          time_point now) {
  auto& saved = i->second;
  saved.sending = nullptr;
  saved.failures = saved.refusals = 0;
  if (saved.latest.content) {
    set_since(i, saved.newer_since);
    auto at_once = hurried_ || !saved.waiting.empty();
    saved.due = at_once ? now : time_after(saved.newer_since, c.flush_after);
    by_due_.insert(due_turn(i));
    return {.key = i->first};
  }
  auto erased = by_age_.erase(oldest_turn(i));
  CAISSON_ENSURE(erased == 1, "the write of the key {} has no age", i->first);
  result out{i->first, true, std::move(saved.latest.value),
             std::move(saved.waiting)};
  entries_.erase(i);
  return out;
}

void cache_writes::set_due(entry_map::iterator i, time_point at) {
  auto erased = by_due_.erase(due_turn(i));
  CAISSON_ENSURE(erased == 1, "the write of the key {} was not due", i->first);
  i->second.due = at;
  by_due_.insert(due_turn(i));
}

void cache_writes::set_since(entry_map::iterator i, time_point at) {
  auto erased = by_age_.erase(oldest_turn(i));
  CAISSON_ENSURE(erased == 1, "the write of the key {} has no age", i->first);
  i->second.since = at;
  by_age_.insert(oldest_turn(i));
}

} // namespace caisson::detail
