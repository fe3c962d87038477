// Every policy as an actor of its own, and what all of them have in common:
// status, reconfigure, commands, events, modes.
#include "support/world.hpp"

#include <functional>
#include <ostream>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

struct form {
  std::string kind;
  std::function<caf::actor(caf::actor_system&, worker, mode)> spawn;
  /// A setting, another value for it, and one that is out of range.
  std::string key;
  std::string good;
  std::string bad;
};

std::ostream& operator<<(std::ostream& out, const form& f) {
  return out << f.kind;
}

std::vector<form> all_forms() {
  return {
    {"deadline",
     [](auto& sys, worker w, mode m) {
       return spawn_deadline(sys, w, {.mode = m, .timeout = 3s});
     },
     "timeout", "4s", "0s"},
    {"semaphore",
     [](auto& sys, worker w, mode m) {
       return spawn_semaphore(sys, w, {.mode = m, .permits = 3});
     },
     "permits", "4", "0"},
    {"limiter",
     [](auto& sys, worker w, mode m) {
       return spawn_limiter(sys, w, {.mode = m, .rate = 3, .burst = 3});
     },
     "rate", "4", "-1"},
    {"breaker",
     [](auto& sys, worker w, mode m) {
       return spawn_breaker(sys, w, {.mode = m, .threshold = 3});
     },
     "threshold", "4", "0"},
    {"retrier",
     [](auto& sys, worker w, mode m) {
       return spawn_retrier(sys, w, {.mode = m, .max_attempts = 3});
     },
     "max_attempts", "4", "0"},
    {"batcher",
     [](auto& sys, worker w, mode m) {
       return spawn_batcher(sys, w, {.mode = m, .max_items = 3});
     },
     "max_items", "4", "0"},
    {"fallback",
     [](auto& sys, worker w, mode m) {
       return spawn_fallback(sys, w, {alternative::answer(-1)}, {.mode = m});
     },
     "max_concurrent", "4", "-1"},
  };
}

class forms_test : public testing::TestWithParam<std::tuple<form, int>> {
protected:
  forms_test()
    : what(std::get<0>(GetParam())),
      world(std::get<1>(GetParam()) == 0
              ? std::optional<std::uint64_t>{}
              : std::optional<std::uint64_t>(std::get<1>(GetParam()))),
      w(world, doubles()) {}

  void TearDown() override {
    world.kill(gate);
    world.kill(w.handle());
    EXPECT_EQ(world.timers(), 0u);
    EXPECT_EQ(world.actors(), 0u);
  }

  void start(mode m = mode::enforce) {
    gate = what.spawn(world, w.handle(), m);
    world.run_until_idle();
  }

  layer_status look() {
    return world.request(gate, get_status{}).value<status>().layers.at(0);
  }

  form what;
  virtual_time world;
  scripted_worker w;
  caf::actor gate;
};

INSTANTIATE_TEST_SUITE_P(all, forms_test,
                         testing::Combine(testing::ValuesIn(all_forms()),
                                          testing::Range(0, 8)));

TEST_P(forms_test, passes_a_call) {
  start();
  auto answer = world.request(gate, 21);
  world.advance(1s);
  EXPECT_TRUE(answer.ready());
  EXPECT_EQ(answer.count(), 1u);
  // The batcher's worker would have to take batches.
  if (what.kind != "batcher") {
    EXPECT_EQ(answer.value<int>(), 42);
  }
}

TEST_P(forms_test, tells_its_status) {
  start();
  auto s = look();
  EXPECT_EQ(s.kind, what.kind);
  EXPECT_EQ(s.name, what.kind);
  EXPECT_EQ(s.mode, "enforce");
  EXPECT_FALSE(s.metrics.empty());
  EXPECT_TRUE(s.config.contains(what.key));
}

TEST_P(forms_test, takes_a_new_setting_and_refuses_a_bad_one) {
  start();
  auto before = look().config.at(what.key);
  EXPECT_NE(before, what.good);
  auto changed = world.request(gate, reconfigure{"", {{what.key, what.good}}});
  ASSERT_TRUE(changed.ok());
  EXPECT_EQ(changed.value<status>().layers[0].config.at(what.key), what.good);
  auto refused = world.request(
    gate, reconfigure{what.kind, {{what.key, what.bad}, {"no_such_key", "1"}}});
  ASSERT_TRUE(refused.is(errc::invalid_config));
  auto text = context_of(refused.error())->text;
  EXPECT_NE(text.find(what.key), std::string::npos) << text;
  EXPECT_NE(text.find("no_such_key"), std::string::npos) << text;
  EXPECT_NE(text.find("allowed"), std::string::npos) << text;
  EXPECT_EQ(look().config.at(what.key), what.good);
}

TEST_P(forms_test, refuses_a_new_name_and_an_unknown_layer) {
  start();
  EXPECT_TRUE(world.request(gate, reconfigure{"", {{"name", "other"}}})
                .is(errc::invalid_config));
  EXPECT_TRUE(
    world.request(gate, reconfigure{"nobody", {}}).is(errc::invalid_config));
}

TEST_P(forms_test, obeys_the_operator) {
  start();
  EXPECT_TRUE(world.request(gate, command{operator_command::disable}).ok());
  EXPECT_EQ(look().mode, "off");
  EXPECT_EQ(world.request(gate, 21).value<int>(), 42);
  EXPECT_TRUE(
    world.request(gate, command{operator_command::metrics_only}).ok());
  EXPECT_EQ(look().mode, "observe");
  EXPECT_EQ(world.request(gate, 21).value<int>(), 42);
  EXPECT_TRUE(
    world.request(gate, command{operator_command::enable, what.kind}).ok());
  EXPECT_EQ(look().mode, "enforce");
  EXPECT_TRUE(world.request(gate, command{operator_command::reset}).ok());
  auto forced = world.request(gate, command{operator_command::force_open});
  EXPECT_EQ(forced.ok(), what.kind == "breaker");
  auto unknown = world.request(gate, command{"explode"});
  ASSERT_TRUE(unknown.is(errc::invalid_config));
  EXPECT_NE(context_of(unknown.error())->text.find("force_open"),
            std::string::npos);
}

TEST_P(forms_test, tells_subscribers_in_order) {
  start();
  world.send(gate, subscribe{});
  world.request(gate, reconfigure{"", {{what.key, what.good}}});
  world.request(gate, command{operator_command::disable});
  auto events = world.user().received_as<event>();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].kind, "reconfigured");
  EXPECT_EQ(events[0].layer, what.kind);
  EXPECT_EQ(events[1].detail, "disable");
  EXPECT_EQ(events[1].number, events[0].number + 1);
  world.send(gate, unsubscribe{});
  world.request(gate, command{operator_command::enable});
  EXPECT_EQ(world.user().received_as<event>().size(), 2u);
}

TEST_P(forms_test, observing_lets_every_call_pass) {
  start(mode::observe);
  for (int i = 0; i < 20; ++i) {
    auto answer = world.request(gate, i);
    ASSERT_TRUE(answer.ready());
    EXPECT_EQ(answer.value<int>(), 2 * i);
  }
}

TEST_P(forms_test, a_dead_worker_is_reported_through_it) {
  start();
  world.kill(w.handle());
  auto answer = world.request(gate, 1);
  world.advance(30s);
  ASSERT_EQ(answer.count(), 1u);
  if (what.kind == "fallback")
    EXPECT_EQ(answer.value<int>(), -1);
  else
    EXPECT_TRUE(answer.is(errc::worker_down)) << to_string(answer.content());
}

TEST_P(forms_test, settings_out_of_range_are_refused_when_it_is_spawned) {
  start();
  try {
    spawn_semaphore(world, w.handle(),
                    {.permits = 0, .max_wait = duration{-5}});
    FAIL() << "accepted";
  } catch (const config_error& e) {
    EXPECT_EQ(e.all().size(), 2u) << e.what();
  }
  EXPECT_EQ(world.actors(), 2u);
}

} // namespace
} // namespace caisson::test
