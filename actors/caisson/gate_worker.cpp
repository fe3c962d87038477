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

// Runs a factory that may block, on its own thread. It does not keep the gate
// alive meanwhile, and ends a worker that nobody wants any more.
class factory_runner final : public caf::event_based_actor {
public:
  factory_runner(caf::actor_config& cfg, worker_factory make,
                 caf::weak_actor_ptr gate, std::uint32_t incarnation)
    : caf::event_based_actor(cfg), make_(std::move(make)),
      gate_(std::move(gate)), incarnation_(incarnation) {}

  caf::behavior make_behavior() override {
    auto [handle, failure] = run_factory(make_, system());
    make_ = nullptr;
    auto gate = caf::actor_cast<caf::strong_actor_ptr>(gate_);
    if (!gate) {
      end_worker(system(), handle);
      return {};
    }
    rt::ask(this, caf::actor_cast<caf::actor>(gate), rt::no_timeout,
            worker_made{handle, failure, incarnation_})
      .then(
        [this, handle = handle](bool wanted) {
          if (!wanted)
            end_worker(system(), handle);
        },
        [this, handle = handle](const caf::error&) {
          end_worker(system(), handle);
        });
    return {};
  }

private:
  worker_factory make_;
  caf::weak_actor_ptr gate_;
  std::uint32_t incarnation_;
};

} // namespace

void end_worker(const caf::actor_system& sys, const caf::actor& x) {
  if (x && !rt::is_remote(sys, caf::actor_cast<caf::strong_actor_ptr>(x)))
    caf::anon_send_exit(x, caf::exit_reason::user_shutdown);
}

// -- the worker ---------------------------------------------------------------

void gate_actor::start_worker() {
  worker_ = worker_state::restarting;
  ++incarnation_;
  if (behind_.blocks()) {
    maker_ = system()
               .spawn<factory_runner, caf::detached>(
                 behind_.factory(), caf::weak_actor_ptr{ctrl()}, incarnation_)
               .address();
    return;
  }
  auto [handle, failure] = run_factory(behind_.factory(), system());
  if (handle)
    worker_ready(std::move(handle));
  else
    plan_restart(failure);
}

// Returns whether the gate wants the worker. Nobody but the helper that was
// asked for it can bring one.
bool gate_actor::take_made(worker_made& x) {
  if (!maker_ || caf::actor_cast<caf::actor_addr>(current_sender()) != maker_
      || x.incarnation != incarnation_ || worker_ != worker_state::restarting)
    return false;
  maker_ = nullptr;
  if (x.handle)
    worker_ready(std::move(x.handle));
  else
    plan_restart(x.failure);
  return true;
}

void gate_actor::worker_ready(caf::actor handle) {
  target_ = std::move(handle);
  target_is_gate_ = is_local_gate(target_);
  worker_ = worker_state::up;
  supervisor_.on_up(env_.now);
  publish({.kind = event_kind::worker_changed, .to = "up"});
  watch_for(target_);
  // In order of arrival. One that the new worker kills leaves the rest waiting.
  while (worker_ == worker_state::up && !waiting_.empty())
    if (auto* r = calls_.find(waiting_.erase(waiting_.front()))) {
      calls_.move_to(*r, phase::moving);
      dispatch(*r);
    }
}

void gate_actor::worker_lost(const std::string& why) {
  ++totals_.worker_losses;
  unwatch_for(target_.address());
  target_ = nullptr;
  if (behind_.factory()) {
    plan_restart(why);
  } else {
    worker_ = worker_state::down;
    publish({.kind = event_kind::worker_changed,
             .from = "up",
             .to = "down",
             .detail = why});
  }
  fail_flying(with_worker_);
}

void gate_actor::plan_restart(const std::string& why) {
  std::string failure;
  auto at = supervisor_.on_down(env_.now, random_, &failure);
  if (!failure.empty())
    note_failure(layers_.size(), "schedule", failure);
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

void gate_actor::fail_flying(flying_calls& calls) {
  // What is sent meanwhile goes to somebody else.
  auto lost = std::move(calls);
  while (!lost.empty()) {
    auto& r = lost.front();
    land(r);
    set_reached(r);
    ascend(r, r.depth - 1, outcome::failure(errc::worker_down, true));
  }
}

void gate_actor::fail_waiting() {
  while (!waiting_.empty()) {
    auto* r = calls_.find(waiting_.erase(waiting_.front()));
    if (!r)
      continue;
    calls_.move_to(*r, phase::moving);
    ascend(*r, r->depth - 1, outcome::failure(errc::worker_down, false));
  }
}

void gate_actor::find_alternatives() {
  for (std::size_t k = 0; k < layers_.size(); ++k) {
    auto& owner = *layers_[k].owner;
    layers_[k].first_alternative = alternatives_.size();
    for (std::size_t i = 0; i < owner.alternatives(); ++i) {
      auto& entry = alternatives_.emplace_back();
      entry.layer = k;
      entry.target = owner.at(i)->target;
      entry.is_gate = is_local_gate(entry.target);
    }
  }
}

bool gate_actor::went_to_gate(const call_record& r) const {
  return r.alternative == call_record::no_alternative
           ? target_is_gate_ || behind_.declared_gate()
           : alternatives_[r.alternative].is_gate;
}

void gate_actor::tell_cancelled(const call_record& r) {
  if (r.alternative != call_record::no_alternative || !target_)
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
  watched_.erase(who);
  if (target_ && worker_ == worker_state::up && target_.address() == who)
    worker_lost(why ? rt::render(system(), why) : "it has quit");
  for (auto& x : alternatives_)
    if (x.target && x.target.address() == who)
      fail_flying(x.calls);
  caller_down(who);
  std::erase_if(subscribers_,
                [&](const caf::actor& x) { return x.address() == who; });
  end();
}

} // namespace caisson::detail
