#include <caisson/gate/detail/guard/guard_operation.hpp>

#include <memory>
#include <utility>

namespace caisson::detail {

status guard_operation::get_status() {
  auto lock = core_.enter();
  if (core_.is_stopped())
    return {};
  guard_stay here{core_};
  status out;
  {
    auto running = core_.fire_due_timers_and_step();
    out = core_.shared_engine().make_status(running.now());
  }
  core_.deliver_events(lock);
  return out;
}

caf::error guard_operation::apply(const reconfigure& x) {
  return operate([&](time_point now) {
    return core_.shared_engine().on_reconfigure(x, now);
  });
}

caf::error guard_operation::apply(const command& x) {
  return operate(
    [&](time_point now) { return core_.shared_engine().on_command(x, now); });
}

template <class F>
caf::error guard_operation::operate(F f) {
  auto lock = core_.enter();
  if (core_.is_stopped())
    return core_.end_error();
  guard_stay here{core_};
  caf::error out;
  {
    auto running = core_.fire_due_timers_and_step();
    out = f(running.now());
  }
  core_.deliver_events(lock);
  return out;
}

void guard_operation::listen_to_events(guard_events::listener f) {
  auto next = f ? std::make_shared<const guard_events::listener>(std::move(f))
                : nullptr;
  auto lock = core_.enter();
  core_.events().swap_listener(lock, next);
}

void guard_operation::drain() {
  auto lock = core_.enter();
  guard_stay here{core_};
  if (!core_.is_stopped()) {
    auto running = core_.fire_due_timers_and_step();
    core_.shared_engine().on_drain({}, running.now());
  }
  core_.deliver_events(lock);
  auto& presence = core_.presence();
  presence.await();
  // Calls may end by their deadlines alone, when no other thread looks at the
  // clock.
  while (!core_.is_stopped() && core_.shared_engine().live() > 0) {
    auto& time = core_.timekeeper();
    time.wait_for(lock, presence.left());
    if (!core_.is_stopped() && !time.is_kept() && time.is_due())
      core_.fire_due_timers();
    core_.deliver_events(lock);
  }
}

void guard_operation::stop() {
  auto lock = core_.enter();
  if (core_.is_stopped())
    return;
  core_.stop();
  core_.deliver_events(lock);
}

} // namespace caisson::detail
