// One answer per request, whatever happens to the gates and workers of a group.
#include "support/quiescent.hpp"
#include "support/world.hpp"

#include <caisson/gate/supervision_group.hpp>

#include <functional>
#include <ostream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

constexpr std::size_t members = 3;

// Gates with workers of one group. The workers do not answer unless asked to.
struct group_of_gates {
  virtual_time& world;
  caf::actor group;
  std::vector<scripted_worker> workers;
  std::vector<caf::actor> gates;
};

// What the calls are doing.
struct group_place {
  std::string name;
  std::function<void(group_of_gates&)> prepare;
};

std::ostream& operator<<(std::ostream& out, const group_place& x) {
  return out << x.name;
}

std::vector<group_place> group_places() {
  return {
    {"in flight", [](auto&) {}},
    {"waiting for their workers",
     [](group_of_gates& x) { x.workers[1].kill(); }},
    {"waiting while the first worker is back",
     [](group_of_gates& x) {
       x.workers[0].kill();
       // The others follow, one after the other.
       x.world.advance(1s);
     }},
  };
}

struct group_disturbance {
  std::string name;
  std::function<void(group_of_gates&)> run;
};

std::ostream& operator<<(std::ostream& out, const group_disturbance& x) {
  return out << x.name;
}

void kill_again_and_again(group_of_gates& x, std::size_t i) {
  for (int n = 0; n < 8; ++n) {
    x.workers[i].kill();
    x.world.advance(1s);
  }
}

std::vector<group_disturbance> group_disturbances() {
  return {
    {"nothing, for an hour", [](auto&) {}},
    {"the first worker dies",
     [](group_of_gates& x) { x.workers.front().kill(); }},
    {"the last worker dies",
     [](group_of_gates& x) { x.workers.back().kill(); }},
    {"all workers die at once",
     [](group_of_gates& x) {
       for (auto& w : x.workers)
         caf::anon_send_exit(w.handle(), caf::exit_reason::kill);
       x.world.run_until_idle();
     }},
    {"the first worker dies until the group gives up",
     [](group_of_gates& x) { kill_again_and_again(x, 0); }},
    {"the last worker dies until the group gives up",
     [](group_of_gates& x) { kill_again_and_again(x, members - 1); }},
    {"a worker dies while another one is starting",
     [](group_of_gates& x) {
       x.workers[1].kill();
       x.world.advance(500ms);
       x.workers[2].kill();
     }},
    {"a gate is stopped",
     [](group_of_gates& x) {
       stop_gate(x.gates[1]);
       x.world.run_until_idle();
     }},
    {"a gate is killed while the workers are being stopped",
     [](group_of_gates& x) {
       caf::anon_send_exit(x.workers[0].handle(), caf::exit_reason::kill);
       caf::anon_send_exit(x.gates[1], caf::exit_reason::kill);
       x.world.run_until_idle();
     }},
    {"a gate is drained",
     [](group_of_gates& x) {
       x.world.send(x.gates[0], drain{});
       x.workers[1].kill();
     }},
    {"the group is killed", [](group_of_gates& x) { x.world.kill(x.group); }},
    {"the group is killed before a worker dies",
     [](group_of_gates& x) {
       x.world.kill(x.group);
       x.workers[0].kill();
     }},
    {"the workers answer late",
     [](group_of_gates& x) {
       x.world.advance(31s);
       for (auto& w : x.workers)
         while (w.open() > 0)
           w.answer(1);
     }},
  };
}

class group_replies_test
  : public testing::TestWithParam<std::tuple<
      group_place, group_disturbance, group_strategy, give_up_action, int>> {
protected:
  group_replies_test()
    : seed(std::get<4>(GetParam())),
      world(seed == 0 ? std::optional<std::uint64_t>{}
                      : std::optional<std::uint64_t>(seed)) {
    auto group = spawn_supervision_group(
      world, {.strategy = std::get<2>(GetParam()), .max_restarts = 5});
    x.group = group.handle();
    for (std::uint32_t i = 0; i < members; ++i) {
      x.workers.emplace_back(world);
      x.gates.push_back(
        spawn_gate(world,
                   worker::supervised(x.workers[i].factory(),
                                      {.restart = schedule::constant(1s),
                                       .max_waiting = 3,
                                       .on_give_up = std::get<3>(GetParam())})
                     .in_group(group, i),
                   stack{"g" + std::to_string(i)}.semaphore(
                     {.permits = 2, .max_waiters = 2})));
    }
    world.run_until_idle();
  }

  int seed;
  virtual_time world;
  group_of_gates x{world, {}, {}, {}};
};

INSTANTIATE_TEST_SUITE_P(
  all, group_replies_test,
  testing::Combine(
    testing::ValuesIn(group_places()), testing::ValuesIn(group_disturbances()),
    testing::Values(group_strategy::one_for_one, group_strategy::one_for_all,
                    group_strategy::rest_for_one),
    testing::Values(give_up_action::quit, give_up_action::refuse),
    testing::Range(0, 3)));

TEST_P(group_replies_test, every_request_gets_exactly_one_answer) {
  std::get<0>(GetParam()).prepare(x);
  std::vector<pending_answer> answers;
  // Two go on, two wait, one is refused.
  for (auto& g : x.gates)
    for (int i = 0; i < 5; ++i)
      answers.push_back(world.request(g, i));
  std::get<1>(GetParam()).run(x);
  world.advance(1h);
  for (auto& a : answers)
    EXPECT_EQ(a.count(), 1u);
  for (auto& g : x.gates)
    if (!portable::is_down(g))
      expect_quiescent(world.request(g, get_status{}).value<status>());
  for (auto& g : std::exchange(x.gates, {}))
    world.kill(g);
  for (auto& w : x.workers)
    world.kill(w.handle());
  // Without gates it has nobody left.
  x.group = nullptr;
  world.run_until_idle();
  EXPECT_EQ(world.timers(), 0u);
  EXPECT_EQ(world.actors(), 0u);
}

} // namespace
} // namespace caisson::test
