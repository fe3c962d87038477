// Supervision groups on the real scheduler.
#include <caisson/caf/error.hpp>
#include <caisson/gate.hpp>
#include <caisson/gate/supervision_group.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <string>
#include <thread>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

caf::behavior doubling(caf::event_based_actor* self) {
  return {[self](int x) {
    if (x < 0)
      self->quit(caf::exit_reason::user_shutdown);
    return x * 2;
  }};
}

caf::expected<caf::actor> make_one(caf::actor_system& sys) {
  return sys.spawn(doubling);
}

status look(caf::actor_system& sys, const caf::actor& x) {
  caf::scoped_actor self{sys};
  status out;
  portable::ask_blocking(self, x, 20s, get_status{})
    .receive([&](status& s) { out = std::move(s); },
             [&](caf::error& e) { ADD_FAILURE() << portable::render(sys, e); });
  return out;
}

// Gates end with their last handles, in any state.
TEST(real_groups, may_be_dropped_at_any_time) {
  for (int round = 0; round < 100; ++round) {
    system_config cfg;
    portable::set_threads(cfg, 3);
    caf::actor_system sys{cfg};
    auto group = spawn_supervision_group(sys, {.max_restarts = 1'000});
    std::vector<control_handle> gates;
    for (std::uint32_t i = 0; i < 4; ++i) {
      auto behind = worker::supervised(
        make_one, {.restart = schedule::constant(1ms), .max_restarts = 1'000});
      if (i == 2)
        behind = std::move(behind).on_own_thread();
      gates.push_back(spawn_gate(sys, std::move(behind).in_group(group, i),
                                 stack{std::to_string(i)}));
    }
    caf::scoped_actor self{sys};
    for (int i = 0; i < round % 4; ++i)
      portable::send(self, caf::actor{gates[1]}, -1);
    if (round % 3 == 0)
      group = {};
    while (!gates.empty())
      gates.pop_back();
  }
}

TEST(real_groups, wait_for_a_worker_that_is_being_made) {
  system_config cfg;
  caf::actor_system sys{cfg};
  auto group = spawn_supervision_group(sys);
  std::promise<void> go;
  auto slow = [ready = go.get_future().share()](caf::actor_system& home) {
    ready.wait();
    return make_one(home);
  };
  auto gate = spawn_gate(
    sys, worker::supervised(slow).on_own_thread().in_group(group), stack{"a"});
  // It has joined when it answers, as its messages come in order.
  EXPECT_EQ(look(sys, gate).worker, worker_state::restarting);
  auto s = look(sys, group.handle());
  EXPECT_EQ(s.worker, worker_state::restarting);
  EXPECT_EQ(s.metric("members_up"), 0);
  go.set_value();
  for (int i = 0; i < 2'000 && s.worker != worker_state::up; ++i) {
    std::this_thread::sleep_for(5ms);
    s = look(sys, group.handle());
  }
  EXPECT_EQ(s.worker, worker_state::up);
  EXPECT_EQ(s.metric("members_up"), 1);
}

} // namespace
} // namespace caisson::test
