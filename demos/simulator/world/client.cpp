#include <simulator/world/client.hpp>

#include <simulator/world/purpose.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace caisson::sim {

namespace {

// After a request that took no time at all, a user of a closed loop waits at
// least this long: it must not make requests forever at one instant.
constexpr auto shortest_round = std::chrono::milliseconds(1);

} // namespace

client::client(caf::actor_config& cfg, const world_context& world,
               std::size_t load)
  : timed_actor(cfg, *world.time, timer_phase::last), world_(world),
    load_(load), config_(world.plan->arm.loads[load]),
    arrivals_(config_, world.key.with("load").with(config_.name),
              world.plan->arm.length),
    jitter_(world.key.with("pause").with(config_.name).value()) {
  world_.key = world.key.with("request").with(config_.name);
  if (config_.keys > 0)
    keys_.emplace(config_.keys, config_.key_skew);
}

// -- beginnings ---------------------------------------------------------------

void client::start() {
  begin_ = now();
  if (config_.kind != load_kind::closed)
    return plan_arrival();
  rounds_.resize(config_.users);
  for (std::uint32_t user = 0; user < config_.users; ++user)
    think(user, false);
}

void client::plan_arrival() {
  if (auto at = arrivals_.next(world_.plan->arm.length))
    later_timer().push(begin_ + *at, arrival);
}

// The next request of a user is due when he has thought. `at_once`: the last
// one took no time.
void client::think(std::uint32_t user, bool at_once) {
  keyed_random random{
    world_.key.with(purpose::think).with(user).with(rounds_[user])};
  auto from = rounds_[user] == 0 ? begin_ + config_.start : now();
  auto pause = config_.think.draw(random);
  if (at_once)
    pause = std::max<duration>(pause, shortest_round);
  auto at = time_after(from, pause);
  auto end = std::min(config_.stop, world_.plan->arm.length);
  if (at - begin_ < end)
    later_timer().push(at, user_bit | user);
}

void client::fire(std::uint64_t payload) {
  auto number = payload & ~bits;
  if (payload == arrival) {
    plan_arrival();
    begin(0, rounds_begun_);
  } else if ((payload & user_bit) != 0) {
    auto user = static_cast<std::uint32_t>(number);
    begin(user, rounds_[user]++);
  } else if (auto* r = requests_.find(number)) {
    if ((payload & timeout_bit) != 0)
      attempt_over(number, *r, ending::timeout, false);
    else
      attempt(number, *r);
  }
}

const planned_target& client::pick(draw_key key) const {
  const auto& all = world_.plan->targets[load_];
  auto x = keyed_random{key.with(purpose::mix)}.uniform();
  for (const auto& t : all)
    if (x < t.upto)
      return t;
  return all.back();
}

duration client::patience_of(draw_key key) const {
  if (!config_.patience)
    return config_.timeout;
  keyed_random random{key.with(purpose::patience)};
  // Nobody can be served in no time at all.
  return std::max(config_.patience->draw(random), duration{1});
}

void client::begin(std::uint32_t user, std::uint64_t round) {
  ++rounds_begun_;
  auto [key, r] = requests_.take();
  r->key = world_.key.with(user).with(round);
  r->target = &pick(r->key);
  r->begun = now();
  r->patience = patience_of(r->key);
  if (keys_) {
    keyed_random random{r->key.with(purpose::call_key)};
    r->call_key = keys_->draw(random) + 1;
  }
  r->user = user;
  r->number = world_.recorder->offered(now(), load_);
  attempt(key, *r);
}

// -- attempts -----------------------------------------------------------------

void client::attempt(std::uint64_t key, request& r) {
  ++r.attempt;
  auto [attempt_key, of] = attempts_.take();
  *of = key;
  r.current_attempt = attempt_key;
  call_options o;
  o.attempt = r.attempt;
  o.priority = config_.priority;
  if (keys_)
    o.key = fmt::format("{}", r.call_key);
  o.idempotent = r.target->idempotent ? idempotence::yes : idempotence::no;
  if (r.patience != unlimited) {
    r.timeout = timer().push(time_after(now(), r.patience), timeout_bit | key);
    // What comes at the end of the timeout is in time. At a deadline it would
    // not be.
    o.deadline_ns = time_after(now(), duration_sum(r.patience, duration{1}))
                      .time_since_epoch()
                      .count();
  }
  work w;
  w.request = r.number;
  w.key = r.key.value();
  w.operation = r.target->operation;
  w.from_client = true;
  if (auto* details = world_.recorder->details())
    details->called({true, load_}, attempt_key, r.target->route, w,
                    world_.recorder->since_start(now()));
  forward(world_.gate(r.target->route), attempt_key,
          caf::make_message(call{caf::make_message(w), std::move(o)}), false);
}

void client::handle(portable::reply_to from, caf::message) {
  // Nobody sends anything here.
  refuse(std::move(from));
}

void client::handle_answer(std::uint64_t attempt_key, caf::message content) {
  auto* of = attempts_.find(attempt_key);
  if (!of)
    return world_.recorder->answered_twice();
  auto key = *of;
  attempts_.put_back(attempt_key);
  auto* r = requests_.find(key);
  if (!r || r->current_attempt != attempt_key)
    return; // The client has not waited for it.
  auto how = ending_of(caisson::outcome_of(content));
  attempt_over(key, *r, how,
               how == ending::good && !portable::holds<served>(content));
}

void client::attempt_over(std::uint64_t key, request& r, ending how,
                          bool substituted) {
  if (auto* details = world_.recorder->details())
    details->call_over({true, load_}, r.current_attempt, r.target->route, how,
                       world_.recorder->since_start(now()));
  r.current_attempt = 0;
  timer().cancel(r.timeout);
  if (auto pause = pause_before_next(r, how)) {
    if (*pause > duration::zero())
      timer().push(time_after(now(), *pause), pause_bit | key);
    else
      attempt(key, r);
    return;
  }
  world_.recorder->answered(now(), {.load = load_,
                                    .request = r.number,
                                    .begun = r.begun,
                                    .operation = r.target->operation,
                                    .how = how,
                                    .substituted = substituted,
                                    .waits = r.patience});
  auto user = r.user;
  auto at_once = r.begun == now();
  requests_.put_back(key);
  if (config_.kind == load_kind::closed)
    think(user, at_once);
}

// Nothing if there is no further attempt.
std::optional<duration> client::pause_before_next(request& r, ending how) {
  if (how == ending::good || r.attempt >= config_.attempts)
    return {};
  if (config_.retry_timeouts_only && how != ending::timeout)
    return {};
  if (config_.pause.empty())
    return duration::zero();
  return config_.pause.next(r.pause, jitter_);
}

} // namespace caisson::sim
