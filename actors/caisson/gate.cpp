#include <caisson/gate.hpp>

#include <caisson/detail/gate_actor.hpp>

#include <random>

namespace caisson {

namespace detail {

namespace {

std::uint64_t seed_for(const gate_actor& gate, std::int64_t wanted) {
  if (wanted != 0)
    return mix_seed(static_cast<std::uint64_t>(wanted));
  // Two gates of one fleet must not jitter in step; two runs in virtual time
  // must not differ.
  if (rt::is_virtual(gate.home_system()))
    return mix_seed(gate.id());
  std::random_device entropy;
  return std::uint64_t{entropy()} << 32 | entropy();
}

} // namespace

bool is_local_gate(const caf::actor& x) {
  return x
         && dynamic_cast<gate_actor*>(caf::actor_cast<caf::abstract_actor*>(x))
              != nullptr;
}

gate_actor::gate_actor(caf::actor_config& cfg, worker behind,
                       const stack& policies)
  : gate_base(cfg), config_(policies.config()), behind_(std::move(behind)),
    supervisor_(behind_.supervision()),
    random_(seed_for(*this, policies.config().seed)), env_(this, random_),
    calls_(policies.size()), exact_timers_(rt::is_virtual(home_system())) {
  for (auto& x : policies.build()) {
    layer_entry entry;
    entry.machine = &x->machine();
    entry.owner = std::move(x);
    resends_ = resends_ || entry.machine->resends();
    layers_.push_back(std::move(entry));
  }
}

caf::behavior gate_actor::make_behavior() {
  auto result = gate_base::make_behavior();
  begin();
  for (const auto& x : layers_)
    for (const auto& target : x.owner->targets())
      watch(caf::actor_cast<caf::strong_actor_ptr>(target));
  if (behind_.factory()) {
    start_worker();
  } else if (behind_.handle()) {
    target_ = behind_.handle();
    target_is_gate_ = is_local_gate(target_);
    worker_ = worker_state::up;
    watch(caf::actor_cast<caf::strong_actor_ptr>(target_));
  } else if (behind_.given()) {
    worker_ = worker_state::down;
  }
  end();
  return result;
}

// Whatever ends the gate, nobody is left waiting.
void gate_actor::on_exit() {
  stopped_ = true;
  for (auto id : calls_.ids([](const call_record&) { return true; })) {
    auto* r = calls_.find(id);
    if (r->where == phase::flying)
      tell_cancelled(*r);
    r->decider = -1;
    if (r->from.wanted())
      r->from.answer(
        this, message_of(*r, outcome::failure(errc::cancelled, r->touched)));
    calls_.put_back(*r);
  }
  for (auto& x : std::exchange(drains_, {}))
    x.answer(this, caf::message{});
  // A worker on another node was only connected to: others may use it, too.
  if (behind_.factory() && target_
      && !rt::is_remote(system(),
                        caf::actor_cast<caf::strong_actor_ptr>(target_)))
    caf::anon_send_exit(target_, caf::exit_reason::user_shutdown);
  // Handles can form circles.
  target_ = nullptr;
  behind_ = worker{};
  layers_.clear();
  subscribers_.clear();
  self_ = nullptr;
  gate_base::on_exit();
}

} // namespace detail

caf::actor spawn_gate(caf::actor_system& sys, worker behind, stack policies) {
  auto found = policies.check();
  if (behind.factory())
    for (auto& p : problems_of(behind.supervision(), "worker"))
      found.push_back(std::move(p));
  if (!found.empty())
    throw config_error{std::move(found)};
  return sys.spawn<detail::gate_actor>(std::move(behind), std::move(policies));
}

caf::actor spawn_deadline(caf::actor_system& sys, worker behind,
                          deadline_config c) {
  return spawn_gate(sys, std::move(behind), stack{}.deadline(std::move(c)));
}

caf::actor spawn_semaphore(caf::actor_system& sys, worker behind,
                           semaphore_config c) {
  return spawn_gate(sys, std::move(behind), stack{}.semaphore(std::move(c)));
}

caf::actor spawn_limiter(caf::actor_system& sys, worker behind,
                         limiter_config c) {
  return spawn_gate(sys, std::move(behind), stack{}.limiter(std::move(c)));
}

caf::actor spawn_breaker(caf::actor_system& sys, worker behind,
                         breaker_config c) {
  return spawn_gate(sys, std::move(behind), stack{}.breaker(std::move(c)));
}

caf::actor spawn_retrier(caf::actor_system& sys, worker behind,
                         retrier_config c) {
  return spawn_gate(sys, std::move(behind), stack{}.retry(std::move(c)));
}

caf::actor spawn_batcher(caf::actor_system& sys, worker behind,
                         batcher_config c, batching forms) {
  return spawn_gate(sys, std::move(behind),
                    stack{}.batch(std::move(c), std::move(forms)));
}

caf::actor spawn_fallback(caf::actor_system& sys, worker behind,
                          std::vector<alternative> chain, fallback_config c) {
  return spawn_gate(sys, std::move(behind),
                    stack{}.fallback(std::move(chain), std::move(c)));
}

void publish_name(caf::actor_system& sys, std::string_view name,
                  const caf::actor& gate) {
  rt::put_name(sys, name, gate);
}

caf::actor find(caf::actor_system& sys, std::string_view name) {
  return rt::find_name(sys, name);
}

void forget(caf::actor_system& sys, std::string_view name) {
  rt::erase_name(sys, name);
}

} // namespace caisson
