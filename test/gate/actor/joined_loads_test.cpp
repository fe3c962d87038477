// Calls that join the load of one with less time.
#include <caisson/policies/semaphore.hpp>
#include <caisson/stack/add.hpp>
#include <caisson/stack/layers/cache_layer.hpp>
#include <caisson/stack/layers/canary_layer.hpp>
#include <caisson/stack/layers/keyed_layer.hpp>

#include <support/both_hosts.hpp>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

class joined_loads_test : public both_hosts {
protected:
  static call ask_within(duration time) {
    return wrap(std::string{"k"}).within(time);
  }
  static cache_forms forms_by_text() {
    return cache_forms::keyed_by<std::string>(
      [](const std::string& x) { return x; });
  }

  scripted_worker silent = make_worker(
    scripted_worker::always_reply(scripted_worker::reply::silence()));
};

CAISSON_BOTH_HOSTS(joined_loads_test, 2);

// The deadline saw no need to limit what had less time anyway.
TEST_P(joined_loads_test, stay_below_a_deadline_as_long_as_it_allows) {
  for (auto first : {5ms, 10ms, 20ms}) {
    auto g = host(
      silent.handle(),
      stack{}.cache({}, forms_by_text()).deadline({.timeout = 10ms}));
    auto begin = world.now();
    auto a = world.request(g, ask_within(first));
    world.advance(1ms);
    auto b = world.request(g, ask_within(10s));
    world.advance(9s);
    ASSERT_TRUE(a.ready());
    ASSERT_TRUE(b.ready()) << to_text(first);
    EXPECT_LE(b.at() - begin, 21ms) << to_text(first);
    EXPECT_TRUE(b.is(errc::deadline_exceeded));
  }
}

TEST_P(joined_loads_test, are_sent_again_by_a_retrier_in_between) {
  auto g = host(silent.handle(), stack{}
                                   .cache({}, forms_by_text())
                                   .retrier({.max_attempts = 3,
                                             .backoff = schedule::constant(1ms),
                                             .idempotent = true})
                                   .deadline({.timeout = 10ms}));
  auto a = world.request(g, ask_within(5ms));
  world.advance(1ms);
  auto b = world.request(g, ask_within(10s));
  world.advance(100ms);
  EXPECT_TRUE(b.ready());
  EXPECT_GE(look(g).metric("attempts"), 3);
}

// What they send together counts as the call of the first of them.
TEST_P(joined_loads_test, have_a_key_and_a_weight_for_another_load) {
  auto w = make_worker({});
  auto g = host(w.handle(),
                stack{}
                  .cache({}, forms_by_text())
                  .add<keyed<semaphore>>(
                    {{.permits = 10}, {.keyless = keyless_calls::reject}}));
  auto ask = [&](duration time, const std::string& key) {
    auto x = ask_within(time).key(key);
    x.options.permits = 5;
    return world.request(g, x);
  };
  auto a = ask(100ms, "t1");
  auto b = ask(10s, "t2");
  auto c = ask(10s, "t3");
  EXPECT_EQ(metric_of(g, "semaphore", "in_use"), 5);
  // The load that the first one began is over with its time, as its worker
  // knows.
  world.advance(99ms);
  w.fail(make_error(errc::deadline_exceeded));
  world.run_until_idle();
  EXPECT_FALSE(b.ready());
  EXPECT_FALSE(c.ready());
  EXPECT_EQ(metric_of(g, "semaphore", "in_use"), 5);
  w.answer(3);
  world.run_until_idle();
  EXPECT_EQ(b.value<int>(), 3);
  EXPECT_EQ(c.value<int>(), 3);
}

// They have joined it by then, and have time left.
TEST_P(joined_loads_test, have_their_time_although_the_cache_changes) {
  using op = operator_command;
  for (std::string name : {"single_flight", "observe", "off"}) {
    auto w = make_worker({});
    auto g = host(w.handle(), stack{}.cache({}, forms_by_text()));
    auto a = world.request(g, ask_within(100ms));
    auto b = world.request(g, ask_within(10s));
    auto c = world.request(g, ask_within(10s));
    ASSERT_EQ(w.open(), 1u) << name;
    if (name == "single_flight")
      world.request(g, reconfigure{"cache", {{name, "false"}}});
    else
      world.request(g, command{name == "off" ? op::off : op::observe, "cache"});
    world.advance(99ms);
    w.fail(make_error(errc::deadline_exceeded));
    world.run_until_idle();
    EXPECT_TRUE(a.is(errc::deadline_exceeded)) << name;
    EXPECT_FALSE(b.ready()) << name;
    ASSERT_EQ(w.open(), 1u) << name;
    w.answer(3);
    world.run_until_idle();
    EXPECT_EQ(b.value<int>(), 3) << name;
    EXPECT_EQ(c.value<int>(), 3) << name;
  }
}

// The load waits for a child of its own there.
TEST_P(joined_loads_test, have_their_time_with_a_canary_too) {
  auto slow = make_worker({});
  auto g = host(
    silent.handle(),
    stack{}
      .cache({}, forms_by_text())
      .add<canary>({.stages = {1.0}, .dwell = unlimited}, slow.handle()));
  auto a = world.request(g, ask_within(100ms));
  world.advance(1ms);
  auto b = world.request(g, ask_within(10s));
  world.advance(149ms);
  EXPECT_TRUE(a.is(errc::deadline_exceeded));
  slow.answer(1);
  world.run_until_idle();
  ASSERT_TRUE(b.ready());
  EXPECT_EQ(b.value<int>(), 1);
  EXPECT_EQ(slow.count(), 1u);
  EXPECT_EQ(look(g).metric("canary", "canary_failed"), 0);
}

// Those that a canary is not to be asked twice for may have joined after it
// was.
TEST_P(joined_loads_test, are_handed_over_as_the_last_caller_allows) {
  for (auto last : {idempotence::yes, idempotence::unmarked}) {
    auto slow = make_worker({});
    auto base = make_worker(
      scripted_worker::on<std::string>([](const std::string&) { return 2; }));
    auto g = host(base.handle(), stack{}
                                   .cache({}, forms_by_text())
                                   .add<canary>({.stages = {1.0},
                                                 .dwell = unlimited,
                                                 .hand_over_after = 200ms},
                                                slow.handle()));
    auto a = world.request(g, ask_within(100ms).idempotent());
    world.advance(1ms);
    auto b = world.request(g, last == idempotence::yes
                                ? ask_within(10s).idempotent()
                                : ask_within(10s));
    world.advance(149ms);
    world.request(g, reconfigure{"canary", {{"enabled", "false"}}});
    world.advance(200ms);
    EXPECT_TRUE(a.is(errc::deadline_exceeded));
    EXPECT_EQ(base.count(), last == idempotence::yes ? 1u : 0u);
    EXPECT_EQ(b.ready(), last == idempotence::yes);
    world.advance(10s);
    EXPECT_EQ(b.count(), 1u);
  }
}

} // namespace
} // namespace caisson::test
