// Loads and refreshes of a cache.
#include <caisson/policies/cache/cache.hpp>

#include <caisson/base/ensure.hpp>

#include <algorithm>
#include <utility>

namespace caisson {

// -- loads --------------------------------------------------------------------

decision cache::load(const call_info& call, progress& saved, mode acts,
                     env& e) {
  if (!config_.single_flight || acts == mode::observe) {
    count(counter::misses);
    return go_alone(saved);
  }
  saved.where = stage::waiting;
  if (again_.contains(saved.at->first))
    return wait_again(call, saved);
  if (may_join(saved.at->second, e.now))
    return join(call, saved, e);
  count(counter::misses);
  saved.child = start(saved.at, {.parents = {call.id}}, false, call.deadline,
                      e);
  saved.load = loads_;
  return decision::hold();
}

bool cache::may_join(const record& r, time_point now) const {
  return r.child != 0 && now < time_after(r.sent, config_.join_within);
}

decision cache::join(const call_info& call, progress& saved, env& e) {
  count(counter::joined);
  saved.child = saved.at->second.child;
  e.join_child(saved.child, call.id);
  // The child may end before the host gets to that; `expire` comes after it.
  return decision::hold(e.now);
}

decision cache::go_alone(progress& saved) {
  saved.where = stage::alone;
  saved.load = ++loads_;
  return decision::pass();
}

call_id cache::start(record_map::iterator at, child_call c, bool refresh,
                     time_point until, env& e) {
  auto child = e.start_child(std::move(c));
  auto fresh = pending_
                 .emplace(child, pending_load{at, ++loads_, refresh, until, {}})
                 .second;
  CAISSON_ENSURE(fresh, "call {} is a load already", child);
  auto& r = at->second;
  ++r.pins;
  r.child = child;
  r.sent = e.now;
  return child;
}

decision cache::expire(call_info& call, slot& notes, env& e) {
  auto& saved = notes.as<progress>();
  if (pending_.contains(saved.child))
    return decision::hold();
  return load(call, saved, mode::enforce, e);
}

// -- once more ----------------------------------------------------------------

// The load ended because those that it was sent for had no more time.
decision cache::load_again(const call_info& call, progress& saved, env& e) {
  auto& r = saved.at->second;
  if (auto* unwritten = writes_.value(saved.at->first)) {
    count(counter::hits);
    return answer(call, saved, *unwritten, e);
  }
  if (r.kept && e.now < r.expires)
    return give(call, saved,
                r.negative ? counter::negative_hits : counter::hits, e);
  return may_join(r, e.now) ? join(call, saved, e) : wait_again(call, saved);
}

// All that want one send it together, with the latest of their deadlines: if
// each of them began one in turn, each could end by its own.
decision cache::wait_again(const call_info& call, progress& saved) {
  auto [i, is_first] = again_.try_emplace(saved.at->first);
  auto& x = i->second;
  if (is_first) {
    x.at = saved.at;
    x.until = call.deadline;
    ++saved.at->second.pins;
  }
  count(is_first ? counter::misses : counter::joined);
  x.calls.push_back(call.id);
  x.until = std::max(x.until, call.deadline);
  saved.child = 0;
  saved.load = loads_ + 1;
  return decision::hold();
}

void cache::start_again(env& e) {
  for (auto& [key, x] : std::exchange(again_, {})) {
    // Like any load, it counts as the call of the first of them.
    child_call c{.parents = std::move(x.calls)};
    for (auto id : c.parents)
      if (const auto* first = e.find(id)) {
        c.key = first->key;
        c.permits = first->permits;
        break;
      }
    start(x.at, std::move(c), false, x.until, e);
    unpin(x.at);
  }
}

// -- refreshes ----------------------------------------------------------------

void cache::refresh(const call_info& call, record_map::iterator at,
                    const void* content, env& e) {
  const auto& r = at->second;
  if (e.now < r.refresh_at || may_join(r, e.now)
      || (r.child != 0 && pending_.at(r.child).refresh))
    return;
  auto until = time_after(e.now, config_.refresh_timeout);
  auto child = start(at,
                     {.deadline = until,
                      .permits = call.permits,
                      .key = call.key,
                      .priority = call.priority,
                      .idempotent = call.idempotent,
                      .started_by = call.id},
                     true, until, e);
  if (content_.keep)
    pending_.at(child).content = content_.keep(content);
}

} // namespace caisson
