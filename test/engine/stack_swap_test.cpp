// Stacks that are put in force while calls are in flight.
#include <support/engine_world.hpp>
#include <support/puppet.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <utility>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

struct swaps : testing::Test {
  engine_world& start(world_setup s = {}) {
    return world.emplace(std::move(first), std::move(s));
  }

  // A layer with state that goes on.
  static puppet_layer& with(puppets& to, std::string name, int number = 0,
                            std::size_t targets = 0) {
    auto& x = to.add(std::move(name), targets);
    x.number = number;
    return x;
  }

  static decision hold(call_info&, slot&, env&) { return decision::hold(); }

  puppets first;
  puppets next;
  std::optional<engine_world> world;
};

// -- what stays and what goes -------------------------------------------------

TEST_F(swaps, a_layer_of_the_same_name_goes_on_with_other_settings) {
  auto& a = with(first, "a", 1).machine();
  auto& w = start({.listens = true});
  w.call("x");
  w.answer(0, "y");
  with(next, "a", 2);
  EXPECT_EQ(w.swap(std::move(next)), (lines{"a: number = 2 (was 1)"}));
  w.call("z");
  w.answer(1, "y");
  EXPECT_EQ(a.take(), (lines{"admit", "complete ok", "admit", "complete ok"}));
}

TEST_F(swaps, the_same_stack_changes_nothing) {
  with(first, "a", 1);
  with(first, "b", 1);
  auto& w = start();
  with(next, "a", 1);
  with(next, "b", 1);
  EXPECT_EQ(w.swap(std::move(next)), lines{});
}

TEST_F(swaps, layers_that_go_and_come_meet_new_calls_only) {
  auto& a = with(first, "a").machine();
  auto& w = start();
  w.call("old");
  auto& b = with(next, "b").machine();
  EXPECT_EQ(w.swap(std::move(next)), (lines{"a: removed", "b: added"}));
  w.call("new");
  EXPECT_EQ(a.take(), (lines{"admit", "retire", "drain"}));
  w.answer(1, "y");
  EXPECT_EQ(b.take(), (lines{"admit", "complete ok"}));
  w.answer(0, "y");
  EXPECT_EQ(w.take(), (lines{"0s worker <- old #0", "0s worker <- new #1",
                             "0s call 1 = y", "0s call 0 = y"}));
}

TEST_F(swaps, a_layer_is_dropped_after_the_last_of_its_calls) {
  auto dropped = 0;
  with(first, "a").on_end = [&] { ++dropped; };
  auto& w = start();
  w.call("x");
  w.call("y");
  w.swap({});
  w.answer(1, "z");
  EXPECT_EQ(dropped, 0);
  w.call("new");
  w.answer(0, "z");
  EXPECT_EQ(dropped, 1);
  w.answer(2, "z");
}

TEST_F(swaps, a_layer_is_dropped_although_an_older_call_stays) {
  auto dropped = 0;
  auto& w = start();
  w.call("old");
  with(next, "a").on_end = [&] { ++dropped; };
  w.swap(std::move(next));
  w.call("x");
  w.swap({});
  EXPECT_EQ(dropped, 0);
  w.answer(1, "z");
  EXPECT_EQ(dropped, 1);
  w.answer(0, "z");
}

TEST_F(swaps, a_layer_without_calls_is_dropped_at_once) {
  auto dropped = 0;
  with(first, "a").on_end = [&] { ++dropped; };
  auto& w = start();
  w.swap({});
  EXPECT_EQ(dropped, 1);
}

TEST_F(swaps, a_layer_stays_while_it_holds_its_host_open) {
  auto dropped = 0;
  auto& l = with(first, "a");
  l.on_end = [&] { ++dropped; };
  l.machine().on_drain = [&](env& e) {
    e.hold_open(true);
    l.machine().wake_at = time_after(e.now, 5ms);
  };
  l.machine().on_wake = [](env& e) { e.hold_open(false); };
  auto& w = start();
  w.swap({});
  EXPECT_EQ(dropped, 0);
  w.at(5ms);
  EXPECT_EQ(dropped, 1);
}

TEST_F(swaps, layers_that_change_places_go_on_but_for_the_fewest) {
  for (auto* name : {"a", "b", "c", "d"})
    with(first, name);
  auto& w = start();
  for (auto* name : {"d", "a", "b", "c"})
    with(next, name);
  EXPECT_EQ(w.swap(std::move(next)), (lines{"d: removed", "d: added"}));
}

TEST_F(swaps, a_layer_can_be_made_afresh) {
  with(first, "a");
  auto& w = start();
  with(next, "a");
  EXPECT_EQ(w.swap(std::move(next), {true}), (lines{"a: removed", "a: added"}));
}

TEST_F(swaps, a_layer_that_cannot_take_settings_over_is_replaced) {
  first.add("a");
  auto& w = start();
  next.add("a");
  EXPECT_EQ(w.swap(std::move(next)), (lines{"a: removed", "a: added"}));
}

TEST_F(swaps, operators_see_and_reach_layers_in_force_only) {
  auto& old = with(first, "a").machine();
  auto& w = start();
  w.call("x");
  auto& a = with(next, "a").machine();
  with(next, "b");
  w.swap(std::move(next), {true});
  EXPECT_EQ(w.command(operator_command::off, "a"), "");
  w.call("y");
  EXPECT_EQ(a.take(), lines{});
  EXPECT_EQ(old.take(), (lines{"admit", "retire", "drain"}));
  auto s = w.step([](auto& e, auto now) { return e.make_status(now); });
  ASSERT_EQ(s.layers.size(), 2u);
  EXPECT_EQ(s.layers[0].name, "a");
  EXPECT_EQ(s.layers[1].name, "b");
  w.answer(0, "z");
  w.answer(1, "z");
}

// -- calls in flight ----------------------------------------------------------

TEST_F(swaps, a_held_call_goes_down_the_layers_with_which_it_began) {
  auto& outer = with(first, "outer").machine();
  auto& first_policy = with(first, "gone").machine();
  std::vector<call_id> held;
  outer.on_admit = [&](call_info& c, auto&, auto&) {
    held.push_back(c.id);
    return decision::hold();
  };
  auto& w = start();
  w.call("x");
  with(next, "outer", 1);
  auto& second_policy = with(next, "come").machine();
  outer.on_command = [&](operator_command, env& e) {
    for (auto id : std::exchange(held, {}))
      e.resume(id);
    return true;
  };
  w.swap(std::move(next));
  w.call("y");
  EXPECT_EQ(w.command(operator_command::reset, "outer"), "");
  EXPECT_EQ(first_policy.take(), (lines{"retire", "drain", "admit"}));
  EXPECT_EQ(second_policy.take(), (lines{"admit"}));
  w.answer(0, "a");
  w.answer(1, "b");
  EXPECT_EQ(w.answer_to(0), "a");
  EXPECT_EQ(w.answer_to(1), "b");
}

TEST_F(swaps, requests_on_new_settings_belong_to_their_layer) {
  auto& outer = with(first, "outer");
  std::vector<call_id> held;
  outer.machine().on_admit = [&](call_info& c, auto&, auto&) {
    held.push_back(c.id);
    return decision::hold();
  };
  outer.on_change = [&](env& e) { e.resume(held.at(0)); };
  auto& w = start();
  w.call("x");
  // Another one before it, so that its number changes meanwhile.
  with(next, "before");
  with(next, "outer", 1);
  w.swap(std::move(next));
  EXPECT_EQ(w.take(), (lines{"0s worker <- x #0"}));
  w.answer(0, "y");
}

TEST_F(swaps, deadlines_of_layers_move_along) {
  auto& a = with(first, "a").machine();
  auto& b = with(first, "b").machine();
  a.on_admit = [](call_info& c, auto&, env& e) {
    c.deadline = time_after(e.now, 20ms);
    return decision::pass();
  };
  b.on_admit = [](call_info& c, auto&, env& e) {
    c.deadline = time_after(e.now, 10ms);
    return decision::pass();
  };
  b.on_deadline = [](auto&, auto&, auto&) { return decision::pass(); };
  auto& w = start();
  w.call("x");
  with(next, "new");
  with(next, "b");
  w.swap(std::move(next));
  w.at(10ms);
  EXPECT_EQ(w.unanswered(), 1u);
  w.at(20ms);
  EXPECT_EQ(w.answer_to(0), "deadline_exceeded by a, executed");
}

TEST_F(swaps, a_permit_is_given_back_to_the_layers_that_granted_it) {
  lines seen;
  auto& a = with(first, "a");
  a.on_end = [&] { seen = a.machine().take(); };
  auto& w = start({.start = behind::nothing});
  auto n = w.acquire_permit();
  auto& b = with(next, "b").machine();
  w.swap(std::move(next));
  w.release_permit(w.permit_of(n));
  EXPECT_EQ(seen, (lines{"admit", "retire", "drain", "complete ok"}));
  EXPECT_EQ(b.take(), lines{});
}

TEST_F(swaps, a_child_passes_the_layers_of_its_parents) {
  auto& outer = with(first, "outer").machine();
  auto& first_policy = with(first, "gone").machine();
  outer.keeps_content = true;
  std::vector<call_id> held;
  outer.on_admit = [&](call_info& c, auto&, auto&) {
    held.push_back(c.id);
    return decision::hold();
  };
  outer.on_command = [&](operator_command, env& e) {
    e.start_child({.parents = std::exchange(held, {})});
    return true;
  };
  auto& w = start();
  w.call("x");
  with(next, "outer");
  auto& second_policy = with(next, "come").machine();
  w.swap(std::move(next));
  EXPECT_EQ(w.command(operator_command::reset, "outer"), "");
  EXPECT_EQ(first_policy.take(), (lines{"retire", "drain", "admit"}));
  EXPECT_EQ(second_policy.take(), lines{});
  w.answer(0, "y");
  // Of an old and a new one: what the new one would.
  w.call("z");
  EXPECT_EQ(w.command(operator_command::reset, "outer"), "");
  EXPECT_EQ(second_policy.take(), (lines{"admit"}));
  w.answer(1, "y");
}

TEST_F(swaps, a_child_without_parents_keeps_its_layer) {
  auto dropped = 0;
  auto& l = with(first, "a");
  l.on_end = [&] { ++dropped; };
  l.on_content = [](auto, auto, auto&) { return text("probe"); };
  l.machine().on_drain = [](env& e) {
    e.start_child({.deadline = time_after(e.now, 1s)});
  };
  auto& below = with(first, "b").machine();
  auto& w = start();
  w.swap({});
  EXPECT_EQ(w.take(), (lines{"0s worker <- probe #0"}));
  EXPECT_EQ(below.take(), (lines{"retire", "drain", "admit"}));
  EXPECT_EQ(dropped, 0);
  w.answer(0, "y");
  EXPECT_EQ(dropped, 1);
}

TEST_F(swaps, targets_come_and_their_numbers_are_given_again) {
  auto& w = start();
  for (auto i = 0; i < 100; ++i) {
    puppets stack;
    auto& l = with(stack, "a", 0, 2);
    l.machine().keeps_content = true;
    l.machine().on_admit = [](call_info& c, auto&, env& e) {
      e.start_child({.parents = {c.id}, .target = 1});
      return decision::hold();
    };
    w.swap(std::move(stack), {true});
    w.call("x");
    w.answer(w.attempts.size() - 1, "y");
    EXPECT_LE(w.attempts.back().to, 4u);
  }
}

TEST_F(swaps, breakers_that_are_gone_are_not_asked) {
  with(first, "open").machine().says = circuit::open;
  auto& asker = with(first, "asker").machine();
  auto seen = circuit::half_open;
  asker.on_admit = [&](auto&, auto&, env& e) {
    seen = e.circuit({});
    return decision::pass();
  };
  auto& w = start();
  w.call("x");
  EXPECT_EQ(seen, circuit::open);
  with(next, "asker");
  w.swap(std::move(next));
  w.call("y");
  EXPECT_EQ(seen, circuit::closed);
  w.answer(0, "z");
  w.answer(1, "z");
}

TEST_F(swaps, layers_inserted_into_a_draining_gate_are_notified) {
  auto& w = start();
  w.call("x");
  w.drain();
  auto& a = with(next, "a").machine();
  w.swap(std::move(next));
  EXPECT_EQ(a.take(), (lines{"drain"}));
  w.answer(0, "y");
}

TEST_F(swaps, settings_of_the_gate_apply_to_new_calls) {
  auto& w = start();
  w.call_plainly("x");
  detail::next_stack x;
  x.config = {.name = "other", .default_deadline = 10ms, .max_calls = 2};
  EXPECT_EQ(w.swap_to(std::move(x)),
            (lines{": default_deadline = 10ms (was unlimited), max_calls = 2 "
                   "(was 1000000)"}));
  w.call_plainly("y");
  w.call_plainly("z");
  w.at(10ms);
  EXPECT_EQ(w.answer_to(1), "deadline_exceeded by gate, executed");
  EXPECT_EQ(w.answer_to(2), "shed by gate: the gate is full (2 calls)");
  w.answer(0, "y");
}

TEST_F(swaps, as_many_stacks_as_there_is_room_for_can_have_calls) {
  auto& w = start();
  std::size_t held = 0;
  auto swap_to = [&](int layers, bool afresh) {
    puppets stack;
    for (auto i = 0; i < layers; ++i)
      with(stack, "l" + std::to_string(i));
    return w.swap(std::move(stack), std::vector<bool>(21, afresh));
  };
  auto swap_all = [&] { return swap_to(21, true); };
  for (; held < 3; ++held) {
    EXPECT_EQ(swap_all().size(), held == 0 ? 21u : 42u);
    w.call("x");
  }
  const lines refused{"calls that began with earlier stacks are still in "
                      "flight: 63 layers are in use, and there can be 63"};
  EXPECT_EQ(swap_all(), refused);
  EXPECT_EQ(swap_to(22, false), refused) << "one is too many";
  w.call("y");
  w.answer(0, "z");
  EXPECT_EQ(swap_all().size(), 42u);
  for (std::size_t i = 1; i <= held; ++i)
    w.answer(i, "z");
}

TEST_F(swaps, a_layer_that_was_removed_is_added_anew) {
  auto dropped = 0;
  with(first, "a").on_end = [&] { ++dropped; };
  auto& w = start();
  w.call("x");
  EXPECT_EQ(w.swap({}), lines{"a: removed"});
  auto& added = with(next, "a").machine();
  EXPECT_EQ(w.swap(std::move(next)), lines{"a: added"});
  w.call("y");
  w.answer(1, "z");
  EXPECT_EQ(added.take(), (lines{"admit", "complete ok"}));
  EXPECT_EQ(dropped, 0);
  w.answer(0, "z");
  EXPECT_EQ(dropped, 1);
}

} // namespace
} // namespace caisson::test
