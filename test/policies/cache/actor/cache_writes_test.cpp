// Writes that a gate acknowledges before its worker has them.
#include <caisson/gate/supervision_group.hpp>
#include <caisson/stack/layers/cache_layer.hpp>

#include <support/both_hosts.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

/// A text and a number set what the text as a message reads.
cache_forms settable() {
  auto forms = cache_forms::keyed_by<std::string>(
    [](const std::string& name) { return name; });
  forms.write = [](const caf::message& x) -> std::optional<cached_write> {
    if (!x.match_elements<std::string, std::int32_t>())
      return std::nullopt;
    auto n = x.get_as<std::int32_t>(1);
    if (n < 0)
      throw std::runtime_error{"no such number"};
    return cached_write{x.get_as<std::string>(0), caf::make_message(n),
                        caf::make_message(true)};
  };
  return forms;
}

/// What a worker remembers.
struct store {
  std::map<std::string, std::int32_t> values;
  int writes = 0;
};

scripted_worker::script remembering(std::shared_ptr<store> s) {
  return
    [s = std::move(s)](const caf::message& x) -> std::optional<caf::message> {
      if (x.match_elements<std::string>())
        return caf::make_message(s->values[x.get_as<std::string>(0)]);
      ++s->writes;
      s->values[x.get_as<std::string>(0)] = x.get_as<std::int32_t>(1);
      return caf::make_message(true);
    };
}

class cache_writes_test : public both_hosts {
protected:
  using both_hosts::host;

  scripted_worker make_worker() {
    return both_hosts::make_worker(remembering(kept));
  }

  caf::actor host(const scripted_worker& w, cache_config c = {}) {
    return host(w.handle(), stack{}.cache(std::move(c), settable()));
  }

  pending_answer set(const caf::actor& g, std::string name, std::int32_t x) {
    return world.request(g, std::move(name), x);
  }

  std::int32_t get(const caf::actor& g, std::string name) {
    return world.request(g, std::move(name)).template value<std::int32_t>();
  }

  std::int64_t count(const caf::actor& g, const std::string& name) {
    return look(g).metric("cache", name);
  }

  std::shared_ptr<store> kept = std::make_shared<store>();
};
CAISSON_BOTH_HOSTS(cache_writes_test, 4);

TEST_P(cache_writes_test, what_stands_in_for_a_batch_is_no_answer_to_them) {
  auto w = both_hosts::make_worker();
  w.plan(scripted_worker::reply::error(caf::sec::runtime_error));
  auto g = host(
    w.handle(),
    stack{}
      .cache({.flush_after = 0s}, settable())
      .batcher({.max_items = 1})
      .fallback({alternative::answer(batch_reply{{caf::make_message(true)}})}));
  EXPECT_TRUE(set(g, "k", 1).template value<bool>());
  EXPECT_EQ(w.count(), 1u);
  EXPECT_EQ(count(g, "unwritten"), 1);
  EXPECT_EQ(count(g, "flushed"), 0);
  EXPECT_EQ(count(g, "flush_failed"), 1);
}

TEST_P(cache_writes_test, many_writes_of_a_key_are_one_message) {
  auto w = make_worker();
  auto g = host(w);
  for (std::int32_t i = 1; i <= 1000; ++i)
    ASSERT_TRUE(set(g, "k", i).template value<bool>());
  EXPECT_EQ(w.count(), 0u);
  EXPECT_EQ(get(g, "k"), 1000);
  world.advance(1s);
  EXPECT_EQ(kept->writes, 1);
  EXPECT_EQ(kept->values["k"], 1000);
  EXPECT_EQ(get(g, "k"), 1000);
  EXPECT_EQ(kept->writes, 1);
  EXPECT_EQ(w.count(), 1u);
}

TEST_P(cache_writes_test, a_drain_ends_when_everything_is_written) {
  auto w = make_worker();
  auto g = host(w, {.flush_backoff = 100ms, .flushes = 2});
  for (auto* name : {"a", "b", "c", "d", "e"})
    set(g, name, 7);
  w.plan(scripted_worker::reply::error(caf::sec::runtime_error));
  auto drained = world.request(g, drain{});
  EXPECT_FALSE(drained.ready());
  EXPECT_TRUE(set(g, "a", 8).is(errc::draining));
  world.advance(100ms);
  EXPECT_TRUE(drained.ok());
  EXPECT_EQ(kept->values.size(), 5u);
  EXPECT_EQ(count(g, "unwritten"), 0);
}

TEST_P(cache_writes_test, a_worker_that_is_silent_gets_a_write_again) {
  auto w = make_worker();
  auto g = host(w, {.flush_after = 0s, .flush_timeout = 1s});
  w.plan(scripted_worker::reply::silence());
  set(g, "k", 1);
  world.advance(1s - 1ns);
  EXPECT_EQ(kept->writes, 0);
  world.advance(1ns + 200ms);
  EXPECT_EQ(kept->values["k"], 1);
  EXPECT_EQ(count(g, "flush_failed"), 1);
}

TEST_P(cache_writes_test, writes_for_a_dead_worker_stay_and_are_no_storm) {
  auto w = make_worker();
  auto g = host(w, {.max_entries = 10, .flush_after = 0s});
  for (int i = 0; i < 100; ++i)
    set(g, std::to_string(i), i);
  world.advance(0s);
  EXPECT_EQ(kept->values.size(), 100u);
  world.kill(w.handle());
  for (int i = 0; i < 100; ++i)
    EXPECT_TRUE(set(g, std::to_string(i), i + 1).ok());
  world.advance(4s);
  EXPECT_LE(count(g, "flush_failed"), 8 + 20);
  EXPECT_EQ(count(g, "unwritten"), 100);
  EXPECT_EQ(get(g, "99"), 100);
  world.advance(1s);
  EXPECT_TRUE(set(g, "new", 1).is(errc::worker_down));
}

TEST_P(cache_writes_test, a_function_that_throws_makes_its_call_bypass_it) {
  auto w = make_worker();
  auto g = host(w);
  EXPECT_TRUE(set(g, "k", -1).ok());
  EXPECT_EQ(kept->values["k"], -1);
  EXPECT_EQ(count(g, "callbacks_failed"), 1);
  EXPECT_EQ(count(g, "bypassed"), 1);
}

TEST_P(cache_writes_test, layers_above_see_a_success_without_a_worker) {
  auto w = make_worker();
  auto g = host(w.handle(), stack{}
                              .breaker({.threshold = 1})
                              .cache({.flush_after = 0s}, settable())
                              .retrier({.backoff = schedule::constant(50ms)}));
  w.plan(scripted_worker::reply::error(caf::sec::runtime_error));
  EXPECT_TRUE(set(g, "k", 1).ok());
  // The flush may be repeated, so the retrier does that.
  world.advance(50ms);
  EXPECT_EQ(kept->values["k"], 1);
  EXPECT_EQ(count(g, "flush_failed"), 0);
  EXPECT_EQ(get(g, "k"), 1);
}

TEST_P(cache_writes_test,
       a_write_that_the_worker_rejects_does_not_stop_others) {
  auto w = make_worker();
  auto g = host(w, {.flush_after = 0s});
  w.plan(scripted_worker::reply::error(caf::sec::runtime_error), 10);
  EXPECT_TRUE(set(g, "bad", 1).ok());
  world.advance(5s);
  EXPECT_EQ(count(g, "unwritten"), 1);
  world.advance(1min);
  EXPECT_EQ(count(g, "lost"), 1);
  EXPECT_TRUE(set(g, "k", 1).ok());
  EXPECT_EQ(count(g, "not_acknowledged"), 0);
  world.advance(0s);
  EXPECT_EQ(kept->values["k"], 1);
}

TEST_P(cache_writes_test, a_drain_does_not_wait_for_a_worker_that_is_gone) {
  auto w = make_worker();
  auto g = host(w, {.flush_after = 1s});
  EXPECT_TRUE(set(g, "k", 1).ok());
  world.kill(w.handle());
  EXPECT_TRUE(world.request(g, drain{}).ok());
}

TEST_P(cache_writes_test, what_stands_in_for_the_worker_has_written_nothing) {
  auto w = make_worker();
  auto g = host(w.handle(), stack{}
                              .cache({.flush_after = 0s}, settable())
                              .fallback({alternative::answer(true)}));
  w.plan(scripted_worker::reply::error(caf::sec::runtime_error));
  EXPECT_TRUE(set(g, "k", 1).ok());
  world.advance(0s);
  EXPECT_EQ(count(g, "flushed"), 0);
  EXPECT_EQ(count(g, "unwritten"), 1);
  world.advance(200ms);
  EXPECT_EQ(kept->values["k"], 1);
  EXPECT_EQ(count(g, "unwritten"), 0);
}

TEST_P(cache_writes_test, a_message_alone_is_acknowledged_too) {
  auto w = make_worker();
  auto g = host(w, {.flush_after = 1s});
  world.send(g, std::string{"k"}, std::int32_t{5});
  EXPECT_EQ(get(g, "k"), 5);
  world.advance(1s);
  EXPECT_EQ(kept->values["k"], 5);
}

// -- gates only ---------------------------------------------------------------

TEST(cache_writes_gate, stays_until_everything_is_written) {
  virtual_time world;
  auto kept = std::make_shared<store>();
  scripted_worker w{world, remembering(kept)};
  auto g = spawn_gate(world, w.handle(),
                      stack{}.cache({.flush_after = 1s}, settable()));
  world.run_until_idle();
  auto before = world.actors();
  EXPECT_TRUE(world.request(g, std::string{"k"}, std::int32_t{1}).ok());
  // Nobody can reach it any more.
  g = {};
  world.run_until_idle();
  EXPECT_EQ(world.actors(), before);
  world.advance(1s);
  EXPECT_EQ(kept->values["k"], 1);
  EXPECT_EQ(world.actors(), before - 1);
}

TEST(cache_writes_gate, does_not_stay_for_a_worker_that_is_gone) {
  virtual_time world;
  scripted_worker w{world, remembering(std::make_shared<store>())};
  auto g = spawn_gate(world, w.handle(),
                      stack{}.cache({.flush_after = 1s}, settable()));
  world.run_until_idle();
  EXPECT_TRUE(world.request(g, std::string{"k"}, std::int32_t{1}).ok());
  world.kill(w.handle());
  world.advance(1min);
  g = {};
  // What is in progress when its last handle goes ends first.
  world.advance(1min);
  EXPECT_EQ(world.actors(), 0u);
}

// A group starts transient workers again that have ended, if another one fails.
TEST(cache_writes_gate, waits_for_a_worker_only_if_it_may_come_back) {
  using enum worker_lifetime;
  struct {
    worker_lifetime lifetime;
    bool in_group;
    bool waits;
  } const rows[] = {{temporary, false, false}, {transient, false, false},
                    {temporary, true, false},  {transient, true, true},
                    {permanent, false, false}, {permanent, true, false}};
  for (const auto& row : rows) {
    virtual_time world;
    caf::actor last;
    // A permanent one is given up.
    auto behind = worker::supervised(
      [&](caf::actor_system&) {
        scripted_worker w{world, remembering(std::make_shared<store>())};
        last = w.handle();
        return caf::expected<caf::actor>{last};
      },
      {.lifetime = row.lifetime,
       .max_restarts = 0,
       .on_give_up = give_up_action::refuse});
    auto group = spawn_supervision_group(world, {.max_restarts = 0});
    if (row.in_group)
      std::move(behind).in_group(group);
    auto g = spawn_gate(world, behind,
                        stack{}.cache({.flush_after = 1s}, settable()));
    world.run_until_idle();
    EXPECT_TRUE(world.request(g, std::string{"k"}, std::int32_t{1}).ok());
    caf::anon_send_exit(last, caf::exit_reason::user_shutdown);
    world.run_until_idle();
    auto drained = world.request(g, drain{});
    world.advance(1min);
    EXPECT_EQ(drained.ready(), !row.waits) << "row " << &row - rows;
    world.kill(group.handle());
    world.run_until_idle();
    EXPECT_TRUE(drained.ok());
    world.kill(g);
    last = nullptr;
  }
}

} // namespace
} // namespace caisson::test
