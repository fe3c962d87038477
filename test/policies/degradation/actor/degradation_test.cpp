// Levels that are switched, and those who ask for their features.
#include "support/stack_texts.hpp"
#include "support/world.hpp"

#include <caisson/stack/add.hpp>
#include <caisson/stack/layers/degradation_layer.hpp>
#include <caisson/stack/layers/feature_layer.hpp>

#include <string>
#include <vector>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

using strings = std::vector<std::string>;

class degradation_layer_test : public world_test {
protected:
  static degradation_config quick() {
    degradation_config c;
    c.min_calls = 10;
    return c;
  }

  // A gate whose worker fails as long as `broken`.
  caf::actor shop(stack policies) {
    auto w = make_worker([this](const caf::message& m) {
      return broken ? caf::make_message(make_error(caf::sec::runtime_error))
                    : m;
    });
    return gate(w.handle(), std::move(policies));
  }

  // Ten calls a second.
  void call(const caf::actor& g, duration length) {
    for (auto t = 0ms; t < length; t += 100ms) {
      world.request(g, 1);
      world.advance(100ms);
    }
  }

  [[nodiscard]] strings off() {
    return feature_flags::of(&world.system())->all_off();
  }

  bool broken = false;
};
CAISSON_ALL_ORDERS(degradation_layer_test);

TEST_P(degradation_layer_test, other_gates_reject_calls_of_features_off) {
  auto g = shop(stack{}.add<degradation>(quick()));
  auto w = make_worker(doubles());
  auto ads = gate(w.handle(), stack{"ads"}
                                .fallback({alternative::answer(0)})
                                .add<feature>({.feature = "extras"}));
  auto bare = gate(w.handle(),
                   stack{"bare"}.add<feature>({.feature = "extras"}));
  EXPECT_EQ(world.request(ads, 2).value<int>(), 4);
  broken = true;
  call(g, 2s);
  EXPECT_EQ(off(), strings{"extras"});
  EXPECT_EQ(world.request(ads, 2).value<int>(), 0);
  auto refused = world.request(bare, 2);
  world.advance(1s);
  EXPECT_TRUE(refused.is(errc::feature_off));
  EXPECT_EQ(w.count(), 1u);
  EXPECT_EQ(metric_of(bare, "feature", "rejected"), 1);
  broken = false;
  call(g, 2min);
  EXPECT_TRUE(off().empty());
  EXPECT_EQ(world.request(ads, 2).value<int>(), 4);
}

TEST_P(degradation_layer_test, calls_that_a_feature_rejects_keep_nothing_off) {
  auto w = make_worker(doubles());
  auto ads = gate(w.handle(), stack{"ads"}.add<feature>({.feature = "extras"}));
  auto front = gate(ads, stack{"front"}.add<degradation>(quick()));
  feature_hold hold{feature_flags::of(&world.system())};
  hold.set({"extras"});
  call(front, 10s);
  EXPECT_EQ(off(), strings{"extras"});
  EXPECT_EQ(metric_of(front, "degradation", "ignored"), 100);
}

TEST_P(degradation_layer_test, only_in_force_does_it_switch_anything) {
  auto g = shop(stack{}.add<degradation>(quick()));
  broken = true;
  call(g, 2s);
  ASSERT_EQ(off(), strings{"extras"});
  for (auto what : {operator_command::observe, operator_command::off}) {
    world.request(g, command{what, "degradation"});
    EXPECT_TRUE(off().empty());
    world.request(g, command{operator_command::enable, "degradation"});
    EXPECT_EQ(off(), strings{"extras"});
  }
  world.request(g, command{operator_command::reset, "degradation"});
  EXPECT_TRUE(off().empty());
}

TEST_P(degradation_layer_test, its_end_switches_everything_on) {
  auto g = shop(stack{}.add<degradation>(quick()));
  broken = true;
  call(g, 2s);
  ASSERT_EQ(off(), strings{"extras"});
  world.kill(g);
  world.advance(1s);
  EXPECT_TRUE(off().empty());
}

TEST_P(degradation_layer_test, reads_levels_from_toml_and_changes_them) {
  auto policies = only_stack(R"(
    [[stack.shop.layer]]
    kind = "degradation"
    min_calls = 10
    levels = [
      { name = "core", min_success = 0.5 },
      { name = "extras", parent = "core", features = ["ads", "reviews"] },
    ]
  )")
                    .policies;
  auto g = shop(policies);
  broken = true;
  call(g, 2s);
  EXPECT_EQ(off(), (strings{"ads", "extras", "reviews"}));
  EXPECT_EQ(metric_of(g, "degradation", "levels_off"), 1);
  EXPECT_EQ(metric_of(g, "degradation", "level_extras"), 0);
  broken = false;
  auto hold_off = [&](const std::string& names) {
    return world.request(g, reconfigure{"degradation", {{"held_off", names}}});
  };
  EXPECT_TRUE(hold_off("nobody").is(errc::invalid_config));
  EXPECT_TRUE(hold_off("core").ok());
  EXPECT_EQ(off(), (strings{"ads", "core", "extras", "reviews"}));
  EXPECT_TRUE(hold_off("").ok());
  EXPECT_EQ(off(), (strings{"ads", "extras", "reviews"}));
}

} // namespace
} // namespace caisson::test
