// Reports of an engine to its layers, and their requests to it.
#include <caisson/base/histogram.hpp>

#include <support/engine_world.hpp>
#include <support/puppet.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

struct env_engine : testing::Test {
  engine_world& start() {
    puppets stack;
    p = &stack.add("p").machine();
    return world.emplace(std::move(stack), world_setup{});
  }

  puppet* p = nullptr;
  std::optional<engine_world> world;
};

TEST_F(env_engine, layers_see_how_long_attempts_have_taken) {
  auto& w = start();
  std::uint64_t attempts = 0;
  std::optional<duration> longest;
  bool failures = true;
  p->on_admit = [&](call_info&, slot&, env& e) {
    const auto* all = e.durations(measured::attempts, true);
    attempts = all ? all->count() : 0;
    if (all)
      longest = all->max();
    failures = e.durations(measured::attempts, false) != nullptr;
    return decision::pass();
  };
  w.call("a");
  EXPECT_EQ(attempts, 0u);
  w.at(3ms);
  w.answer(0, "y");
  w.call("a");
  EXPECT_EQ(attempts, 1u);
  EXPECT_EQ(longest, 3ms);
  EXPECT_FALSE(failures);
  w.answer(1, "y");
}

TEST_F(env_engine, a_layer_can_hold_a_drain_open) {
  auto& w = start();
  p->on_admit = [](call_info&, slot&, env& e) {
    e.hold_open(true);
    e.hold_open(true);
    return decision::pass();
  };
  w.call("a");
  w.answer(0, "y");
  w.drain();
  EXPECT_EQ(w.unanswered(), 1u);
  p->on_command = [](operator_command, env& e) {
    e.hold_open(false);
    return true;
  };
  EXPECT_EQ(w.command(operator_command::reset, "p"), "");
  EXPECT_EQ(w.unanswered(), 0u);
}

} // namespace
} // namespace caisson::test
