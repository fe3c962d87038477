#include <caisson/gate.hpp>

#include <caisson/call_handle.hpp>
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

// Apart from the other seed: who knows that one must not know permits.
std::optional<std::uint64_t> secret_seed_for(const gate_actor& gate) {
  if (rt::is_virtual(gate.home_system()))
    return mix_seed(~gate.id());
  return std::nullopt;
}

std::uint64_t path_key_of(const gate_actor& gate) {
  return mix_seed(category_hash(to_string(gate.node())) ^ gate.id());
}

} // namespace

bool is_local_gate(const caf::actor& x) {
  if (!x)
    return false;
  auto actor = behind_call_handle(x);
  auto* behind = caf::actor_cast<caf::abstract_actor*>(actor);
  return dynamic_cast<gate_actor*>(behind) != nullptr;
}

gate_actor::gate_actor(caf::actor_config& cfg, worker behind,
                       const stack& policies)
  : gate_base(cfg), config_(policies.config()), behind_(std::move(behind)),
    supervisor_(behind_.supervision()),
    random_(seed_for(*this, policies.config().seed)),
    secrets_(secret_seed_for(*this)), attempt_factor_(secrets_.bits() | 1),
    attempt_mask_(secrets_.bits()), path_key_(path_key_of(*this)),
    env_(this, random_), calls_(policies.size(), secrets_.bits()),
    exact_timers_(rt::is_virtual(home_system())) {
  for (auto& x : policies.build()) {
    layer_entry entry;
    entry.machine = &x->machine();
    entry.owner = std::move(x);
    resends_ = resends_ || entry.machine->resends();
    layers_.push_back(std::move(entry));
  }
  find_alternatives();
}

caf::behavior gate_actor::make_behavior() {
  auto result = gate_base::make_behavior();
  begin();
  for (const auto& x : alternatives_)
    if (x.target)
      watch_for(x.target);
  if (behind_.factory()) {
    start_worker();
  } else if (behind_.handle()) {
    target_ = behind_.handle();
    target_is_gate_ = is_local_gate(target_);
    worker_ = worker_state::up;
    watch_for(target_);
  } else if (behind_.given()) {
    worker_ = worker_state::down;
  }
  end();
  return result;
}

// Whatever ends the gate, nobody is left waiting.
void gate_actor::on_exit() {
  stopped_ = true;
  calls_.for_each([this](call_record& r) {
    if (r.where == phase::flying)
      tell_cancelled(r);
    if (reached_now(r))
      set_reached(r);
    r.decider = -1;
    answer(r, error_of(r, outcome::failure(errc::cancelled, reached(r))));
  });
  calls_.clear();
  timers_.clear();
  for (auto& x : std::exchange(drains_, {}))
    x.answer(this, caf::message{});
  if (behind_.factory())
    end_worker(system(), target_);
  for (const auto& [who, reasons] : watched_)
    unwatch(who);
  watched_.clear();
  // Handles can form circles.
  target_ = nullptr;
  behind_ = worker{};
  layers_.clear();
  alternatives_.clear();
  callers_.clear();
  permits_.clear();
  subscribers_.clear();
  self_ = nullptr;
  gate_base::on_exit();
}

} // namespace detail

caf::actor spawn_gate(caf::actor_system& sys, worker behind, stack policies) {
  auto found = policies.check();
  if (behind.is_supervised() && !behind.factory())
    found.push_back({{},
                     "worker.factory",
                     "is empty: there is nothing to make "
                     "the worker with"});
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
