#include <caisson/policies/cache/cache.hpp>

#include <caisson/base/ensure.hpp>
#include <caisson/policies/cache/cache_flushes.hpp>
#include <caisson/policy/call_number.hpp>
#include <caisson/policy/callback.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace caisson {

// -- construction -------------------------------------------------------------

cache::cache(cache_config c, cache_content content)
  : policy_base(std::move(c)), content_(std::move(content)) {}

bool cache::preheat(const std::string& key, kept_message value, env& e) {
  if (key.empty() || key.size() > longest_key
      || store_.size() >= config_.max_entries
      || !store_.add(key, std::move(value), time_after(e.now, config_.ttl)))
    return false;
  count(counter::preheated);
  return true;
}

// -- calls: reads -------------------------------------------------------------

decision cache::admit(call_info& call, slot& notes, env& e) {
  auto seen = std::exchange(next_, {});
  auto& saved = notes.start<call_state>();
  const auto& key = seen.key ? *seen.key : call.key;
  if (seen.acts == mode::off)
    return pass_by(call, saved, seen, e);
  if (key.empty() || key.size() > longest_key || seen.use == cache_use::bypass
      || (seen.use == cache_use::read && !may_read(call))) {
    count(counter::bypassed);
    return decision::pass();
  }
  saved.at = store_.pin(key);
  if (seen.use == cache_use::read)
    return look_up(call, saved, seen, e);
  return alter(call, saved, seen, e);
}

bool cache::may_read(const call_info& call) const noexcept {
  return config_.cacheable == cacheable_calls::keyed
         || call.idempotent == idempotence::yes;
}

decision cache::look_up(const call_info& call, call_state& saved,
                        const cache_lookup& x, env& e) {
  auto& r = saved.at->second;
  CAISSON_ENSURE(r.pins > 0, "call {} looks up a key that nothing uses",
                 call_number(call.id));
  if (auto* unwritten = writes_.value(saved.at->first)) {
    count(counter::hits);
    return answer(call, saved, *unwritten, e).in_every_mode();
  }
  if (!r.kept)
    return load(call, saved, x.acts, e);
  if (e.now < r.expires)
    return give(call, saved,
                r.negative ? counter::negative_hits : counter::hits, e);
  if (!r.negative && e.now < time_after(r.expires, config_.stale_while)) {
    if (x.acts == mode::observe) {
      // As the call passes, its own answer is the new one.
      count(counter::stale_hits);
      return go_alone(saved);
    }
    auto held = give(call, saved, counter::stale_hits, e);
    refresh(call, saved.at, x.content, e);
    return held;
  }
  if (!can_stand_in(r, e.now)) {
    count(counter::expired);
    store_.drop(saved.at);
  } else if (e.now < r.failing_until) {
    return give(call, saved, counter::stale_on_error, e);
  }
  return load(call, saved, x.acts, e);
}

decision cache::give(const call_info& call, call_state& saved, counter why,
                     env& e) {
  auto& r = saved.at->second;
  count(why);
  store_.touch(saved.at);
  return answer(call, saved, r.value, e);
}

decision cache::answer(const call_info& call, call_state& saved,
                       kept_message value, env& e, bool executed) {
  saved.where = stage::answered;
  // Of its own, as the record may have another one before the call gets it.
  saved.answer = answers_.push_back(std::move(value));
  e.answer(call.id, saved.answer, executed);
  return decision::hold();
}

void cache::leave(call_state& saved) {
  if (saved.where == stage::answered) {
    CAISSON_ENSURE(answers_.find(saved.answer), "answer {} of {}", saved.answer,
                   answers_.size());
    answers_.erase(saved.answer);
  }
  saved.where = stage::bypassing;
  store_.unpin(saved.at);
}

// -- calls: loads -------------------------------------------------------------

decision cache::load(const call_info& call, call_state& saved, mode acts,
                     env& e) {
  if (!config_.single_flight || acts == mode::observe) {
    count(counter::misses);
    return go_alone(saved);
  }
  saved.where = stage::waiting;
  if (loads_.again(saved.at->first))
    return wait_again(call, saved);
  if (loads_.may_join(saved.at->second, config_, e.now))
    return join(call, saved, e);
  count(counter::misses);
  saved.child = loads_.start(store_, saved.at, {.parents = {call.id}}, false,
                             call.deadline, e);
  saved.load = store_.last_load();
  return decision::hold();
}

decision cache::join(const call_info& call, call_state& saved, env& e) {
  count(counter::joined);
  saved.child = saved.at->second.child;
  CAISSON_ENSURE(loads_.is_in_progress(saved.child),
                 "call {} joins call {}, which is no load",
                 call_number(call.id), call_number(saved.child));
  e.join_child(saved.child, call.id);
  // The child may end before the host gets to that; `expire` comes after it.
  return decision::hold(e.now);
}

decision cache::go_alone(call_state& saved) {
  saved.where = stage::alone;
  saved.load = store_.begin_load();
  return decision::pass();
}

// The load ended because those that it was sent for had no more time.
decision cache::load_again(const call_info& call, call_state& saved, env& e) {
  CAISSON_ENSURE(saved.child != 0 && !loads_.is_in_progress(saved.child),
                 "call {} goes on, and its load, call {}, has not ended",
                 call_number(call.id), call_number(saved.child));
  auto& r = saved.at->second;
  if (auto* unwritten = writes_.value(saved.at->first)) {
    count(counter::hits);
    return answer(call, saved, *unwritten, e);
  }
  if (r.kept && e.now < r.expires)
    return give(call, saved,
                r.negative ? counter::negative_hits : counter::hits, e);
  return loads_.may_join(r, config_, e.now) ? join(call, saved, e)
                                            : wait_again(call, saved);
}

decision cache::wait_again(const call_info& call, call_state& saved) {
  auto is_first = loads_.request_again(call, saved.at);
  count(is_first ? counter::misses : counter::joined);
  saved.child = 0;
  saved.load = store_.last_load() + 1;
  return decision::hold();
}

void cache::refresh(const call_info& call, place at, const void* content,
                    env& e) {
  auto child = loads_.refresh(store_, call, at, config_, e);
  if (child && content_.keep)
    loads_.set_content(*child, content_.keep(content));
}

// -- calls: writes and changes ------------------------------------------------

// The layer is off: only the order of writes is seen to, so that one that was
// acknowledged, or will be, never overtakes another.
decision cache::pass_by(const call_info& call, call_state& saved,
                        cache_lookup& x, env& e) {
  const auto& key = x.key ? *x.key : call.key;
  if (key.empty() || key.size() > longest_key || x.use == cache_use::bypass)
    return decision::pass();
  if (x.use != cache_use::read) {
    saved.at = store_.pin(key);
    return alter(call, saved, x, e);
  }
  if (!may_read(call) || !writes_.holds(key))
    return decision::pass();
  saved.at = store_.pin(key);
  return look_up(call, saved, x, e);
}

decision cache::alter(const call_info& call, call_state& saved, cache_lookup& x,
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
  store_.begin_changes(saved.at, 1);
  return decision::pass();
}

decision cache::acknowledge(const call_info& call, call_state& saved,
                            cache_lookup& x, env& e) {
  count(counter::written);
  if (writes_.size() == 0)
    e.hold_open(true);
  if (writes_.put(config_, saved.at->first,
                  {content_.keep(x.content), std::move(x.value), call.priority},
                  e.now))
    count(counter::merged);
  store_.invalidate(saved.at);
  CAISSON_ENSURE(writes_.size() > 0 && !saved.at->second.kept,
                 "a write of call {} is acknowledged, {} are known",
                 call_number(call.id), writes_.size());
  // The worker gets it even if a layer above makes an error of the answer.
  return answer(call, saved, std::move(x.answer), e, true);
}

// Whether it goes down, or is about to.
bool cache::was_released(const call_state& saved) const noexcept {
  return saved.load != saved.at->second.releases;
}

// -- calls: outcomes ----------------------------------------------------------

decision cache::child_done(call_id child, outcome& result, env& e) {
  if (writes_.is_flush(child)) {
    flush_done(child, result, e);
    return decision::pass();
  }
  auto f = loads_.end(child);
  store_.drop_forgotten(f.at);
  auto known = learn(f.at, f.number, result, e);
  if (f.refresh) {
    count(known ? counter::refreshed : counter::refresh_failed);
    if (!known)
      f.at->second.refresh_at = time_after(e.now, config_.refresh_backoff);
  }
  store_.unpin(f.at);
  return decision::pass();
}

decision cache::complete(call_info& call, slot& notes, outcome& result,
                         env& e) {
  auto& saved = notes.as<call_state>();
  switch (saved.where) {
    case stage::bypassing:
      return decision::pass();
    case stage::changing:
    case stage::queued:
      CAISSON_ENSURE(saved.where == stage::changing || was_released(saved),
                     "call {} comes back, and waits for a write",
                     call_number(call.id));
      store_.end_change(saved.at);
      [[fallthrough]];
    case stage::answered:
      leave(saved);
      return decision::pass();
    case stage::alone:
      store_.drop_forgotten(saved.at);
      learn(saved.at, saved.load, result, e);
      break;
    case stage::waiting:
      CAISSON_ENSURE(saved.child != 0 || saved.load > 0,
                     "call {} comes back, and waited for no load",
                     call_number(call.id));
      store_.drop_forgotten(saved.at);
      // It may have had less time than those that joined it. (The content of
      // those that began one is gone with it.)
      if (saved.load == 0 && result.is_time_limit() && e.now < call.deadline
          && loads_.ended_before(call.deadline))
        return load_again(call, saved, e).in_every_mode();
      break;
  }
  auto& r = saved.at->second;
  if (!result.ok && can_stand_in(r, e.now)
      && stands_in_for(config_, result, e)) {
    r.failing_until = time_after(e.now, config_.refresh_backoff);
    e.emit({.kind = event_kind::fell_back, .to = "stale", .call = call.id});
    return give(call, saved, counter::stale_on_error, e);
  }
  leave(saved);
  return decision::pass();
}

void cache::abandon(call_info& call, slot& notes, const outcome&, bool, env&) {
  auto& saved = notes.as<call_state>();
  if (saved.where == stage::bypassing)
    return;
  CAISSON_ENSURE(saved.at->second.pins > 0,
                 "call {} leaves a key that nothing uses",
                 call_number(call.id));
  if (saved.where == stage::queued && !was_released(saved))
    writes_.leave(saved.at->first, saved.queue);
  else if (saved.where == stage::changing || saved.where == stage::queued)
    store_.end_change(saved.at);
  else if (saved.where != stage::answered)
    count(counter::abandoned);
  leave(saved);
}

const void* cache::value(std::uint64_t number) const noexcept {
  auto* x = answers_.find(static_cast<answer_list::handle>(number));
  return x ? x->get() : nullptr;
}

kept_message cache::take_content(call_id child) {
  if (writes_.is_flush(child))
    return writes_.content(child);
  return loads_.take_content(child);
}

// -- what is kept -------------------------------------------------------------

bool cache::learn(place at, load_number number, const outcome& o, env& e) {
  auto& r = at->second;
  CAISSON_ENSURE(r.pins > 0 && number > 0 && number <= store_.last_load(),
                 "load {} of {} ends, {} use its key", number,
                 store_.last_load(), r.pins);
  if (store_.is_outdated(r, number))
    return false;
  if (!o.ok && !is_negative(config_, o, e)) {
    if (r.kept && ends_old_value(config_, o, e)) {
      r.newest = number;
      store_.drop(at);
    }
    return false;
  }
  auto ttl = o.ok ? ttl_of(o.reply, e) : config_.negative_ttl;
  r.newest = number;
  if (ttl <= duration::zero()) {
    // What was kept is not what the worker says now.
    count(counter::not_stored);
    store_.drop(at);
    return false;
  }
  count(o.ok ? counter::stored : counter::stored_negative);
  keep(at, content_.keep && o.reply ? content_.keep(o.reply) : nullptr,
       time_after(e.now, ttl), !o.ok);
  return true;
}

duration cache::ttl_of(const void* reply, env& e) {
  if (!content_.ttl || !reply)
    return config_.ttl;
  auto own = try_user(
    [&] { return content_.ttl(reply); },
    [&](std::string_view what) { note_failure("ttl", what, e); });
  // Without a known lifetime it must not answer other calls.
  return own ? own->value_or(config_.ttl) : duration::zero();
}

bool cache::can_stand_in(const record& r, time_point now) const noexcept {
  return r.kept && !r.negative && config_.stale_if_error > duration::zero()
         && now < time_after(r.expires, config_.stale_if_error);
}

void cache::keep(place at, kept_message value, time_point expires,
                 bool negative) {
  if (store_.keep(at, std::move(value), expires, negative))
    count_evicted(store_.shrink(config_.max_entries));
}

void cache::count_evicted(std::size_t n) {
  for (; n > 0; --n)
    count(counter::evicted);
}

// -- flushes ------------------------------------------------------------------

void cache::flush_done(call_id child, const outcome& result, env& e) {
  auto ended = detail::end_flush(writes_, config_, child, result, e);
  count(ended.what == verdict::success   ? counter::flushed
        : ended.what == verdict::failure ? counter::lost
                                         : counter::flush_failed);
  clean(std::move(ended.rest), e);
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
  auto at = store_.pin(x.key);
  if (!x.waiting.empty()) {
    ++at->second.releases;
    store_.begin_changes(at, static_cast<std::uint32_t>(x.waiting.size()));
    for (auto id : x.waiting)
      e.resume(id);
  } else if (x.value) {
    auto ttl = ttl_of(x.value.get(), e);
    count(ttl > duration::zero() ? counter::stored : counter::not_stored);
    if (ttl > duration::zero())
      keep(at, std::move(x.value), time_after(e.now, ttl));
  }
  store_.unpin(at);
}

// -- time ---------------------------------------------------------------------

decision cache::expire(call_info& call, slot& notes, env& e) {
  auto& saved = notes.as<call_state>();
  CAISSON_ENSURE(saved.where == stage::waiting && saved.child != 0,
                 "call {} is over its time, and waits for no load",
                 call_number(call.id));
  if (loads_.is_in_progress(saved.child))
    return decision::hold();
  return load(call, saved, mode::enforce, e);
}

time_point cache::wakeup() const {
  if (loads_.again())
    return time_point::min();
  return std::min(writes_.due(config_), store_.due(config_.max_entries));
}

void cache::wake(env& e) {
  loads_.start_again(store_, e);
  count_evicted(store_.do_maintenance(e.now, config_.max_entries));
  detail::send_writes(writes_, config_, e);
}

// -- operation ----------------------------------------------------------------

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

void cache::adapt(env& e) {
  count_evicted(store_.shrink(config_.max_entries));
  store_.pause(e.now);
}

void cache::forget(env& e) {
  loads_.forget();
  store_.forget(e.now);
}

void cache::note_failure(std::string_view function, std::string_view what,
                         env& e) {
  // Exception texts come from user code: cut them.
  constexpr std::size_t longest = 512;
  count(counter::callbacks_failed);
  auto text = fmt::format("{}: {}", function, what.substr(0, longest));
  e.emit({.kind = event_kind::callback_failed, .detail = text});
}

void cache::list_gauges(std::vector<metric>& out) const {
  auto gauge = [&](std::string_view name, std::size_t n) {
    out.push_back({name, static_cast<std::int64_t>(n), true});
  };
  gauge("entries", store_.size());
  gauge("loading", loads_.size());
  gauge("keys", store_.keys());
  gauge("unwritten", writes_.size());
  gauge("flushing", writes_.in_flight());
}

} // namespace caisson
