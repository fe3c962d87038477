#include <simulator/world/service.hpp>

#include <simulator/scenario/faults.hpp>
#include <simulator/world/service_errors.hpp>

#include <algorithm>
#include <utility>

namespace caisson::sim {

service::service(caf::actor_config& cfg, const world_context& world,
                 std::size_t instance, bool counts)
  : timed_actor(cfg, *world.time), world_(world),
    index_(world.plan->instances[instance].service),
    replica_(world.plan->instances[instance].replica),
    config_(world.plan->arm.services[index_]), journal_(world, instance),
    counts_(counts), calls_(config_), queue_(config_.order, config_.waits),
    fault_(config_.servers), faults_(world, instance, timer()),
    work_(config_, fault_, jobs_, journal_, timer()),
    servers_(world, instance, journal_, fault_, timer()) {}

void service::start() {
  auto key = world_.key.with("cache").with(config_.name);
  if (replica_ > 0)
    key = key.with(replica_);
  calls_.caches().fill(world_.plan->caches[index_], key, now());
  faults_.start(now());
  work_.start(now(), faults_.change_speed());
  servers_.start(now());
}

// What it still holds refers to gates, which refer to it.
void service::on_exit() {
  super::on_exit();
  jobs_ = {};
  callers_.clear();
  deferred_.clear();
}

// Timers of faults, of servers and of the clock of work; all others name a
// request.
void service::fire(std::uint64_t payload) {
  if ((payload & service_faults::timer_bits) != 0) {
    faults_.is_due(payload, at(), effect_of_faults());
  } else if ((payload & service_servers::timer_bits) != 0) {
    servers_.is_due(now(), payload, queue_.size());
  } else if (payload == service_work::clock_timer) {
    if (auto key = work_.pop_due(now()))
      work_done(*key, *jobs_.find(*key));
  } else if (auto* j = jobs_.find(payload)) {
    work_done(payload, *j);
  }
  serve_next();
}

// -- arrival ------------------------------------------------------------------

void service::handle(portable::reply_to from, caf::message content) {
  auto asked = work_in(content);
  if (!asked.first)
    return refuse(std::move(from));
  accept(std::move(from), asked);
  serve_next();
}

void service::accept(portable::reply_to from, const work_items& asked) {
  if (faults_.count_requests() && faults_.request(at(), effect_of_faults()))
    serve_next();
  const auto& w = *asked.first;
  if (counts_ && w.from_client)
    world_.recorder->attempted(now(), asked.items);
  recorder().arrived(at());
  journal_.note(now(), "arrive", w);
  if (!rejected(from, asked))
    take_in(std::move(from), asked);
}

// Answers what cannot get in; false if it can.
bool service::rejected(portable::reply_to& from, const work_items& asked) {
  const auto& w = *asked.first;
  if (fault_.crashed()) {
    recorder().rejected_down(at());
    journal_.note(now(), "down", w);
    // It was sent; the caller cannot know that nobody looked at it.
    reject(from, errc::worker_down, true);
    return true;
  }
  auto at_once = servers_.is_free() && queue_.empty();
  auto is_full = !at_once && config_.queue != no_limit
                 && queue_.size() >= config_.queue;
  if (!is_full || makes_room(asked))
    return false;
  recorder().refused(at());
  journal_.note(now(), "refuse", w);
  reject(from, errc::queue_full, false);
  return true;
}

// In a full queue: another request may have to leave it for this one.
bool service::makes_room(const work_items& asked) {
  const auto& what = world_.plan->operations[asked.first->operation];
  auto key = queue_.make_room(job_for(asked, what, now(), at()), now());
  if (!key)
    return false;
  auto& j = *jobs_.find(*key);
  j.waits = job::wait::none;
  recorder().refused(at());
  journal_.note(now(), "refuse", j);
  leave(*key, j, service_error(errc::queue_full, config_.name, false));
  return true;
}

void service::reject(portable::reply_to& from, errc code,
                     bool may_have_executed) {
  from.answer(this, service_error(code, config_.name, may_have_executed));
}

void service::take_in(portable::reply_to from, const work_items& asked) {
  auto at_once = servers_.is_free() && queue_.empty();
  auto [key, j] = jobs_.take();
  *j = job_for(asked, world_.plan->operations[asked.first->operation], now(),
               at());
  j->order = ++entered_;
  journal_.entered(now(), *j, *asked.first);
  if (config_.abandoned != abandoned_work::finish && from.sender()) {
    j->watched = true;
    j->requester = {caf::actor_cast<caf::actor_addr>(from.sender()),
                    from.number()};
    callers_[j->requester] = key;
  }
  j->from = std::move(from);
  if (!at_once)
    queue_.push_new(key, *j, now());
  recorder().entered(at(), queue_.size());
  work_.follow(now());
  if (!at_once)
    return;
  queue_.idle();
  begin_or_drop(key, *j);
}

// -- beginning ----------------------------------------------------------------

// Gives free servers to those that wait. Called at the end of each handler, so
// that requests which take no time do not begin one another ever deeper.
void service::serve_next() {
  while (servers_.is_free() && !queue_.empty()) {
    auto key = queue_.next();
    auto& j = *jobs_.find(key);
    // What nobody waits for any more is not judged: it is dropped anyway.
    auto is_in_vain = in_vain(j);
    auto is_shed = !is_in_vain && queue_.sheds_next(now());
    queue_.take_next(j, !is_in_vain && !is_shed);
    recorder().queue_is(queue_.size());
    if (is_shed)
      shed(key, j);
    else
      begin_or_drop(key, j);
  }
}

// Whether nobody waits for what has not been begun, and the service cares.
bool service::in_vain(const job& j) const {
  return config_.abandoned != abandoned_work::finish && !j.begun
         && (j.given_up || j.deadline <= now());
}

void service::begin_or_drop(job_key key, job& j) {
  if (in_vain(j))
    drop(key, j);
  else
    begin(key, j);
}

void service::begin(job_key key, job& j) {
  servers_.take(now(), j);
  if (j.begun)
    return do_step(key, j);
  j.begun = true;
  recorder().began(at(), journal_.at(j.arrived), queue_.size());
  journal_.note(now(), "begin", j);
  work_for(key, j, duration_times(first_work(j), work_.slowness()));
}

// -- steps --------------------------------------------------------------------

void service::work_for(job_key key, job& j, duration d) {
  if (d == duration::zero())
    return work_done(key, j);
  work_.begin(now(), key, j, d);
}

void service::work_done(job_key key, job& j) {
  if (!j.warmed_up) {
    j.warmed_up = true;
    if (fails(j, 1 - (1 - config_.errors) * (1 - fault_.error_rate())))
      return fail(key, j,
                  caf::make_message(caf::make_error(caf::sec::runtime_error)));
    return do_step(key, j);
  }
  next_step(key, j);
}

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
      make_calls(key, j);
      if (j.open_calls == 0)
        continue;
      if (config_.async)
        servers_.give_back(now(), j);
      return;
    }
    if (!j.has_server)
      return queue_.push_resumed(key, j);
    auto d = duration_times(step_work(j), work_.slowness());
    if (d > duration::zero())
      return work_for(key, j, d);
  }
}

// -- calls --------------------------------------------------------------------

// Makes those calls of the step that can be made at its beginning.
void service::make_calls(job_key key, job& j) {
  auto entries = static_cast<std::uint32_t>(j.entries.size());
  for (std::uint32_t i = 0; i < entries; ++i)
    make_calls_of(key, j, i);
}

// Makes those calls of an entry that can be made now.
void service::make_calls_of(job_key key, job& j, std::uint32_t entry) {
  const auto& c = j.what->steps[j.step].calls[entry].config;
  auto& e = j.entries[entry];
  while (e.calls < c.count && (c.parallel || e.open == 0))
    if (auto x = calls_.make(key, j, entry, now())) {
      journal_.called(now(), j, x->key, x->route, x->what);
      forward(world_.gate(x->route, replica_), x->key, std::move(x->content),
              false);
    }
}

void service::handle_answer(std::uint64_t key, caf::message content) {
  if (fault_.stalled()) {
    deferred_.emplace_back(key, std::move(content));
    return;
  }
  auto owner = calls_.owner(key);
  if (!owner)
    return; // The request has been answered without it.
  auto& j = *jobs_.find(*owner);
  call_done(key, j, std::move(content));
  serve_next();
}

void service::call_done(std::uint64_t key, job& j, caf::message content) {
  auto p = calls_.end(key, j);
  const auto& plan = j.what->steps[j.step].calls[p.entry];
  auto ended = outcome_of(content);
  auto ok = ended.ok;
  journal_.call_over(now(), key, plan.route, ended);
  if (ok)
    calls_.remember(p, j, now());
  if (!ok && !plan.config.optional)
    return fail(p.job, j, passed_on(std::move(content)));
  // What has ended lets no other entry go on.
  make_calls_of(p.job, j, p.entry);
  if (j.open_calls == 0)
    next_step(p.job, j);
}

void service::give_up_calls(job& j) {
  while (j.first_call != 0) {
    auto key = j.first_call;
    auto p = calls_.end(key, j);
    const auto& plan = j.what->steps[j.step].calls[p.entry];
    journal_.call_given_up(now(), key);
    send_from_return_address(world_.gate(plan.route, replica_),
                             caf::make_message(cancelled{call_number(key)}));
  }
}

// -- leaving ------------------------------------------------------------------

void service::leave(job_key key, job& j, caf::message answer) {
  if (queue_.remove(j))
    recorder().queue_is(queue_.size());
  give_up_calls(j);
  work_.stop(now(), j);
  servers_.give_back(now(), j);
  if (j.watched)
    callers_.erase(j.requester);
  recorder().left(at(), journal_.at(j.arrived), j.begun, j.held);
  j.from.answer(this, std::move(answer));
  jobs_.put_back(key);
  work_.follow(now());
}

void service::finish(job_key key, job& j) {
  recorder().answered(at(), true, j.given_up || j.deadline <= now());
  journal_.note(now(), "done", j);
  if (j.results == 0)
    return leave(key, j, caf::make_message(served{}));
  std::vector<caf::message> results(j.results, caf::make_message(served{}));
  leave(key, j, caf::make_message(batch_reply{std::move(results)}));
}

void service::fail(job_key key, job& j, caf::message answer) {
  recorder().answered(at(), false, j.given_up || j.deadline <= now());
  journal_.note(now(), "fail", j);
  leave(key, j, std::move(answer));
}

void service::shed(job_key key, job& j) {
  recorder().shed(at());
  journal_.note(now(), "shed", j);
  leave(key, j, service_error(errc::shed, config_.name, false));
}

void service::drop(job_key key, job& j) {
  recorder().abandoned(at());
  journal_.note(now(), "drop", j);
  leave(key, j, service_error(errc::cancelled, config_.name, j.begun));
}

void service::handle_cancelled(const caf::strong_actor_ptr& from,
                               std::uint64_t number) {
  auto found = callers_.find({caf::actor_cast<caf::actor_addr>(from), number});
  if (found == callers_.end())
    return; // The answer was faster.
  auto key = found->second;
  auto& j = *jobs_.find(key);
  j.given_up = true;
  if (config_.abandoned == abandoned_work::cancel)
    drop(key, j);
  serve_next();
}

// -- faults -------------------------------------------------------------------

service_faults::effect service::effect_of_faults() {
  return
    [this](const fault_config& f, bool begins) { fault_changed(f, begins); };
}

void service::fault_changed(const fault_config& f, bool begins) {
  journal_.fault(now(), f, begins);
  if (begins)
    fault_.begin(f);
  else
    fault_.end(f);
  emit_crash(f, begins);
  work_.follow(now());
  servers_.follow(now());
  if (begins && f.kind == fault_kind::crash)
    lose_all();
  else if (begins && f.kind == fault_kind::flush)
    calls_.caches().flush();
  else if (!begins && f.kind == fault_kind::stall && !fault_.stalled())
    take_deferred();
}

// Those who cannot know when it comes.
void service::emit_crash(const fault_config& f, bool begins) {
  if (f.kind != fault_kind::crash || !counts_requests(f))
    return;
  for (const auto& link : (*world_.pooled_links)[index_])
    portable::send(this, link, replica_crash{replica_, begins});
}

void service::take_deferred() {
  for (auto& [key, content] : std::exchange(deferred_, {}))
    handle_answer(key, std::move(content));
}

// In the order in which they came in.
void service::lose_all() {
  auto keys = jobs_.keys();
  std::ranges::sort(keys, {},
                    [this](auto key) { return jobs_.find(key)->order; });
  for (auto key : keys) {
    auto& j = *jobs_.find(key);
    recorder().lost(at());
    journal_.note(now(), "lose", j);
    leave(key, j, service_error(errc::worker_down, config_.name, true));
  }
  deferred_.clear();
  calls_.caches().flush();
}

} // namespace caisson::sim
