// How a cache carries out writes that it has acknowledged.
#include <caisson/policies/cache/cache.hpp>

#include <caisson/base/ensure.hpp>

#include <fmt/format.h>

#include <utility>

namespace caisson {

// -- calls --------------------------------------------------------------------

// The layer is off: only the order of writes is seen to, so that one that was
// acknowledged, or will be, never overtakes another.
decision cache::pass_by(const call_info& call, progress& saved, cache_lookup& x,
                        env& e) {
  const auto& key = x.key ? *x.key : call.key;
  if (key.empty() || key.size() > longest_key || x.use == cache_use::bypass)
    return decision::pass();
  if (x.use != cache_use::read) {
    saved.at = pin(key);
    return alter(call, saved, x, e);
  }
  if (!may_read(call) || !writes_.holds(key))
    return decision::pass();
  saved.at = pin(key);
  return look_up(call, saved, x, e);
}

decision cache::alter(const call_info& call, progress& saved, cache_lookup& x,
                      env& e) {
  const auto& key = saved.at->first;
  auto is_write = x.use == cache_use::write && x.acts == mode::enforce;
  // While another change is below, it is unknown which one the worker sees
  // last.
  if (is_write && !call.written_back && content_.keep
      && saved.at->second.changing == 0 && writes_.accepts(config_, key, e.now))
    return acknowledge(call, saved, x, e);
  count(is_write ? counter::not_acknowledged : counter::invalidated);
  if (writes_.holds(key)) {
    saved.where = stage::queued;
    saved.load = saved.at->second.releases;
    saved.queue = writes_.wait(key, call.id, e.now);
    return decision::hold().in_every_mode();
  }
  saved.where = stage::changing;
  begin_changes(saved.at, 1);
  return decision::pass();
}

decision cache::acknowledge(const call_info& call, progress& saved,
                            cache_lookup& x, env& e) {
  count(counter::written);
  if (writes_.size() == 0)
    e.hold_open(true);
  if (writes_.put(config_, saved.at->first,
                  {content_.keep(x.content), std::move(x.value), call.priority},
                  e.now))
    count(counter::merged);
  invalidate(saved.at);
  return answer(call, saved, std::move(x.answer), e);
}

// Whether it goes down, or is about to.
bool cache::was_released(const progress& saved) const noexcept {
  return saved.load != saved.at->second.releases;
}

void cache::begin_changes(record_map::iterator at, std::uint32_t n) {
  at->second.changing += n;
  invalidate(at);
}

void cache::end_change(progress& saved) {
  CAISSON_ENSURE(saved.at->second.changing > 0, "nothing changes the key {}",
                 saved.at->first);
  --saved.at->second.changing;
  // What was read while it was below may be from before it.
  invalidate(saved.at);
}

// -- flushes ------------------------------------------------------------------

void cache::wake(env& e) {
  start_again(e);
  do_chores(e.now);
  while (writes_.due(config_) <= e.now) {
    auto child = e.start_child(
      {.deadline = time_after(e.now, config_.flush_timeout),
       .key = writes_.next_key(),
       .priority = writes_.next_write().priority,
       // It may be sent again, so it may also be carried out twice.
       .idempotent = idempotence::yes,
       .written_back = true});
    writes_.sent(child);
  }
}

void cache::drain(env& e) {
  draining_ = true;
  writes_.hurry(e.now);
}

void cache::set_enforced(bool yes) {
  if (!yes)
    writes_.hurry(time_point::min());
  else if (!draining_)
    writes_.take_time();
}

void cache::flush_done(call_id child, const outcome& result, env& e) {
  auto refusals = is_refusal(result) ? writes_.refused(child) : 0;
  switch (judge_flush(config_, result, refusals, e)) {
    case verdict::success:
      count(counter::flushed);
      return clean(writes_.written(child, config_, e.now), e);
    case verdict::failure: {
      count(counter::lost);
      auto rest = writes_.lost(child, config_, e.now);
      emit_lost(rest.key, result, e);
      return clean(std::move(rest), e);
    }
    default:
      count(counter::flush_failed);
      writes_.failed(child, config_, e.now);
  }
}

void cache::emit_lost(const std::string& key, const outcome& o, env& e) {
  auto why = o.own_error ? std::string{name_of(static_cast<errc>(o.code))}
                         : fmt::format("the worker's error {}", o.code);
  e.emit({.kind = event_kind::write_lost, .detail = why, .key = key});
}

// Keeps what the worker has now, and lets those go that waited for it.
void cache::clean(detail::cache_writes::result x, env& e) {
  if (!x.clean)
    return;
  CAISSON_ENSURE(writes_.in_flight() <= writes_.size(),
                 "{} of {} writes are in flight", writes_.in_flight(),
                 writes_.size());
  if (writes_.size() == 0)
    e.hold_open(false);
  auto at = pin(x.key);
  if (!x.waiting.empty()) {
    ++at->second.releases;
    begin_changes(at, static_cast<std::uint32_t>(x.waiting.size()));
    for (auto id : x.waiting)
      e.resume(id);
  } else if (x.value) {
    auto ttl = ttl_of(x.value.get(), e);
    count(ttl > duration::zero() ? counter::stored : counter::not_stored);
    if (ttl > duration::zero())
      keep(at, std::move(x.value), time_after(e.now, ttl));
  }
  unpin(at);
}

} // namespace caisson
