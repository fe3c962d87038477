// The frame of every actor test: a world in virtual time that must be left
// clean, under FIFO order and several seeded random orders.
#pragma once

#include <caisson/gate.hpp>
#include <caisson/testing/virtual_time.hpp>

#include <caisson/testing/scripted_worker.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace caisson::test {

/// Answers an int with its double, anything else with `unexpected_message`.
inline scripted_worker::script doubles() {
  return scripted_worker::on<int>([](int x) { return x * 2; });
}

/// A world in one order of messages: FIFO if the number is 0, else drawn with
/// it as the seed. After `clean_up` nothing is left in it.
class ordered_world {
protected:
  explicit ordered_world(int order)
    : world(order == 0 ? std::optional<std::uint64_t>{}
                       : std::optional<std::uint64_t>{
                         static_cast<std::uint64_t>(order)}) {}

  void clean_up() {
    for (auto& x : std::exchange(owned, {}))
      world.kill(x);
    world.run_until_idle();
    EXPECT_EQ(world.timers(), 0u) << "a timer is left";
    EXPECT_EQ(world.actors(), 0u) << "an actor is left";
  }

  /// To be killed at the end of the test.
  template <class Handle>
  Handle own(Handle x) {
    owned.push_back(caf::actor_cast<caf::actor>(x));
    world.run_until_idle();
    return x;
  }

  scripted_worker make_worker(scripted_worker::script run = {}) {
    scripted_worker w{world, std::move(run)};
    owned.push_back(w.handle());
    return w;
  }

  caf::actor gate(worker behind, stack s) {
    return own(spawn_gate(world, std::move(behind), std::move(s)));
  }

  status look(const caf::actor& g) {
    return world.request(g, get_status{}).template value<status>();
  }

  std::int64_t metric_of(const caf::actor& g, const std::string& name) {
    return look(g).metric(name);
  }

  std::int64_t metric_of(const caf::actor& g, const std::string& layer,
                         const std::string& name) {
    return look(g).metric(layer, name);
  }

  std::string state_of(const caf::actor& g, const std::string& layer) {
    return look(g).layer(layer).state;
  }

  virtual_time world;
  std::vector<caf::actor> owned;
};

/// The parameter is the order. A failing test prints it.
class world_test : protected ordered_world, public testing::TestWithParam<int> {
protected:
  world_test() : ordered_world(GetParam()) {}

  void TearDown() override { clean_up(); }
};

/// FIFO and seven random orders.
#define CAISSON_ALL_ORDERS(fixture) \
  INSTANTIATE_TEST_SUITE_P(orders, fixture, testing::Range(0, 8))

} // namespace caisson::test
