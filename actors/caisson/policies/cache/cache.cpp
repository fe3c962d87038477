#include <caisson/policies/cache/cache.hpp>

#include <caisson/base/ensure.hpp>
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
      || used_.size() >= config_.max_entries)
    return false;
  auto i = records_.try_emplace(key).first;
  drop_forgotten(i);
  if (i->second.kept)
    return false;
  count(counter::preheated);
  keep(i, std::move(value), time_after(e.now, config_.ttl));
  return true;
}

// -- calls: admission ---------------------------------------------------------

decision cache::admit(call_info& call, slot& notes, env& e) {
  auto seen = std::exchange(next_, {});
  auto& saved = notes.start<progress>();
  const auto& key = seen.key ? *seen.key : call.key;
  if (seen.acts == mode::off)
    return pass_by(call, saved, seen, e);
  if (key.empty() || key.size() > longest_key || seen.use == cache_use::bypass
      || (seen.use == cache_use::read && !may_read(call))) {
    count(counter::bypassed);
    return decision::pass();
  }
  saved.at = pin(key);
  if (seen.use == cache_use::read)
    return look_up(call, saved, seen, e);
  return alter(call, saved, seen, e);
}

bool cache::may_read(const call_info& call) const noexcept {
  return config_.cacheable == cacheable_calls::keyed
         || call.idempotent == idempotence::yes;
}

decision cache::look_up(const call_info& call, progress& saved,
                        const cache_lookup& x, env& e) {
  auto& r = saved.at->second;
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
    drop(saved.at);
  } else if (e.now < r.failing_until) {
    return give(call, saved, counter::stale_on_error, e);
  }
  return load(call, saved, x.acts, e);
}

decision cache::give(const call_info& call, progress& saved, counter why,
                     env& e) {
  auto& r = saved.at->second;
  count(why);
  used_.splice(used_.begin(), used_, r.use);
  return answer(call, saved, r.value, e);
}

decision cache::answer(const call_info& call, progress& saved,
                       kept_message value, env& e) {
  saved.where = stage::answered;
  // Of its own, as the record may have another one before the call gets it.
  saved.answer = answers_.push_back(std::move(value));
  e.answer(call.id, saved.answer);
  return decision::hold();
}

// -- calls: outcomes ----------------------------------------------------------

decision cache::child_done(call_id child, outcome& result, env& e) {
  if (writes_.is_flush(child)) {
    flush_done(child, result, e);
    return decision::pass();
  }
  auto node = pending_.extract(child);
  CAISSON_ENSURE(!node.empty(), "call {} is no load", child);
  auto& f = node.mapped();
  drop_forgotten(f.at);
  auto& r = f.at->second;
  ended_until_ = f.until;
  if (r.child == child)
    r.child = 0;
  auto known = learn(f.at, f.number, result, e);
  if (f.refresh) {
    count(known ? counter::refreshed : counter::refresh_failed);
    if (!known)
      r.refresh_at = time_after(e.now, config_.refresh_backoff);
  }
  unpin(f.at);
  return decision::pass();
}

decision cache::complete(call_info& call, slot& notes, outcome& result,
                         env& e) {
  auto& saved = notes.as<progress>();
  switch (saved.where) {
    case stage::bypassing:
      return decision::pass();
    case stage::changing:
    case stage::queued:
      end_change(saved);
      [[fallthrough]];
    case stage::answered:
      leave(saved);
      return decision::pass();
    case stage::alone:
      drop_forgotten(saved.at);
      learn(saved.at, saved.load, result, e);
      break;
    case stage::waiting:
      drop_forgotten(saved.at);
      // It may have had less time than those that joined it. (The content of
      // those that began one is gone with it.)
      if (saved.load == 0 && result.is_time_limit() && e.now < call.deadline
          && ended_until_ < call.deadline)
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

void cache::abandon(call_info&, slot& notes, const outcome&, bool, env&) {
  auto& saved = notes.as<progress>();
  if (saved.where == stage::bypassing)
    return;
  if (saved.where == stage::queued && !was_released(saved))
    writes_.leave(saved.at->first, saved.queue);
  else if (saved.where == stage::changing || saved.where == stage::queued)
    end_change(saved);
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
  auto i = pending_.find(child);
  return i == pending_.end() ? nullptr : std::exchange(i->second.content, {});
}

// -- what is kept -------------------------------------------------------------

bool cache::learn(record_map::iterator at, load_number number, const outcome& o,
                  env& e) {
  auto& r = at->second;
  if (number < std::max(r.newest, forgotten_))
    return false;
  if (!o.ok && !is_negative(config_, o, e)) {
    if (r.kept && ends_old_value(config_, o, e)) {
      r.newest = number;
      drop(at);
    }
    return false;
  }
  auto ttl = o.ok ? ttl_of(o.reply, e) : config_.negative_ttl;
  r.newest = number;
  if (ttl <= duration::zero()) {
    // What was kept is not what the worker says now.
    count(counter::not_stored);
    drop(at);
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

void cache::keep(record_map::iterator at, kept_message value,
                 time_point expires, bool negative) {
  auto& r = at->second;
  r.value = std::move(value);
  r.expires = expires;
  r.negative = negative;
  r.refresh_at = r.failing_until = time_point::min();
  if (r.kept) {
    used_.splice(used_.begin(), used_, r.use);
    return;
  }
  r.use = used_.insert(used_.begin(), at);
  r.kept = true;
  r.life = life_;
  shrink();
}

void cache::drop(record_map::iterator at) {
  auto& r = at->second;
  if (!r.kept)
    return;
  (r.life == life_ ? used_ : old_).erase(r.use);
  r.kept = false;
  r.value = nullptr;
}

// Loads that are in flight may have read what was there before.
void cache::invalidate(record_map::iterator at) {
  drop(at);
  at->second.newest = ++loads_;
  at->second.child = 0;
}

// -- records ------------------------------------------------------------------

cache::record_map::iterator cache::pin(const std::string& key) {
  auto i = records_.try_emplace(key).first;
  drop_forgotten(i);
  ++i->second.pins;
  return i;
}

void cache::unpin(record_map::iterator at) {
  CAISSON_ENSURE(at->second.pins > 0, "nobody has the key {}", at->first);
  if (--at->second.pins == 0 && !at->second.kept)
    records_.erase(at);
}

void cache::leave(progress& saved) {
  if (saved.where == stage::answered) {
    CAISSON_ENSURE(answers_.find(saved.answer), "answer {} of {}", saved.answer,
                   answers_.size());
    answers_.erase(saved.answer);
  }
  saved.where = stage::bypassing;
  unpin(saved.at);
}

// -- operation ----------------------------------------------------------------

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
  gauge("entries", used_.size());
  gauge("loading", pending_.size());
  gauge("keys", records_.size() - old_.size());
  gauge("unwritten", writes_.size());
  gauge("flushing", writes_.in_flight());
}

} // namespace caisson
