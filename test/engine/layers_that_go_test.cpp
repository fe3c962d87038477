// Built-in layers that leave a stack while they have something to do.
#include <caisson/batcher_layer.hpp>
#include <caisson/cache_layer.hpp>
#include <caisson/semaphore.hpp>

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

  static void add_cache(puppets& to) {
    cache_config c;
    c.name = "cache";
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

TEST_F(layers_that_go, a_batcher_sends_what_it_has) {
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

} // namespace
} // namespace caisson::test
