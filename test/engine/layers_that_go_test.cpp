// Built-in layers that leave a stack while they have something to do.
#include <caisson/policies/semaphore.hpp>
#include <caisson/stack/layers/batcher_layer.hpp>
#include <caisson/stack/layers/cache_layer.hpp>

#include <support/engine_world.hpp>
#include <support/puppet.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>
#include <utility>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

struct layers_that_go : testing::Test {
  using one_each = policy_layer<semaphore>;

  // All calls whose content begins with `w` are writes of their key.
  static cache_forms write_forms() {
    cache_forms forms;
    forms.write = [](const caf::message& x) -> std::optional<cached_write> {
      auto* text = portable::get_if<std::string>(x);
      if (!text || !text->starts_with("w"))
        return std::nullopt;
      return cached_write{"k", x, caf::make_message(std::string{"noted"})};
    };
    return forms;
  }

  static void add_cache(puppets& to, const char* name = "cache") {
    cache_config c;
    c.name = name;
    c.flush_after = 3s;
    c.flush_backoff = 200ms;
    to.add_layer<cache_layer>(c, write_forms());
  }

  static void add_permits(puppets& to, const char* name, std::uint32_t n) {
    semaphore_config c;
    c.name = name;
    c.permits = n;
    c.max_waiters = 10;
    to.add_layer<one_each>(c);
  }

  puppets first;
  puppets next;
  std::optional<engine_world> world;
};

TEST_F(layers_that_go, a_cache_flushes_the_writes_that_it_has_acknowledged) {
  add_cache(first);
  auto& w = world.emplace(std::move(first));
  w.call("w1");
  EXPECT_EQ(w.take(), (lines{"0s call 0 = noted"}));
  EXPECT_EQ(w.swap({}), (lines{"cache: removed"}));
  EXPECT_EQ(w.take(), (lines{"0s worker <- w1 #0"})) << "not after flush_after";
  w.answer(0, "ok");
  EXPECT_EQ(w.take(), lines{});
}

TEST_F(layers_that_go, a_flush_that_failed_is_repeated_and_ends_a_drain) {
  add_cache(first);
  auto& w = world.emplace(std::move(first));
  w.call("w1");
  w.swap({});
  w.fail(0);
  w.take();
  w.drain();
  EXPECT_EQ(w.take(), lines{}) << "the gate is not done";
  w.at(200ms);
  EXPECT_EQ(w.take(), (lines{"200ms worker <- w1 #1"}));
  EXPECT_EQ(w.unanswered(), 1u);
  w.answer(1, "ok");
  EXPECT_EQ(w.unanswered(), 0u) << "the drain has ended";
}

TEST_F(layers_that_go, writes_that_come_to_such_a_cache_are_flushed_too) {
  auto& outer = first.add("outer").machine();
  std::optional<call_id> held;
  outer.on_admit = [&](call_info& c, slot&, env& e) {
    held = c.id;
    return decision::hold(time_after(e.now, 1s));
  };
  outer.on_expire = [](auto&, auto&, env&) { return decision::pass(); };
  add_cache(first);
  auto& w = world.emplace(std::move(first));
  w.call("w1");
  w.swap({});
  EXPECT_EQ(w.take(), lines{});
  w.at(1s);
  EXPECT_EQ(w.take(), (lines{"1s call 0 = noted", "1s worker <- w1 #0"}));
  w.answer(0, "ok");
}

// -- the order of writes ------------------------------------------------------

TEST_F(layers_that_go, a_newer_write_waits_for_writes_of_a_leaving_cache) {
  add_cache(first);
  auto& w = world.emplace(std::move(first));
  w.call("w1");
  w.swap({});
  w.take();
  w.call("w2", {.time_left = 10s});
  w.call("other", {.time_left = 10s, .key = "l"});
  EXPECT_EQ(w.take(), (lines{"0s worker <- other #1"}));
  w.fail(0);
  w.at(200ms);
  EXPECT_EQ(w.take(), (lines{"200ms worker <- w1 #2"}));
  w.answer(2, "ok");
  EXPECT_EQ(w.take(), (lines{"200ms worker <- w2 #3"}));
  w.answer(3, "ok");
  w.answer(1, "ok");
  w.take();
  // The cache is gone.
  w.call("w3");
  EXPECT_EQ(w.take(), (lines{"200ms worker <- w3 #4"}));
  w.answer(4, "ok");
}

TEST_F(layers_that_go, reads_see_writes_of_a_leaving_cache) {
  add_cache(first);
  auto& w = world.emplace(std::move(first));
  w.call("w1");
  w.swap({});
  w.take();
  w.call("read", {.key = "k"});
  EXPECT_EQ(w.take(), (lines{"0s call 1 = w1"}));
  w.answer(0, "ok");
  w.take();
  w.call("read", {.key = "k"});
  EXPECT_EQ(w.take(), (lines{"0s worker <- read #1"}));
  w.answer(1, "w1");
}

TEST_F(layers_that_go, a_cache_writes_after_the_one_that_it_replaced) {
  add_cache(first);
  auto& w = world.emplace(std::move(first));
  w.call("w1");
  add_cache(next);
  EXPECT_EQ(w.swap(std::move(next), {true}),
            (lines{"cache: removed", "cache: added"}));
  EXPECT_EQ(w.take(), (lines{"0s call 0 = noted", "0s worker <- w1 #0"}));
  w.call("w2");
  EXPECT_EQ(w.take(), (lines{"0s call 1 = noted"}));
  w.at(1s);
  w.fail(0);
  w.at(1200ms);
  EXPECT_EQ(w.take(), (lines{"1200ms worker <- w1 #1"}));
  w.at(3s);
  EXPECT_EQ(w.take(), lines{}) << "the second write is due, and waits";
  w.answer(1, "ok");
  EXPECT_EQ(w.take(), (lines{"3s worker <- w2 #2"}));
  w.answer(2, "ok");
}

// The layers that stand before the new one stay.
TEST_F(layers_that_go, a_cache_writes_past_one_that_comes_in_behind_it) {
  add_cache(first);
  add_permits(first, "a", 9);
  add_permits(first, "b", 9);
  auto& w = world.emplace(std::move(first));
  w.call("w1");
  add_permits(next, "a", 9);
  add_permits(next, "b", 9);
  add_cache(next, "other");
  EXPECT_EQ(w.swap(std::move(next)), (lines{"cache: removed", "other: added"}));
  EXPECT_EQ(w.take(), (lines{"0s call 0 = noted", "0s worker <- w1 #0"}));
  w.call("w2");
  EXPECT_EQ(w.take(), lines{}) << "until the first one is written";
  w.fail(0);
  w.at(200ms);
  EXPECT_EQ(w.take(), (lines{"200ms worker <- w1 #1"}));
  w.answer(1, "ok");
  EXPECT_EQ(w.take(), (lines{"200ms call 1 = noted"}));
  w.at(3200ms);
  EXPECT_EQ(w.take(), (lines{"3200ms worker <- w2 #2"}));
  w.answer(2, "ok");
  EXPECT_EQ(w.take(), lines{})
    << "the old one is gone, the new one has written";
}

TEST_F(layers_that_go, no_other_cache_acknowledges_a_write_back) {
  add_cache(first, "outer");
  add_cache(first, "inner");
  auto& w = world.emplace(std::move(first));
  w.call("w1");
  EXPECT_EQ(w.take(), lines{"0s call 0 = noted"});
  w.at(3s);
  EXPECT_EQ(w.take(), lines{"3s worker <- w1 #0"});
  w.answer(0, "ok");
  w.at(1h);
  EXPECT_EQ(w.take(), lines{}) << "once is enough";
}

// The second one leaves while the first one has not written yet, and stands
// before it when that is taken back.
TEST_F(layers_that_go, caches_that_follow_each_other_end) {
  add_cache(first, "a");
  auto& w = world.emplace(std::move(first));
  w.call("w1");
  for (auto* name : {"b", "a"}) {
    puppets stack;
    add_cache(stack, name);
    w.swap(std::move(stack));
    w.call("w2");
  }
  std::size_t n = 0;
  for (auto t = 1s; t < 20s; t += 1s) {
    w.at(t);
    for (const auto& x : w.take())
      if (x.find("worker <-") != std::string::npos)
        t < 5s ? w.fail(n++) : w.answer(n++, "ok");
  }
  w.at(30s);
  EXPECT_EQ(w.take(), lines{});
  w.at(1h);
  EXPECT_EQ(w.take(), lines{}) << "nothing is left to write";
}

TEST_F(layers_that_go, a_cache_with_writes_stays_before_other_layers) {
  add_cache(first);
  add_permits(first, "a", 9);
  add_permits(first, "b", 9);
  auto& w = world.emplace(std::move(first));
  w.call("w1");
  add_permits(next, "a", 9);
  add_permits(next, "b", 9);
  add_cache(next);
  EXPECT_EQ(w.swap(std::move(next)),
            (lines{"a: removed", "b: removed", "a: added", "b: added"}));
  w.take();
  w.call("w2");
  EXPECT_EQ(w.take(), lines{"0s call 1 = noted"});
  w.at(3s);
  EXPECT_EQ(w.take(), lines{"3s worker <- w2 #0"});
  w.answer(0, "ok");
}

TEST_F(layers_that_go, such_a_cache_can_be_taken_back) {
  add_cache(first);
  auto& w = world.emplace(std::move(first));
  w.call("w1");
  w.swap({});
  w.fail(0);
  add_cache(next);
  EXPECT_EQ(w.swap(std::move(next)), (lines{"cache: added"}));
  w.take();
  w.call("w2");
  EXPECT_EQ(w.take(), (lines{"0s call 1 = noted"}));
  w.at(200ms);
  EXPECT_EQ(w.take(), (lines{"200ms worker <- w2 #1"}));
  w.answer(1, "ok");
  w.call("w3");
  w.at(3200ms - 1ns);
  w.take();
  w.at(3200ms);
  EXPECT_EQ(w.take(), (lines{"3200ms worker <- w3 #2"})) << "after flush_after";
  w.answer(2, "ok");
}

TEST_F(layers_that_go, operators_do_not_see_such_a_cache) {
  add_cache(first);
  auto& w = world.emplace(std::move(first));
  w.call("w1");
  w.swap({});
  EXPECT_NE(w.command(operator_command::reset, "cache"), "");
  w.answer(0, "ok");
}

struct modes_of_a_cache : layers_that_go,
                          testing::WithParamInterface<operator_command> {};

INSTANTIATE_TEST_SUITE_P(commands, modes_of_a_cache,
                         testing::Values(operator_command::off,
                                         operator_command::observe),
                         [](const auto& x) {
                           return std::string{name_of(x.param)};
                         });

TEST_P(modes_of_a_cache, keep_the_order_of_writes) {
  add_cache(first);
  auto& w = world.emplace(std::move(first));
  w.call("w1");
  EXPECT_EQ(w.command(GetParam(), "cache"), "");
  EXPECT_EQ(w.take(), (lines{"0s call 0 = noted", "0s worker <- w1 #0"}));
  w.call("w2");
  w.call("read", {.key = "k"});
  EXPECT_EQ(w.take(), (lines{"0s call 2 = w1"}));
  w.command(operator_command::reset, "cache");
  w.fail(0);
  w.at(200ms);
  w.answer(1, "ok");
  EXPECT_EQ(w.take(),
            (lines{"200ms worker <- w1 #1", "200ms worker <- w2 #2"}));
  w.answer(2, "ok");
  w.take();
  // In force again, it acknowledges.
  w.command(operator_command::enable, "cache");
  w.call("w3");
  EXPECT_EQ(w.take(), (lines{"200ms call 3 = noted"}));
  w.at(3200ms);
  w.answer(3, "ok");
}

TEST_F(layers_that_go, a_batcher_sends_its_items) {
  batcher_config c;
  c.name = "batcher";
  c.max_items = 10;
  c.max_delay = 10s;
  first.add_layer<batcher_layer>(c);
  auto& w = world.emplace(std::move(first));
  w.call("a");
  w.call("b");
  EXPECT_EQ(w.take(), lines{});
  w.swap({});
  EXPECT_EQ(w.attempts.size(), 1u) << "one batch";
  w.answer(0, "y");
  EXPECT_EQ(w.answer_to(0), "y");
  EXPECT_EQ(w.answer_to(1), "y");
  w.call("c");
  EXPECT_EQ(w.attempts.size(), 2u) << "nothing collects any more";
  w.answer(1, "z");
}

TEST_F(layers_that_go, a_queue_goes_on_in_the_layer_that_has_changed_places) {
  add_permits(first, "a", 2);
  add_permits(first, "b", 1);
  auto& w = world.emplace(std::move(first));
  w.call("0");
  w.call("1"); // Waits at b.
  add_permits(next, "b", 1);
  add_permits(next, "a", 2);
  EXPECT_EQ(w.swap(std::move(next)), (lines{"b: removed", "b: added"}));
  w.call("2"); // Has the permit of the new b, and waits at a.
  w.call("3"); // Waits at the new b.
  EXPECT_EQ(w.take(), (lines{"0s worker <- 0 #0"}));
  w.answer(0, "x");
  // Call 1 gets the old b's permit, and call 2 that of a.
  EXPECT_EQ(w.attempts.size(), 3u);
  w.answer(1, "x");
  w.answer(2, "x");
  ASSERT_EQ(w.attempts.size(), 4u);
  w.answer(3, "x");
  EXPECT_EQ(w.unanswered(), 0u);
  auto s = w.step([](auto& e, auto now) { return e.make_status(now); });
  EXPECT_EQ(s.metric("a", "in_use"), 0);
  EXPECT_EQ(s.metric("b", "in_use"), 0);
}

TEST_F(layers_that_go, waiters_of_a_queue_may_give_up) {
  add_permits(first, "a", 1);
  auto& w = world.emplace(std::move(first));
  w.call("0");
  w.call("1", {.time_left = 5ms});
  w.call("2");
  w.swap({});
  w.at(5ms);
  EXPECT_EQ(w.answer_to(1), "deadline_exceeded by gate");
  w.answer(0, "x");
  ASSERT_EQ(w.attempts.size(), 2u);
  w.answer(1, "x");
  EXPECT_EQ(w.answer_to(2), "x");
}

TEST_F(layers_that_go, a_cache_that_has_flushed_leaves_room_for_more) {
  auto& w = world.emplace(std::move(first));
  for (std::size_t i = 0; i < 100; ++i) {
    auto name = "cache " + std::to_string(i);
    puppets stack;
    add_cache(stack, name.c_str());
    ASSERT_EQ(w.swap(std::move(stack)), lines{name + ": added"});
    w.call("w1");
    ASSERT_EQ(w.swap({}), lines{name + ": removed"});
    ASSERT_EQ(w.attempts.size(), i + 1);
    w.answer(i, "ok");
  }
}

} // namespace
} // namespace caisson::test
