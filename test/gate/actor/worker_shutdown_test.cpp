// The time that workers have to end when their gates end.
#include "support/asking_client.hpp"
#include "support/gate_sets.hpp"

#include <caisson/gate/detail/worker_end.hpp>
#include <caisson/gate/supervision_group.hpp>

#include <string>
#include <vector>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

// Ends a while after it was asked to; zero: never. An int fails it.
class stubborn final : public caf::event_based_actor {
public:
  stubborn(caf::actor_config& cfg, duration takes)
    : caf::event_based_actor(cfg), takes_(takes) {}

  caf::behavior make_behavior() override {
    set_exit_handler([this](caf::exit_msg&) {
      if (takes_ > duration::zero())
        portable::later(this, takes_, std::string{"end"});
    });
    return {[this](int) { quit(caf::sec::runtime_error); },
            [this](const std::string&) { quit(); }};
  }

private:
  duration takes_;
};

class worker_shutdown : public asking_test {
protected:
  worker ending(duration shutdown, duration takes = duration::zero()) {
    return worker::supervised(
      [this, takes](caf::actor_system& sys) {
        last = caf::actor_cast<caf::actor>(sys.spawn<stubborn>(takes));
        workers.push_back(last);
        return caf::expected<caf::actor>{last};
      },
      {.restart = schedule::constant(1s), .shutdown = shutdown});
  }

  void TearDown() override {
    for (auto& x : workers)
      world.kill(x);
    workers.clear();
    last = nullptr;
    asking_test::TearDown();
  }

  [[nodiscard]] bool is_gone() const { return portable::is_down(last); }

  caf::actor last;
  std::vector<caf::actor> workers;
};
CAISSON_ALL_ORDERS(worker_shutdown);

TEST_P(worker_shutdown, a_worker_that_does_not_quit_is_killed_in_time) {
  auto g = gate(ending(2s), stack{});
  stop_gate(g);
  world.run_until_idle();
  EXPECT_TRUE(portable::is_down(g)) << "the gate does not wait";
  world.advance(2s - 1ns);
  EXPECT_FALSE(is_gone());
  world.advance(1ns);
  EXPECT_TRUE(is_gone());
  EXPECT_EQ(world.timers(), 0u);
}

TEST_P(worker_shutdown, a_worker_that_quits_in_time_leaves_no_timer) {
  auto g = gate(ending(1h, 1s), stack{});
  stop_gate(g);
  world.run_until_idle();
  EXPECT_EQ(world.timers(), 2u);
  world.advance(1s);
  EXPECT_TRUE(is_gone());
  EXPECT_EQ(world.timers(), 0u);
}

TEST_P(worker_shutdown, no_worker_is_killed_by_default) {
  EXPECT_EQ(supervision_config{}.shutdown, unlimited);
  auto g = gate(ending(unlimited), stack{});
  stop_gate(g);
  world.advance(24h);
  EXPECT_FALSE(is_gone());
  EXPECT_EQ(world.timers(), 0u);
}

TEST_P(worker_shutdown, without_time_it_is_killed_at_once) {
  auto g = gate(ending(0s), stack{});
  stop_gate(g);
  world.run_until_idle();
  EXPECT_TRUE(is_gone());
  EXPECT_EQ(world.timers(), 0u);
}

// It may have no time left for what waits in its mailbox.
TEST_P(worker_shutdown, a_killed_worker_handles_no_waiting_messages) {
  int handled = 0;
  auto busy = [&] {
    return caf::actor_cast<caf::actor>(
      world.system().spawn([&](caf::event_based_actor*) -> caf::behavior {
        return {[&](int) { ++handled; }};
      }));
  };
  auto x = busy();
  workers.push_back(x);
  world.run_until_idle();
  for (int i = 0; i < 10; ++i)
    portable::send_anon(x, i);
  detail::end_worker(world.system(), x, 0s);
  world.run_until_idle();
  EXPECT_TRUE(portable::is_down(x));
  EXPECT_EQ(handled, 0);
  // Who has time left does it all.
  auto y = busy();
  workers.push_back(y);
  for (int i = 0; i < 10; ++i)
    portable::send_anon(y, i);
  detail::end_worker(world.system(), y, 1s);
  world.run_until_idle();
  EXPECT_TRUE(portable::is_down(y));
  EXPECT_EQ(handled, 10);
  EXPECT_EQ(world.timers(), 0u);
}

TEST_P(worker_shutdown, a_worker_that_has_ended_before_needs_none) {
  auto g = gate(ending(1h), stack{});
  world.send(g, 1);
  world.run_until_idle();
  EXPECT_TRUE(is_gone());
  stop_gate(g);
  world.run_until_idle();
  EXPECT_EQ(world.timers(), 0u);
}

TEST_P(worker_shutdown, a_gate_without_handles_ends_its_worker_in_time) {
  {
    auto g = spawn_gate(world, ending(2s), stack{});
    world.run_until_idle();
  }
  world.run_until_idle();
  EXPECT_FALSE(is_gone());
  world.advance(2s);
  EXPECT_TRUE(is_gone());
}

TEST_P(worker_shutdown, a_local_gate_ends_its_worker_with_its_actor) {
  auto c = start(ending(2s), stack{});
  world.kill(c);
  world.advance(2s - 1ns);
  EXPECT_FALSE(is_gone());
  world.advance(1ns);
  EXPECT_TRUE(is_gone());
}

TEST_P(worker_shutdown, a_local_gate_that_is_stopped_does_too) {
  auto c = start(ending(0s), stack{});
  on("stop", [](asking_client& x) { x.gate->stop(); });
  world.send(c, std::string{"stop"});
  world.run_until_idle();
  EXPECT_TRUE(is_gone());
}

// The one that takes its place does not wait for it.
TEST_P(worker_shutdown, a_group_gives_time_to_the_worker_that_it_stops) {
  auto group = spawn_supervision_group(world);
  auto first = gate(ending(1h).in_group(group, 1), stack{"first"});
  auto fragile = last;
  auto second = gate(ending(3s).in_group(group, 2), stack{"second"});
  auto old = last;
  world.send(first, 1);
  world.advance(1s);
  EXPECT_TRUE(portable::is_down(fragile));
  EXPECT_NE(last, old);
  EXPECT_EQ(look(second).worker, worker_state::up);
  EXPECT_FALSE(portable::is_down(old));
  // Whoever asked has no part in it.
  world.kill(second);
  world.kill(first);
  group = {};
  world.advance(2s - 1ns);
  EXPECT_FALSE(portable::is_down(old));
  world.advance(1ns);
  EXPECT_TRUE(portable::is_down(old));
  EXPECT_FALSE(is_gone()) << "it was asked later";
  world.advance(1s);
  EXPECT_TRUE(is_gone());
}

TEST_P(worker_shutdown, a_group_that_gives_up_gives_time_as_well) {
  auto group = spawn_supervision_group(world, {.max_restarts = 0});
  auto first = gate(ending(1h).in_group(group, 1), stack{"first"});
  auto second = gate(ending(3s).in_group(group, 2), stack{"second"});
  world.send(first, 1);
  world.run_until_idle();
  EXPECT_TRUE(portable::is_down(second));
  EXPECT_FALSE(is_gone());
  world.advance(3s);
  EXPECT_TRUE(is_gone());
  group = {};
}

class shutdown_set_world : public gate_set_world {};
CAISSON_ALL_ORDERS(shutdown_set_world);

TEST_P(shutdown_set_world, a_reload_changes_the_time) {
  caf::actor last;
  names.add_factory("slow", [&](caf::actor_system& sys) {
    last = caf::actor_cast<caf::actor>(sys.spawn<stubborn>(duration::zero()));
    return caf::expected<caf::actor>{last};
  });
  auto text = [](const std::string& x) {
    return "[gates.a]\nworker = { name = 'slow', shutdown = '" + x + "' }\n";
  };
  start(text("unlimited"));
  EXPECT_EQ(changes_of(load(text("4s"))),
            lines{"a: worker: shutdown = 4s (was unlimited)"});
  EXPECT_EQ(changes_of(load("[gates.b]\nworker = 'doubles'\n")),
            (lines{"a: removed", "b: added"}));
  world.advance(4s - 1ns);
  EXPECT_FALSE(portable::is_down(last));
  world.advance(1ns);
  EXPECT_TRUE(portable::is_down(last));
  last = nullptr;
}

} // namespace
} // namespace caisson::test
