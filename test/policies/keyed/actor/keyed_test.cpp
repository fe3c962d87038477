// A policy for each key.
#include "support/both_hosts.hpp"
#include "support/stack_texts.hpp"

#include <caisson/policies.hpp>
#include <caisson/policies/chaos.hpp>

#include <gmock/gmock.h>

#include <algorithm>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

class keyed_test : public both_hosts {
protected:
  pending_answer ask(const caf::actor& g, const std::string& key, int x = 1) {
    return world.request(g, wrap(x).key(key));
  }

  // How many of so many calls at once are answered.
  int passed(const caf::actor& g, const std::string& key, int n) {
    std::vector<pending_answer> answers;
    for (int i = 0; i < n; ++i)
      answers.push_back(ask(g, key));
    world.run_until_idle();
    return static_cast<int>(std::count_if(answers.begin(), answers.end(),
                                          [](auto& a) { return a.ok(); }));
  }

  static stack limited() {
    return stack{"s"}.add<keyed<limiter>>(
      {{.rate = 1, .burst = 2}, {.overrides = {{"gold", {{"burst", "4"}}}}}});
  }
};

CAISSON_BOTH_HOSTS(keyed_test, 8);

TEST_P(keyed_test, limits_each_key_for_itself) {
  auto w = make_worker(doubles());
  auto g = host(w.handle(), limited());
  EXPECT_EQ(passed(g, "a", 3), 2);
  EXPECT_EQ(passed(g, "b", 3), 2);
  EXPECT_EQ(passed(g, "gold", 9), 4);
  EXPECT_EQ(passed(g, "", 3), 2);
  auto refused = ask(g, "a");
  EXPECT_TRUE(refused.is(errc::rate_limited));
  EXPECT_EQ(context_of(refused.error())->policy, "limiter");
  EXPECT_EQ(retry_after(refused.error()), 1s);
  world.advance(1s);
  EXPECT_EQ(passed(g, "a", 3), 1);
}

TEST_P(keyed_test, limits_each_key_for_itself_by_toml) {
  auto w = make_worker(doubles());
  auto g = host(w.handle(),
                only_stack("[[stack.s.layer]]\nkind = 'limiter'\nrate = 1\n"
                           "burst = 2\n[stack.s.layer.per_key]\n"
                           "max_keys = 100\nkeyless = 'reject'\n"
                           "[stack.s.layer.per_key.overrides.gold]\n"
                           "burst = 4\n")
                  .policies);
  EXPECT_EQ(passed(g, "a", 3), 2);
  EXPECT_EQ(passed(g, "gold", 9), 4);
  EXPECT_TRUE(ask(g, "").is(errc::shed));
}

TEST_P(keyed_test, reports_which_keys_have_most_calls) {
  auto w = make_worker(doubles());
  auto g = host(w.handle(), limited());
  passed(g, "a", 1);
  passed(g, "gold", 3);
  for (int i = 0; i < 20; ++i)
    passed(g, "key " + std::to_string(i), 2);
  auto layer = look(g).layer("limiter");
  EXPECT_EQ(layer.kind, "limiter");
  ASSERT_EQ(layer.keys.size(), 10u);
  EXPECT_EQ(layer.keys[0].key, "gold");
  EXPECT_EQ(layer.keys[0].admitted, 3);
  EXPECT_EQ(layer.keys[0].metrics.at("passed"), 3);
  EXPECT_EQ(layer.keys[0].metrics.at("tokens"), 1);
  EXPECT_EQ(layer.keys[1].key, "key 0");
  EXPECT_EQ(layer.metrics.at("passed"), 44);
  EXPECT_EQ(layer.metrics.at("keys"), 22);
}

TEST_P(keyed_test, takes_new_settings_for_all_keys) {
  auto w = make_worker(doubles());
  auto g = host(w.handle(), limited());
  passed(g, "a", 9);
  auto change = [&](std::map<std::string, std::string> set) {
    return world.request(g, reconfigure{"limiter", std::move(set)});
  };
  ASSERT_TRUE(change({{"rate", "3"},
                      {"burst", "3"},
                      {"per_key.max_keys", "2"},
                      {"per_key.overrides.b.burst", "1"}})
                .ok());
  world.advance(1s);
  EXPECT_EQ(passed(g, "a", 9), 3);
  EXPECT_EQ(passed(g, "b", 9), 1);
  EXPECT_EQ(passed(g, "gold", 9), 4);
  EXPECT_EQ(metric_of(g, "limiter", "keys"), 2);
  auto refused = change({{"per_key.overrides.gold.burst", "none"}});
  EXPECT_TRUE(refused.is(errc::invalid_config));
  EXPECT_THAT(context_of(refused.error())->text,
              testing::HasSubstr("limiter.per_key.overrides.gold.burst"));
}

TEST_P(keyed_test, shows_what_keys_list_since_a_change) {
  auto w = make_worker(doubles());
  auto g = host(w.handle(),
                stack{}.add<keyed<deadline>>({{.timeout = 1s}, {}}));
  auto ask = [&](const std::string& key) {
    for (int i = 0; i < 200; ++i)
      world.request(g, wrap(i).key(key));
  };
  auto learn = [&](std::string on) {
    auto change = reconfigure{"deadline", {{"learned.on", std::move(on)}}};
    EXPECT_TRUE(world.request(g, std::move(change)).ok());
  };
  auto shows = [&](const std::string& name) {
    return look(g).layer("deadline").metrics.contains(name);
  };
  ask("a");
  ask("b");
  EXPECT_FALSE(shows("samples"));
  learn("true");
  EXPECT_EQ(metric_of(g, "deadline", "samples"), 0);
  // The second is not among those that were used last any more.
  ask("a");
  ask("b");
  for (int i = 0; i < 100; ++i)
    world.request(g, wrap(i).key(std::to_string(i)));
  EXPECT_EQ(metric_of(g, "deadline", "samples"), 500);
  EXPECT_GT(metric_of(g, "deadline", "limit_us"), 0);
  learn("false");
  EXPECT_FALSE(shows("samples"));
  EXPECT_FALSE(shows("limit_us"));
  EXPECT_EQ(metric_of(g, "deadline", "admitted"), 900);
}

TEST_P(keyed_test, adds_up_what_only_some_keys_list) {
  auto w = make_worker(doubles());
  deadline_config c{.timeout = 1s};
  c.learned.window = 1h;
  auto g = host(w.handle(),
                stack{}.add<keyed<deadline>>(
                  {c, {.overrides = {{"gold", {{"learned.on", "true"}}}}}}));
  auto change = [&](std::map<std::string, std::string> set) {
    EXPECT_TRUE(world.request(g, reconfigure{"deadline", set}).ok());
    world.advance(100ms);
  };
  for (int i = 0; i < 200; ++i)
    world.request(g, wrap(i).key("gold"));
  EXPECT_EQ(metric_of(g, "deadline", "samples"), 200);
  for (int i = 0; i < 100; ++i)
    world.request(g, wrap(i).key(std::to_string(i)));
  EXPECT_EQ(metric_of(g, "deadline", "samples"), 200);
  change({{"learned.on", "true"}});
  EXPECT_EQ(metric_of(g, "deadline", "samples"), 200);
  change({{"per_key.max_keys", "1"}});
  EXPECT_GE(metric_of(g, "deadline", "samples"), 0);
  EXPECT_EQ(metric_of(g, "deadline", "keys"), 1);
}

TEST_P(keyed_test, reports_events_with_the_key) {
  auto w = make_worker(
    scripted_worker::always(caf::make_error(caf::sec::runtime_error)));
  auto g = host(w.handle(), stack{"s"}.add<keyed<breaker>>({{.threshold = 1}}));
  world.send(g, subscribe{});
  ask(g, "a");
  ask(g, "");
  world.run_until_idle();
  auto events = world.user().received_as<event>();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].detail, "key a: consecutive failures");
  EXPECT_EQ(events[1].detail, "consecutive failures");
  EXPECT_EQ(events[0].layer, "breaker");
}

TEST_P(keyed_test, obeys_the_operator_for_keys_to_come) {
  auto w = make_worker(doubles());
  auto g = host(w.handle(), stack{"s"}.add<keyed<breaker>>());
  EXPECT_EQ(passed(g, "a", 1), 1);
  command force{operator_command::force_open, "breaker"};
  force.for_time = 10s;
  ASSERT_TRUE(world.request(g, force).ok());
  EXPECT_EQ(state_of(g, "breaker"), "forced_open");
  EXPECT_EQ(passed(g, "a", 1), 0);
  EXPECT_EQ(passed(g, "new", 1), 0);
  world.advance(10s);
  EXPECT_EQ(passed(g, "a", 1), 1);
  EXPECT_EQ(passed(g, "new", 1), 1);
  EXPECT_EQ(state_of(g, "breaker"), "closed");
}

TEST_P(keyed_test, only_observes) {
  auto w = make_worker(doubles());
  limiter_config c{.mode = mode::observe, .rate = 1, .burst = 1};
  auto g = host(w.handle(), stack{"s"}.add<keyed<limiter>>({c}));
  EXPECT_EQ(passed(g, "a", 5), 5);
  EXPECT_EQ(metric_of(g, "limiter", "rate_limited"), 4);
  EXPECT_EQ(metric_of(g, "limiter", "observed_passes"), 4);
  EXPECT_EQ(metric_of(g, "limiter", "finished"), 1);
}

// -- with other layers --------------------------------------------------------

// The worker fails calls with odd content.
scripted_worker::script moody() {
  return scripted_worker::on<int>([](int x) -> scripted_worker::reply {
    if (x % 2 != 0)
      return scripted_worker::reply::error(
        caf::make_error(caf::sec::runtime_error));
    return scripted_worker::reply::value(x);
  });
}

// Wherever the breakers stand, a retrier heeds that of the call's key.
TEST_P(keyed_test, has_calls_repeated_whose_own_breaker_is_closed) {
  for (auto outside : {false, true}) {
    auto w = make_worker(moody());
    breaker_config brittle{.threshold = 2, .open = schedule::constant(1h)};
    retrier_config patient{.max_attempts = 3, .idempotent = true};
    patient.backoff = schedule::constant(1s);
    stack s{"s"};
    if (outside)
      s.add<keyed<breaker>>({brittle});
    s.retrier(patient);
    if (!outside)
      s.add<keyed<breaker>>({brittle});
    auto g = host(w.handle(), s);
    ask(g, "bad", 1);
    world.advance(10s);
    ask(g, "bad", 1);
    world.advance(10s);
    EXPECT_EQ(state_of(g, "breaker"), "open") << outside;
    auto before = w.count();
    ask(g, "good", 1);
    world.advance(500ms);
    // While it waits, calls of the other key meet their breaker.
    ask(g, "bad", 1);
    world.advance(10s);
    EXPECT_EQ(w.count() - before, outside ? 3u : 2u) << outside;
  }
}

TEST_P(keyed_test, counts_a_timeout_below_for_the_key_of_the_call) {
  auto w = make_worker();
  breaker_config brittle{.threshold = 1, .open = schedule::constant(1h)};
  retrier_config patient{.max_attempts = 2, .idempotent = true};
  patient.backoff = schedule::constant(1s);
  auto g = host(w.handle(), stack{"s"}
                              .add<keyed<breaker>>({brittle})
                              .retrier(patient)
                              .add<keyed<deadline>>({{.timeout = 1s}}));
  auto slow = ask(g, "slow");
  ask(g, "fast", 2);
  w.answer_nth(1, 2);
  world.advance(1s);
  EXPECT_EQ(metric_of(g, "breaker", "attempt_timeouts"), 1);
  EXPECT_TRUE(ask(g, "slow").is(errc::breaker_open));
  auto fast = ask(g, "fast", 4);
  world.run_until_idle();
  EXPECT_FALSE(fast.ready());
  EXPECT_EQ(metric_of(g, "deadline", "expired"), 1);
}

TEST_P(keyed_test, drops_keys_and_leaves_no_timer) {
  auto w = make_worker(doubles());
  auto g = host(w.handle(),
                stack{"s"}.add<keyed<semaphore>>({{}, {.idle = 5s}}));
  for (int i = 0; i < 50; ++i)
    EXPECT_EQ(passed(g, std::to_string(i), 1), 1);
  world.advance(5s);
  EXPECT_EQ(metric_of(g, "semaphore", "keys"), 0);
  EXPECT_EQ(metric_of(g, "semaphore", "keys_expired"), 50);
  EXPECT_EQ(metric_of(g, "semaphore", "passed"), 50);
}

TEST_P(keyed_test, turns_new_keys_away_while_all_have_calls) {
  auto w = make_worker();
  auto g = host(w.handle(),
                stack{"s"}.add<keyed<semaphore>>({{}, {.max_keys = 20}}));
  std::vector<pending_answer> answers;
  for (int i = 0; i < 50; ++i)
    answers.push_back(ask(g, std::to_string(i)));
  EXPECT_EQ(metric_of(g, "semaphore", "refused_keys"), 30);
  EXPECT_TRUE(answers.back().is(errc::shed));
  world.advance(30s);
  EXPECT_TRUE(answers.front().is(errc::deadline_exceeded));
  EXPECT_EQ(metric_of(g, "semaphore", "in_use"), 0);
  EXPECT_EQ(passed(g, "new", 1), 0);
  EXPECT_EQ(metric_of(g, "semaphore", "keys_evicted"), 1);
}

// -- what only gates do -------------------------------------------------------

class keyed_gate_test : public world_test {};
CAISSON_ALL_ORDERS(keyed_gate_test);

TEST_P(keyed_gate_test, lends_permits_for_each_key) {
  auto g = gate(worker{}, stack{"s"}.add<keyed<semaphore>>({{.permits = 1}}));
  auto get = [&](const std::string& key) {
    acquire a;
    a.key = key;
    return world.request(g, a);
  };
  auto first = get("a");
  EXPECT_TRUE(first.ok());
  EXPECT_TRUE(get("a").is(errc::queue_full));
  EXPECT_TRUE(get("b").ok());
  EXPECT_TRUE(world.request(g, release{first.value<permit>().id}).ok());
  EXPECT_TRUE(get("a").ok());
}

} // namespace
} // namespace caisson::test
