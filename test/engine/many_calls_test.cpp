// As many parents and children as there can be: no step may look at all of them
// for each of them, which would take minutes here.
#include <support/child_policies.hpp>
#include <support/engine_world.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t call_count = 100'000;

struct many_calls : testing::Test {
  engine_world& start() {
    world_setup s;
    s.worker.takes_cancelled = true;
    return world.emplace(std::move(stack), std::move(s));
  }

  puppets stack;
  std::optional<engine_world> world;
};

TEST_F(many_calls, of_parents_share_one_child) {
  stack.add_layer<small_layer<single_flight>>(0);
  auto& w = start();
  for (std::size_t i = 0; i < call_count; ++i)
    w.call("x");
  EXPECT_EQ(w.attempts.size(), 1u);
  w.answer(0, "y");
  EXPECT_EQ(w.unanswered(), 0u);
}

TEST_F(many_calls, of_parents_leave_one_by_one) {
  stack.add_layer<small_layer<single_flight>>(0);
  auto& w = start();
  for (std::size_t i = 0; i < call_count; ++i)
    w.call("x");
  for (std::size_t i = 0; i + 1 < call_count; ++i)
    w.cancel(1, i + 1);
  EXPECT_FALSE(w.attempts[0].cancelled);
  w.cancel(1, call_count);
  EXPECT_TRUE(w.attempts[0].cancelled);
}

TEST_F(many_calls, of_parents_die_at_one_instant) {
  stack.add_layer<small_layer<single_flight>>(0);
  auto& w = start();
  for (std::size_t i = 0; i < call_count; ++i)
    w.call("x", {.time_left = 5ms});
  w.at(5ms);
  EXPECT_EQ(w.unanswered(), 0u);
}

TEST_F(many_calls, of_calls_each_have_a_child) {
  stack.add_layer<small_layer<single_flight>>(0);
  auto& w = start();
  for (std::size_t i = 0; i < call_count; ++i)
    w.call("x", {.key = std::to_string(i)});
  EXPECT_EQ(w.live(), 2 * call_count);
  for (std::size_t i = 0; i < call_count; ++i)
    w.answer(i, "y");
  EXPECT_EQ(w.unanswered(), 0u);
}

TEST_F(many_calls, start_in_one_turn) {
  auto& outer = stack.add("outer");
  auto& p = outer.machine();
  std::vector<call_id> held;
  p.on_admit = [&](call_info& c, auto&, auto&) {
    held.push_back(c.id);
    return decision::hold();
  };
  p.wake_at = engine_world::origin() + 1ms;
  p.on_wake = [&](env& e) { e.start_child({.parents = held}); };
  auto& w = start();
  for (std::size_t i = 0; i < call_count; ++i)
    w.call("x");
  w.at(1ms);
  w.fail(0);
  EXPECT_EQ(w.unanswered(), 0u);
}

} // namespace
} // namespace caisson::test
