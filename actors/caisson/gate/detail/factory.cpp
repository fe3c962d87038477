#include <caisson/gate/detail/factory.hpp>

#include <caisson/caf/error_text.hpp>
#include <caisson/caf/messages.hpp>

#include <exception>
#include <utility>

namespace caisson::detail {

factory_result run_factory(const worker_factory& make, caf::actor_system& sys) {
  try {
    auto result = make(sys);
    if (!result)
      return {{}, portable::to_text(sys, result.error())};
    if (!*result)
      return {{}, "the factory gave a null handle"};
    return {std::move(*result), {}};
  } catch (const std::exception& e) {
    return {{}, e.what()};
  } catch (...) {
    return {{}, "the factory threw"};
  }
}

namespace {

class factory_runner final : public caf::event_based_actor {
public:
  factory_runner(caf::actor_config& cfg, worker_factory make, duration shutdown,
                 caf::weak_actor_ptr gate, std::uint32_t incarnation)
    : caf::event_based_actor(cfg), make_(std::move(make)), shutdown_(shutdown),
      gate_(std::move(gate)), incarnation_(incarnation) {}

  caf::behavior make_behavior() override {
    auto [handle, failure] = run_factory(make_, system());
    make_ = nullptr;
    auto gate = caf::actor_cast<caf::strong_actor_ptr>(gate_);
    if (!gate) {
      end_worker(system(), handle, shutdown_);
      return {};
    }
    portable::ask(this, caf::actor_cast<caf::actor>(gate), portable::no_timeout,
                  worker_made{handle, failure, incarnation_})
      .then(
        [this, handle = handle](bool is_needed) {
          if (!is_needed)
            end_worker(system(), handle, shutdown_);
        },
        [this, handle = handle](const caf::error&) {
          end_worker(system(), handle, shutdown_);
        });
    return {};
  }

private:
  worker_factory make_;
  duration shutdown_;
  caf::weak_actor_ptr gate_;
  std::uint32_t incarnation_;
};

class factory_helper final : public caf::event_based_actor {
public:
  factory_helper(caf::actor_config& cfg, worker_factory make, duration shutdown)
    : caf::event_based_actor(cfg), make_(std::move(make)), shutdown_(shutdown) {
  }

  const char* name() const override { return "caisson.factory"; }

  caf::behavior make_behavior() override {
    return {[this](std::uint32_t incarnation) {
      portable::on_down(this, current_sender(), [this] {
        end_worker(system(), handle_, shutdown_);
        quit();
      });
      auto [handle, failure] = run_factory(make_, system());
      handle_ = handle;
      return worker_made{handle, failure, incarnation};
    }};
  }

private:
  worker_factory make_;
  duration shutdown_;
  caf::actor handle_;
};

} // namespace

caf::actor spawn_factory_helper(worker_factory make, duration shutdown,
                                caf::actor_system& sys) {
  return caf::actor_cast<caf::actor>(
    sys.spawn<factory_helper, caf::detached>(std::move(make), shutdown));
}

caf::actor_addr run_factory_apart(worker_factory make, duration shutdown,
                                  caf::actor_system& sys,
                                  caf::weak_actor_ptr gate,
                                  std::uint32_t incarnation) {
  return sys
    .spawn<factory_runner, caf::detached>(std::move(make), shutdown,
                                          std::move(gate), incarnation)
    .address();
}

target_info info_of_worker(const worker& behind, const caf::actor& x,
                           const caf::actor_system& sys) {
  auto info = info_of_target(x, sys);
  info.is_gate = info.is_gate || behind.declared_gate();
  info.takes_calls = info.takes_calls || behind.wants_calls();
  info.takes_cancelled = info.takes_cancelled || behind.wants_cancelled();
  return info;
}

target_info info_of_target(const caf::actor& x, const caf::actor_system& sys) {
  target_info info;
  info.is_gate = info.keeps_deadlines = is_local_gate(x);
  info.takes_calls = info.takes_cancelled = info.is_gate;
  info.is_remote = x && x.node() != sys.node();
  return info;
}

} // namespace caisson::detail
