// Feedback among the layers of one gate.
#include <support/engine_world.hpp>
#include <support/puppet.hpp>

#include <gtest/gtest.h>

#include <optional>
#include <utility>

namespace caisson::test {
namespace {

struct layer_signals : testing::Test {
  engine_world& start() { return world.emplace(std::move(stack)); }

  puppets stack;
  std::optional<engine_world> world;
};

TEST_F(layer_signals, report_the_worst_state_of_the_breakers_that_enforce) {
  using enum circuit;
  struct {
    circuit outer;
    circuit inner;
    mode of_inner;
    circuit worst;
  } const table[] = {
    {closed, closed, mode::enforce, closed},
    {half_open, closed, mode::enforce, half_open},
    {half_open, open, mode::enforce, open},
    {open, half_open, mode::enforce, open},
    {closed, open, mode::observe, closed},
    {half_open, open, mode::off, half_open},
  };
  for (auto& row : table) {
    puppets layers;
    layers.add("outer").machine().says = row.outer;
    auto& asking = layers.add("asking").machine();
    layers.add("inner", 0, row.of_inner).machine().says = row.inner;
    std::optional<circuit> seen;
    asking.on_admit = [&](auto&, auto&, env& e) {
      seen = e.circuit({});
      return decision::pass();
    };
    engine_world w{std::move(layers)};
    w.call("x");
    EXPECT_EQ(seen, row.worst);
    w.answer(0, "y");
  }
}

TEST_F(layer_signals, of_a_timeout_reach_the_layers_above_only) {
  auto& far = stack.add("far").machine();
  auto& off = stack.add("off", 0, mode::off).machine();
  auto& near = stack.add("near", 0, mode::observe).machine();
  auto& timeout_policy = stack.add("reporting").machine();
  auto& below = stack.add("below").machine();
  timeout_policy.on_complete = [](call_info& c, auto&, auto&, env& e) {
    e.attempt_timed_out(c.id);
    return decision::pass();
  };
  auto& w = start();
  w.call("x");
  w.answer(0, "y");
  EXPECT_EQ(w.answer_to(0), "y");
  EXPECT_EQ(far.take().back(), "timeout");
  EXPECT_EQ(near.take().back(), "timeout");
  EXPECT_EQ(off.take(), lines{});
  EXPECT_EQ(timeout_policy.take(), (lines{"admit", "complete ok"}));
  EXPECT_EQ(below.take(), (lines{"admit", "complete ok"}));
}

TEST_F(layer_signals, of_a_timeout_do_not_reach_later_layers) {
  auto& going_on = stack.add("reporting");
  going_on.number = 0;
  auto& timeout_policy = going_on.machine();
  timeout_policy.on_complete = [](call_info& c, auto&, auto&, env& e) {
    e.attempt_timed_out(c.id);
    return decision::hold();
  };
  auto& w = start();
  w.call("x");
  puppets next;
  auto& fresh = next.add("fresh").machine();
  next.add("reporting").number = 0;
  EXPECT_EQ(w.swap(std::move(next)), lines{"fresh: added"});
  w.answer(0, "y");
  EXPECT_EQ(timeout_policy.take(), (lines{"admit", "complete ok"}));
  EXPECT_EQ(fresh.take(), lines{});
  w.call("x");
  w.answer(1, "y");
  EXPECT_EQ(fresh.take(), (lines{"admit", "timeout"}));
  w.stop();
}

TEST_F(layer_signals, of_a_timeout_do_not_come_from_a_layer_that_observes) {
  auto& above = stack.add("above").machine();
  auto& timeout_policy = stack.add("reporting", 0, mode::observe).machine();
  timeout_policy.on_complete = [](call_info& c, auto&, auto&, env& e) {
    e.attempt_timed_out(c.id);
    return decision::hold();
  };
  auto& w = start();
  w.call("x");
  w.answer(0, "y");
  EXPECT_EQ(above.take(), (lines{"admit", "complete ok"}));
}

} // namespace
} // namespace caisson::test
