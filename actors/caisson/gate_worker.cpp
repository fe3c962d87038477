// What stands behind a gate, and who stands in front of it.
#include <caisson/detail/gate_actor.hpp>

#include <algorithm>
#include <exception>

namespace caisson::detail {

namespace {

struct made {
  caf::actor handle;
  std::string failure;
};

made run_factory(const worker_factory& make, caf::actor_system& sys) {
  try {
    auto result = make(sys);
    if (!result)
      return {{}, rt::render(sys, result.error())};
    if (!*result)
      return {{}, "the factory gave a null handle"};
    return {std::move(*result), {}};
  } catch (const std::exception& e) {
    return {{}, e.what()};
  } catch (...) {
    return {{}, "the factory threw"};
  }
}

// Runs a factory that may block, on its own thread.
class factory_runner final : public caf::event_based_actor {
public:
  factory_runner(caf::actor_config& cfg, worker_factory make, caf::actor gate,
                 std::uint32_t incarnation)
    : caf::event_based_actor(cfg), make_(std::move(make)),
      gate_(std::move(gate)), incarnation_(incarnation) {}

  caf::behavior make_behavior() override {
    auto [handle, failure] = run_factory(make_, system());
    rt::tell_anon(gate_, worker_made{handle, failure, incarnation_});
    return {};
  }

private:
  worker_factory make_;
  caf::actor gate_;
  std::uint32_t incarnation_;
};

} // namespace

// -- the worker ---------------------------------------------------------------

void gate_actor::start_worker() {
  worker_ = worker_state::restarting;
  ++incarnation_;
  if (behind_.blocks()) {
    system().spawn<factory_runner, caf::detached>(
      behind_.factory(), caf::actor_cast<caf::actor>(this), incarnation_);
    return;
  }
  auto [handle, failure] = run_factory(behind_.factory(), system());
  if (handle)
    worker_ready(std::move(handle));
  else
    plan_restart(failure);
}

void gate_actor::worker_ready(caf::actor handle) {
  target_ = std::move(handle);
  target_is_gate_ = is_local_gate(target_);
  worker_ = worker_state::up;
  supervisor_.on_up(env_.now);
  publish({.kind = event_kind::worker_changed, .to = "up"});
  watch(caf::actor_cast<caf::strong_actor_ptr>(target_));
  // In order of arrival. One that the new worker kills leaves the rest waiting.
  while (worker_ == worker_state::up && !waiting_.empty())
    if (auto* r = calls_.find(waiting_.erase(waiting_.front())))
      dispatch(*r);
}

void gate_actor::worker_lost(const std::string& why) {
  ++totals_.worker_losses;
  target_ = nullptr;
  auto lost = incarnation_;
  if (behind_.factory()) {
    plan_restart(why);
  } else {
    worker_ = worker_state::down;
    publish({.kind = event_kind::worker_changed,
             .from = "up",
             .to = "down",
             .detail = why});
  }
  fail_flying(lost);
}

void gate_actor::plan_restart(const std::string& why) {
  auto at = supervisor_.on_down(env_.now, random_);
  if (!at)
    return give_up(why);
  worker_ = worker_state::restarting;
  restart_at_ = *at;
  publish({.kind = event_kind::worker_changed,
           .to = "restarting",
           .detail = why,
           .delay = until(*at, env_.now)});
}

void gate_actor::give_up(const std::string& why) {
  worker_ = worker_state::given_up;
  restart_at_ = never;
  publish(
    {.kind = event_kind::worker_changed, .to = "given_up", .detail = why});
  fail_waiting();
  if (supervisor_.config().on_give_up == give_up_action::quit)
    quit(make_error(errc::worker_down,
                    rejection{config_.name, duration::zero(), false,
                              "too many restarts: " + why}));
}

void gate_actor::fail_flying(std::uint32_t lost) {
  auto hit = calls_.ids([&](const call_record& r) {
    return r.where == phase::flying && r.alternative_of < 0
           && r.incarnation == lost;
  });
  for (auto id : hit) {
    auto* r = calls_.find(id);
    if (!r || r->where != phase::flying || r->incarnation != lost
        || r->alternative_of >= 0)
      continue;
    r->where = phase::moving;
    r->attempt_key = 0;
    ascend(*r, r->depth - 1, outcome::failure(errc::worker_down, true));
  }
}

void gate_actor::fail_waiting() {
  while (!waiting_.empty()) {
    auto* r = calls_.find(waiting_.erase(waiting_.front()));
    if (!r)
      continue;
    r->where = phase::moving;
    ascend(*r, r->depth - 1, outcome::failure(errc::worker_down, false));
  }
}

void gate_actor::tell_cancelled(const call_record& r) {
  if (r.alternative_of >= 0 || !target_ || r.incarnation != incarnation_)
    return;
  // Nothing is sent to a worker unasked: most do not know the message.
  if (target_is_gate_ || behind_.wants_cancelled())
    tell_from_return_address(
      target_, caf::make_message(cancelled{call_number(r.attempt_key)}));
}

void gate_actor::on_down(const caf::actor_addr& who, const caf::error& why) {
  if (stopped_)
    return;
  begin();
  if (target_ && worker_ == worker_state::up && target_.address() == who)
    worker_lost(why ? rt::render(system(), why) : "it has quit");
  // Alternatives that died with a call in their hands.
  for (std::size_t k = 0; k < layers_.size(); ++k) {
    auto hit = calls_.ids([&](const call_record& r) {
      if (r.where != phase::flying
          || r.alternative_of != static_cast<std::int8_t>(k))
        return false;
      auto* alt = layers_[k].owner->at(r.alternative);
      return alt && alt->target.address() == who;
    });
    for (auto id : hit)
      if (auto* r = calls_.find(id); r && r->where == phase::flying) {
        r->where = phase::moving;
        r->attempt_key = 0;
        ascend(*r, static_cast<int>(k),
               outcome::failure(errc::worker_down, true));
      }
  }
  if (callers_.erase(who) > 0) {
    auto hit = calls_.ids(
      [&](const call_record& r) { return r.watched == who; });
    for (auto id : hit)
      if (auto* r = calls_.find(id))
        cancel(*r);
  }
  std::erase_if(subscribers_,
                [&](const caf::actor& x) { return x.address() == who; });
  end();
}

// -- callers ------------------------------------------------------------------

// Watches the caller of a call that waits here: if it dies, the call gives back
// what it holds.
void gate_actor::mind_caller(call_record& r) {
  if (r.watched || !r.from.sender())
    return;
  r.watched = caf::actor_cast<caf::actor_addr>(r.from.sender());
  auto [i, fresh] = callers_.try_emplace(r.watched, 0);
  ++i->second;
  if (!fresh)
    return;
  watch(r.from.sender());
  // So that a gate with changing callers does not remember all of them. The
  // limit grows with those that are not idle, lest each new one costs a look at
  // all others.
  if (callers_.size() <= prune_callers_at_)
    return;
  // One watch serves all reasons to watch an actor.
  auto needed_otherwise = [this](const caf::actor_addr& x) {
    return (target_ && target_.address() == x)
           || std::any_of(
             subscribers_.begin(), subscribers_.end(),
             [&](const caf::actor& s) { return s.address() == x; });
  };
  for (auto j = callers_.begin(); j != callers_.end();) {
    if (j->second == 0 && !needed_otherwise(j->first)) {
      unwatch(j->first);
      j = callers_.erase(j);
    } else {
      ++j;
    }
  }
  prune_callers_at_ = std::max<std::size_t>(1024, 2 * callers_.size());
}

void gate_actor::release_caller(call_record& r) {
  if (!r.watched)
    return;
  auto i = callers_.find(std::exchange(r.watched, caf::actor_addr{}));
  // The entry stays: the same caller will probably wait here again.
  if (i != callers_.end() && i->second > 0)
    --i->second;
}

} // namespace caisson::detail
