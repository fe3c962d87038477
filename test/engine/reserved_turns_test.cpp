// Turns that policies of users promise to a request for a permit.
#include <support/engine_world.hpp>
#include <support/puppet.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

struct reserved_turns : testing::Test {
  engine_world& start() {
    return world.emplace(std::move(stack),
                         world_setup{.start = behind::nothing});
  }

  /// How long the holder of a permit has to wait.
  duration turn() {
    auto& w = start();
    auto n = w.acquire_permit({.reserve = true});
    auto result = w.starts_in(n);
    w.release_permit(w.permit_of(n));
    return result;
  }

  static auto promise(duration in) {
    return [=](auto&, auto&, env& e) {
      return decision::pass_from(time_after(e.now, in));
    };
  }

  /// The layer further in; to be added before the start.
  puppet& add_inner(mode m = mode::enforce) {
    return stack.add("inner", 0, m).machine();
  }

  puppets stack;
  puppet& outer = stack.add("outer").machine();
  std::optional<engine_world> world;
};

TEST_F(reserved_turns, the_latest_of_all_layers_counts) {
  outer.on_admit = promise(2ms);
  add_inner().on_admit = promise(5ms);
  EXPECT_EQ(turn(), 5ms);
}

// A limiter promises no turn before the one it is asked for; policies of users
// may not know of any.
TEST_F(reserved_turns, an_inner_layer_cannot_promise_an_earlier_one) {
  outer.on_admit = promise(5ms);
  add_inner().on_admit = promise(2ms);
  EXPECT_EQ(turn(), 5ms);
}

TEST_F(reserved_turns, an_observed_turn_is_not_promised) {
  outer.on_admit = promise(2ms);
  add_inner(mode::observe).on_admit = promise(5ms);
  EXPECT_EQ(turn(), 2ms);
}

// The time that the outer layer set is over before the turn of the inner one.
TEST_F(reserved_turns, a_turn_after_the_deadline_is_refused) {
  outer.on_admit = [](call_info& c, auto&, env& e) {
    c.deadline = std::min(c.deadline, e.now + 3ms);
    return decision::pass();
  };
  add_inner().on_admit = promise(3ms);
  auto& w = start();
  EXPECT_EQ(w.answer_to(w.acquire_permit({.reserve = true})),
            "deadline_exceeded by gate");
  EXPECT_EQ(w.metric("leases"), 0);
}

} // namespace
} // namespace caisson::test
