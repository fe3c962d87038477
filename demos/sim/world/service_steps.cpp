// What a request does once it has been begun: work, and calls.
#include <sim/world/service.hpp>

#include <sim/world/purpose.hpp>

#include <algorithm>

namespace caisson::sim {

// -- work ---------------------------------------------------------------------

double service::slowness() const {
  auto inside = static_cast<double>(jobs_.size());
  auto above = std::max(0.0, inside - config_.slowdown_from);
  return factor_ * std::min(config_.slowdown_max, 1 + config_.slowdown * above);
}

duration service::first_work(const job& j) const {
  keyed_random random{j.key.with(purpose::work)};
  auto sum = j.what->time.draw(random);
  if (!j.what->item_time.zero()) {
    keyed_random more{j.key.with(purpose::items)};
    for (std::uint32_t i = 0; i < j.items; ++i)
      sum = plus(sum, j.what->item_time.draw(more));
  }
  return scaled(sum, slowness());
}

void service::work_for(job_key key, job& j, duration d) {
  j.where = phase::working;
  if (d == duration::zero())
    return work_done(key, j);
  j.due_timer = timer().push(after(now(), d), key);
}

void service::work_done(job_key key, job& j) {
  if (!j.warmed_up) {
    j.warmed_up = true;
    if (fails(j))
      return fail(key, j,
                  caf::make_message(caf::make_error(caf::sec::runtime_error)));
    return do_step(key, j);
  }
  next_step(key, j);
}

bool service::fails(const job& j) const {
  auto p = 1 - (1 - config_.errors) * (1 - error_rate_);
  return p > 0 && keyed_random{j.key.with(purpose::error)}.uniform() < p;
}

// -- steps --------------------------------------------------------------------

void service::next_step(job_key key, job& j) {
  ++j.step;
  j.entries.clear();
  do_step(key, j);
}

// Goes on until there is something to wait for, or nothing left to do.
void service::do_step(job_key key, job& j) {
  for (;; ++j.step, j.entries.clear()) {
    if (j.step >= j.what->steps.size())
      return finish(key, j);
    const auto& s = j.what->steps[j.step];
    if (!s.calls.empty()) {
      j.entries.assign(s.calls.size(), {});
      if (!make_calls(key, j))
        continue;
      j.where = phase::calling;
      if (config_.async)
        free_worker(j);
      return;
    }
    if (!j.has_worker) {
      j.where = phase::resumed;
      j.place = resumed_.push_back(key);
      return;
    }
    keyed_random random{j.key.with(purpose::work).with(j.step + 1)};
    auto d = scaled(s.work.draw(random), slowness());
    if (d > duration::zero())
      return work_for(key, j, d);
  }
}

// -- calls --------------------------------------------------------------------

// Makes what calls can be made now; returns whether any is under way.
bool service::make_calls(job_key key, job& j) {
  const auto& calls = j.what->steps[j.step].calls;
  bool open = false;
  for (std::uint32_t i = 0; i < calls.size(); ++i) {
    const auto& c = calls[i].config;
    while (j.entries[i].made < c.count
           && (c.parallel || j.entries[i].open == 0))
      make_call(key, j, i);
    open = open || j.entries[i].open > 0;
  }
  return open;
}

void service::make_call(job_key key, job& j, std::uint32_t entry) {
  const auto& plan = j.what->steps[j.step].calls[entry];
  const auto& c = plan.config;
  auto& e = j.entries[entry];
  auto of_entry = j.key.with(purpose::call).with(j.step).with(entry);
  // All calls of an entry are made, or none.
  if (e.made == 0 && c.probability < 1
      && keyed_random{of_entry.with(purpose::chance)}.uniform()
           >= c.probability) {
    e.made = c.count;
    return;
  }
  auto own_key = of_entry.with(e.made++);
  std::uint32_t cache_key = 0;
  if (plan.cache != planned_call::no_cache) {
    keyed_random random{own_key.with(purpose::cache)};
    cache_key = static_cast<std::uint32_t>(random.below(c.cache_keys));
    if (cached(plan, cache_key))
      return;
  }
  call_options o;
  o.priority = j.priority;
  o.idempotent = plan.idempotent ? 1 : 2;
  auto deadline = config_.propagate_deadline ? j.deadline : never;
  // An answer at the very end of the timeout is in time.
  if (c.timeout != unlimited)
    deadline = std::min(deadline, after(now(), plus(c.timeout, duration{1})));
  if (deadline != never)
    o.deadline_ns = deadline.time_since_epoch().count();
  work w;
  w.request = j.request;
  w.key = own_key.value();
  w.operation = plan.operation;
  auto [call_key, p] = calls_.take();
  p->job = key;
  p->entry = entry;
  p->cache_key = cache_key;
  j.calls.push_back(call_key);
  ++e.open;
  forward((*world_.gates)[plan.route], call_key,
          caf::make_message(call{caf::make_message(w), std::move(o)}), false);
}

void service::handle_answer(std::uint64_t key, caf::message content) {
  if (stalls_ > 0) {
    deferred_.emplace_back(key, std::move(content));
    return;
  }
  auto* found = calls_.find(key);
  if (!found)
    return; // The request has been answered without it.
  auto p = *found;
  calls_.put_back(key);
  auto& j = *jobs_.find(p.job);
  std::erase(j.calls, key);
  call_done(p.job, j, p, outcome_of(content).ok, content);
  serve_next();
}

void service::call_done(job_key key, job& j, const pending& p, bool ok,
                        caf::message& content) {
  const auto& plan = j.what->steps[j.step].calls[p.entry];
  --j.entries[p.entry].open;
  if (ok && plan.cache != planned_call::no_cache)
    caches_[plan.cache][p.cache_key] = after(now(), plan.config.cache_ttl);
  if (!ok && !plan.config.optional)
    return fail(key, j, std::move(content));
  if (!make_calls(key, j))
    next_step(key, j);
}

void service::give_up_calls(job& j) {
  for (auto key : j.calls) {
    auto* p = calls_.find(key);
    const auto& plan = j.what->steps[j.step].calls[p->entry];
    tell_from_return_address((*world_.gates)[plan.route],
                             caf::make_message(cancelled{call_number(key)}));
    calls_.put_back(key);
  }
  j.calls.clear();
}

} // namespace caisson::sim
