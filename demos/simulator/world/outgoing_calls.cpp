#include <simulator/world/outgoing_calls.hpp>

#include <simulator/world/purpose.hpp>

#include <algorithm>
#include <utility>

namespace caisson::sim {

namespace {

const planned_call& plan_of(const job& j, std::uint32_t entry) {
  return j.what->steps[j.step].calls[entry];
}

} // namespace

std::optional<outgoing_calls::made_call>
outgoing_calls::make(job_key key, job& j, std::uint32_t entry, time_point now) {
  const auto& plan = plan_of(j, entry);
  const auto& c = plan.config;
  auto& e = j.entries[entry];
  auto of_entry = j.key.with(purpose::call).with(j.step).with(entry);
  // All calls of an entry are made, or none.
  if (e.calls == 0 && c.probability < 1
      && keyed_random{of_entry.with(purpose::chance)}.uniform()
           >= c.probability) {
    e.calls = c.count;
    return std::nullopt;
  }
  auto own_key = of_entry.with(e.calls++);
  std::uint32_t cache_key = 0;
  if (plan.cache != planned_call::no_cache) {
    keyed_random random{own_key.with(purpose::cache)};
    cache_key = plan.keys->draw(random);
    if (caches_.contains(plan.cache, cache_key, now))
      return std::nullopt;
  }
  auto [call_key, p] = pending_.take();
  *p = {key, entry, cache_key, j.last_call, 0};
  (j.last_call == 0 ? j.first_call : pending_.find(j.last_call)->after)
    = call_key;
  j.last_call = call_key;
  ++j.open_calls;
  ++e.open;
  work w;
  w.request = j.request;
  w.key = own_key.value();
  w.operation = plan.operation;
  return made_call{plan.route, call_key, w, message_for(plan, j, w, now)};
}

caf::message outgoing_calls::message_for(const planned_call& plan, const job& j,
                                         const work& w, time_point now) const {
  call_options o;
  o.priority = j.priority;
  o.user_priority = j.user_priority;
  o.key = j.call_key;
  o.idempotent = plan.idempotent ? idempotence::yes : idempotence::no;
  auto deadline = config_.propagate_deadline ? j.deadline : never;
  // An answer at the very end of the timeout is in time.
  if (auto timeout = plan.config.timeout; timeout != unlimited)
    deadline = std::min(deadline,
                        time_after(now, duration_sum(timeout, duration{1})));
  if (deadline != never)
    o.deadline_ns = deadline.time_since_epoch().count();
  return caf::make_message(call{caf::make_message(w), std::move(o)});
}

std::optional<job_key> outgoing_calls::owner(std::uint64_t key) {
  auto* found = pending_.find(key);
  return found ? std::optional{found->job} : std::nullopt;
}

outgoing_calls::pending outgoing_calls::end(std::uint64_t key, job& j) {
  auto p = *pending_.find(key);
  (p.before == 0 ? j.first_call : pending_.find(p.before)->after) = p.after;
  (p.after == 0 ? j.last_call : pending_.find(p.after)->before) = p.before;
  --j.open_calls;
  --j.entries[p.entry].open;
  pending_.put_back(key);
  return p;
}

void outgoing_calls::remember(const pending& p, const job& j, time_point now) {
  const auto& plan = plan_of(j, p.entry);
  if (plan.cache != planned_call::no_cache)
    caches_.put(plan.cache, p.cache_key,
                time_after(now, plan.config.cache_ttl));
}

} // namespace caisson::sim
