// A request at a service, from its arrival until it leaves.
#include <sim/world/service.hpp>

#include <sim/world/purpose.hpp>

#include <utility>

namespace caisson::sim {

service::service(caf::actor_config& cfg, const surroundings& world,
                 std::size_t index, bool counts)
  : timed_actor(cfg, *world.time), world_(world), index_(index),
    config_(world.plan->arm.services[index]), counts_(counts),
    capacity_(config_.workers) {}

void service::start() {
  begin_ = now();
  fill_caches();
  plan_faults();
}

// What it still holds refers to gates, which refer to it.
void service::on_exit() {
  super::on_exit();
  jobs_ = {};
  callers_.clear();
  deferred_.clear();
}

service_books& service::record() {
  return world_.record->service(index_);
}

duration service::at() const {
  return world_.record->since_start(now());
}

// -- arrival ------------------------------------------------------------------

void service::handle(rt::reply_to from, caf::message content) {
  auto asked = order_in(content);
  if (!asked.first)
    return refuse(std::move(from));
  accept(std::move(from), asked);
  serve_next();
}

void service::turn_away(rt::reply_to& from, errc code, bool reached) {
  from.answer(this, caf::make_message(make_error(
                      code, rejection{config_.name, {}, reached, {}})));
}

void service::accept(rt::reply_to from, const order& asked) {
  const auto& w = *asked.first;
  const auto* options = asked.options;
  const auto& what = world_.plan->operations[w.operation];
  if (counts_ && w.from_client)
    world_.record->attempted(now(), asked.items);
  record().arrived(at());
  world_.record->log().line(at(), "arrive {} #{}", what.name, w.request);
  if (crashes_ > 0) {
    record().turned_away_down(at());
    world_.record->log().line(at(), "down {} #{}", what.name, w.request);
    // It was sent; the caller cannot know that nobody looked at it.
    return turn_away(from, errc::worker_down, true);
  }
  auto at_once = worker_free() && queue_.empty() && resumed_.empty();
  if (!at_once && config_.queue != no_limit && queue_.size() >= config_.queue) {
    record().refused(at());
    world_.record->log().line(at(), "refuse {} #{}", what.name, w.request);
    return turn_away(from, errc::queue_full, false);
  }
  auto [key, j] = jobs_.take();
  j->request = w.request;
  j->key = draw_key{w.key};
  j->what = &what;
  j->arrived = now();
  j->items = asked.items;
  j->results = asked.results;
  if (options) {
    j->priority = options->priority;
    if (options->deadline_ns != 0)
      j->deadline = time_point{duration{options->deadline_ns}};
    // A further attempt is the same request, but it is not done in the same
    // time.
    if (options->attempt > 1)
      j->key = j->key.with(options->attempt)
                 .with(static_cast<std::uint64_t>(at().count()));
  }
  if (config_.abandoned != abandoned_work::finish && from.sender()) {
    j->watched = true;
    j->who = {caf::actor_cast<caf::actor_addr>(from.sender()), from.number()};
    callers_[j->who] = key;
  }
  j->from = std::move(from);
  if (!at_once)
    j->place = queue_.push_back(key);
  record().entered(at(), queue_.size());
  if (at_once)
    begin(key, *j);
}

// -- workers ------------------------------------------------------------------

bool service::worker_free() const {
  return stalls_ == 0 && busy_ < capacity_;
}

void service::take_worker(job& j) {
  ++busy_;
  j.has_worker = true;
  j.held_since = now();
  record().busy_changed(at(), 1);
}

void service::free_worker(job& j) {
  if (!j.has_worker)
    return;
  --busy_;
  j.has_worker = false;
  j.held += now() - j.held_since;
  record().busy_changed(at(), -1);
}

// Gives free workers to those that wait: first to those that had one before.
// Called at the end of each handler, so that requests which take no time do
// not begin one another ever deeper.
void service::serve_next() {
  while (worker_free() && (!resumed_.empty() || !queue_.empty())) {
    auto& from = resumed_.empty() ? queue_ : resumed_;
    auto lifo = &from == &queue_ && config_.order == queue_order::lifo;
    auto key = from.erase(lifo ? from.back() : from.front());
    record().queue_is(queue_.size());
    auto& j = *jobs_.find(key);
    j.place = wait_list<job_key>::none;
    if (config_.abandoned != abandoned_work::finish && !j.begun
        && (j.given_up || j.deadline <= now()))
      drop(key, j);
    else
      begin(key, j);
  }
}

void service::begin(job_key key, job& j) {
  take_worker(j);
  if (j.begun)
    return do_step(key, j);
  j.begun = true;
  record().began(at(), world_.record->since_start(j.arrived), queue_.size());
  world_.record->log().line(at(), "begin {} #{}", j.what->name, j.request);
  work_for(key, j, first_work(j));
}

// -- leaving ------------------------------------------------------------------

void service::leave(job_key key, job& j, caf::message answer) {
  if (j.place != wait_list<job_key>::none) {
    (j.where == phase::resumed ? resumed_ : queue_).erase(j.place);
    record().queue_is(queue_.size());
  }
  give_up_calls(j);
  timer().cancel(j.due_timer);
  free_worker(j);
  if (j.watched)
    callers_.erase(j.who);
  record().left(at(), world_.record->since_start(j.arrived), j.begun, j.held);
  j.from.answer(this, std::move(answer));
  jobs_.put_back(key);
}

void service::finish(job_key key, job& j) {
  record().answered(at(), true, j.given_up || j.deadline <= now());
  world_.record->log().line(at(), "done {} #{}", j.what->name, j.request);
  if (j.results == 0)
    return leave(key, j, caf::make_message(served{}));
  std::vector<caf::message> results(j.results, caf::make_message(served{}));
  leave(key, j, caf::make_message(batch_reply{std::move(results)}));
}

void service::fail(job_key key, job& j, caf::message answer) {
  record().answered(at(), false, j.given_up || j.deadline <= now());
  world_.record->log().line(at(), "fail {} #{}", j.what->name, j.request);
  leave(key, j, std::move(answer));
}

void service::drop(job_key key, job& j) {
  record().abandoned(at());
  world_.record->log().line(at(), "drop {} #{}", j.what->name, j.request);
  leave(key, j,
        caf::make_message(make_error(
          errc::cancelled, rejection{config_.name, {}, j.begun, {}})));
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

} // namespace caisson::sim
