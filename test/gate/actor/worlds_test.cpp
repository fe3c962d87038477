// One world after another: a gate with a call in progress outlives its world,
// and the next one often has its system at the same address.
#include <caisson/gate.hpp>
#include <caisson/observe/gate_watch.hpp>
#include <caisson/policy/feature_flags.hpp>
#include <caisson/policy/shared_retry_budget.hpp>
#include <caisson/stack/add.hpp>
#include <caisson/stack/layers/degradation_layer.hpp>
#include <caisson/testing/scripted_worker.hpp>
#include <caisson/testing/virtual_time.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <memory>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

constexpr int worlds = 20;
constexpr retry_budget::limits ten_retries{10s, 1, 0};

TEST(worlds, begin_with_all_features_on) {
  for (int i = 0; i < worlds; ++i) {
    virtual_time world;
    EXPECT_TRUE(feature_flags::of(&world.system())->is_on("x"));
    scripted_worker mute{world};
    auto gate = spawn_gate(
      world, mute.handle(),
      stack{}.add<degradation>({.levels = {{.name = "x"}}, .held_off = {"x"}}));
    world.request(gate, 1);
    EXPECT_FALSE(feature_flags::of(&world.system())->is_on("x"));
  }
}

TEST(worlds, begin_with_full_budgets) {
  for (int i = 0; i < worlds; ++i) {
    virtual_time world;
    auto budget = shared_retry_budget::named(&world.system(), "all",
                                             ten_retries);
    EXPECT_EQ(budget->balance(), 10);
    scripted_worker mute{world};
    auto gate = spawn_gate(world, mute.handle(),
                           stack{}.retrier({.budget_name = "all"}));
    world.request(gate, 1);
    EXPECT_TRUE(budget->try_withdraw(world.now(), 10));
  }
}

TEST(worlds, begin_without_gates_to_watch) {
  for (int i = 0; i < worlds; ++i) {
    virtual_time world;
    gate_watch watch{world};
    EXPECT_TRUE(watch.gates().empty());
    scripted_worker mute{world};
    auto gate = spawn_gate(world, mute.handle(), stack{});
    world.request(gate, 1);
    EXPECT_EQ(watch.gates().size(), 1u);
  }
}

TEST(worlds, that_exist_at_the_same_time_share_nothing) {
  virtual_time a;
  virtual_time b;
  EXPECT_NE(feature_flags::of(&a.system()), feature_flags::of(&b.system()));
  auto flags = feature_flags::of(&a.system());
  EXPECT_EQ(feature_flags::of(&a.system()), flags);
}

} // namespace
} // namespace caisson::test
