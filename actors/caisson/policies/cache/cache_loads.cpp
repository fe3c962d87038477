#include <caisson/policies/cache/cache_loads.hpp>

#include <caisson/base/ensure.hpp>
#include <caisson/policy/call_number.hpp>

#include <algorithm>
#include <utility>

namespace caisson::detail {

// -- in progress --------------------------------------------------------------

bool cache_loads::may_join(const record& r, const cache_config& c,
                           time_point now) {
  return r.child != 0 && now < time_after(r.sent, c.join_within);
}

call_id cache_loads::start(cache_store& store, place at, child_call c,
                           bool refresh, time_point until, env& e) {
  auto child = e.start_child(std::move(c));
  auto fresh = pending_
                 .emplace(child,
                          load{at, store.begin_load(), refresh, until, {}})
                 .second;
  CAISSON_ENSURE(fresh, "call {} is a load already", call_number(child));
  auto& r = at->second;
  ++r.pins;
  r.child = child;
  r.sent = e.now;
  return child;
}

std::optional<call_id> cache_loads::refresh(cache_store& store,
                                            const call_info& call, place at,
                                            const cache_config& c, env& e) {
  const auto& r = at->second;
  if (e.now < r.refresh_at || may_join(r, c, e.now)
      || (r.child != 0 && pending_.at(r.child).refresh))
    return std::nullopt;
  auto until = time_after(e.now, c.refresh_timeout);
  return start(store, at,
               {.deadline = until,
                .permits = call.permits,
                .key = call.key,
                .priority = call.priority,
                .idempotent = call.idempotent,
                .started_by = call.id},
               true, until, e);
}

void cache_loads::set_content(call_id child, kept_message content) {
  pending_.at(child).content = std::move(content);
}

kept_message cache_loads::take_content(call_id child) {
  auto i = pending_.find(child);
  return i == pending_.end() ? nullptr : std::exchange(i->second.content, {});
}

cache_loads::load cache_loads::end(call_id child) {
  auto node = pending_.extract(child);
  CAISSON_ENSURE(!node.empty(), "call {} is not a load", call_number(child));
  auto out = std::move(node.mapped());
  auto& r = out.at->second;
  CAISSON_ENSURE(r.pins > 0, "load {} ends, and nobody has its key",
                 out.number);
  ended_until_ = out.until;
  if (r.child == child)
    r.child = 0;
  return out;
}

void cache_loads::forget() {
  for (auto& [child, x] : pending_)
    x.at->second.child = 0;
}

// -- once more ----------------------------------------------------------------

bool cache_loads::request_again(const call_info& call, place at) {
  auto [i, is_first] = again_.try_emplace(at->first);
  auto& x = i->second;
  if (is_first) {
    x.at = at;
    x.until = call.deadline;
    ++at->second.pins;
  }
  CAISSON_ENSURE(x.at == at && at->second.pins > 0,
                 "call {} wants another record of its key",
                 call_number(call.id));
  x.calls.push_back(call.id);
  x.until = std::max(x.until, call.deadline);
  return is_first;
}

void cache_loads::start_again(cache_store& store, env& e) {
  for (auto& [key, x] : std::exchange(again_, {})) {
    CAISSON_ENSURE(!x.calls.empty() && x.at->second.pins > 0,
                   "{} calls want another load of their key", x.calls.size());
    // Like any load, it counts as the call of the first of them.
    child_call c{.parents = std::move(x.calls)};
    for (auto id : c.parents)
      if (const auto* first = e.find(id)) {
        c.key = first->key;
        c.permits = first->permits;
        break;
      }
    start(store, x.at, std::move(c), false, x.until, e);
    store.unpin(x.at);
  }
}

} // namespace caisson::detail
