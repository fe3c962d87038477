// Every policy alone in a gate and in a local gate: what all of them have in
// common, such as status, reconfigure, commands, events and modes.
#include <caisson/policies.hpp>

#include "support/both_hosts.hpp"
#include "support/kinds.hpp"
#include "support/stack_texts.hpp"

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

class forms_test
  : protected ordered_world,
    public testing::TestWithParam<std::tuple<policy_kind, host_kind, int>> {
protected:
  forms_test()
    : ordered_world(std::get<2>(GetParam())), what(std::get<0>(GetParam())),
      sample(some_setting(what)), w(make_worker(doubles())) {}

  void TearDown() override { clean_up(); }

  void start(mode m = mode::enforce) {
    auto text = stack_with(what) + "mode = '"
                + std::string{enum_names<mode>::value[static_cast<int>(m)]}
                + "'\n";
    host = own(spawn_host(std::get<1>(GetParam()), world, w.handle(),
                          only_stack(text).policies));
  }

  layer_status layer() { return look(host).layers.at(0); }

  policy_kind what;
  setting_sample sample;
  scripted_worker w;
  caf::actor host;
};

INSTANTIATE_TEST_SUITE_P(all, forms_test,
                         testing::Combine(testing::ValuesIn(policy_kinds()),
                                          testing::Values(host_kind::gate,
                                                          host_kind::local),
                                          testing::Range(0, 8)));

TEST_P(forms_test, passes_a_call) {
  start();
  auto answer = world.request(host, 21);
  world.advance(1s);
  EXPECT_TRUE(answer.ready());
  EXPECT_EQ(answer.count(), 1u);
  // The batcher's worker would have to take batches.
  if (what.name != "batcher") {
    EXPECT_EQ(answer.value<int>(), 42);
  }
}

TEST_P(forms_test, reports_its_status) {
  start();
  auto s = layer();
  EXPECT_EQ(s.kind, what.name);
  EXPECT_EQ(s.name, what.name);
  EXPECT_EQ(s.mode, mode::enforce);
  EXPECT_FALSE(s.metrics.empty());
  EXPECT_TRUE(s.config.contains(sample.key));
}

TEST_P(forms_test, takes_a_new_setting_and_refuses_a_bad_one) {
  start();
  auto before = layer().config.at(sample.key);
  EXPECT_NE(before, sample.good);
  auto changed = world.request(host,
                               reconfigure{"", {{sample.key, sample.good}}});
  ASSERT_TRUE(changed.ok());
  EXPECT_EQ(changed.value<status>().layers[0].config.at(sample.key),
            sample.good);
  auto refused = world.request(
    host,
    reconfigure{what.name, {{sample.key, sample.bad}, {"no_such_key", "1"}}});
  ASSERT_TRUE(refused.is(errc::invalid_config));
  auto text = context_of(refused.error())->text;
  EXPECT_NE(text.find(sample.key), std::string::npos) << text;
  EXPECT_NE(text.find("no_such_key"), std::string::npos) << text;
  EXPECT_NE(text.find("allowed"), std::string::npos) << text;
  EXPECT_EQ(layer().config.at(sample.key), sample.good);
}

TEST_P(forms_test, refuses_a_new_name_and_an_unknown_layer) {
  start();
  EXPECT_TRUE(world.request(host, reconfigure{"", {{"name", "other"}}})
                .is(errc::invalid_config));
  EXPECT_TRUE(
    world.request(host, reconfigure{"nobody", {}}).is(errc::invalid_config));
}

TEST_P(forms_test, obeys_the_operator) {
  start();
  EXPECT_TRUE(world.request(host, command{operator_command::off}).ok());
  EXPECT_EQ(layer().mode, mode::off);
  EXPECT_EQ(world.request(host, 21).value<int>(), 42);
  EXPECT_TRUE(world.request(host, command{operator_command::observe}).ok());
  EXPECT_EQ(layer().mode, mode::observe);
  EXPECT_EQ(world.request(host, 21).value<int>(), 42);
  EXPECT_TRUE(
    world.request(host, command{operator_command::enable, what.name}).ok());
  EXPECT_EQ(layer().mode, mode::enforce);
  EXPECT_TRUE(world.request(host, command{operator_command::reset}).ok());
  auto forced = world.request(host, command{operator_command::force_open});
  EXPECT_EQ(forced.ok(), what.name == "breaker");
  auto unknown = world.request(host,
                               command{static_cast<operator_command>(99)});
  ASSERT_TRUE(unknown.is(errc::invalid_config));
  EXPECT_NE(context_of(unknown.error())->text.find("force_open"),
            std::string::npos);
}

TEST_P(forms_test, notifies_subscribers_in_order) {
  start();
  world.send(host, subscribe{});
  world.request(host, reconfigure{"", {{sample.key, sample.good}}});
  world.request(host, command{operator_command::off});
  auto events = world.user().received_as<event>();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].kind, event_kind::reconfigured);
  EXPECT_EQ(events[0].layer, what.name);
  EXPECT_EQ(events[1].detail, "off");
  EXPECT_EQ(events[1].number, events[0].number + 1);
  world.send(host, unsubscribe{});
  world.request(host, command{operator_command::enable});
  EXPECT_EQ(world.user().received_as<event>().size(), 2u);
}

TEST_P(forms_test, observing_lets_every_call_pass) {
  start(mode::observe);
  for (int i = 0; i < 20; ++i) {
    auto answer = world.request(host, i);
    ASSERT_TRUE(answer.ready());
    EXPECT_EQ(answer.value<int>(), 2 * i);
  }
}

TEST_P(forms_test, a_dead_worker_is_reported_through_it) {
  start();
  world.kill(w.handle());
  auto answer = world.request(host, 1);
  world.advance(30s);
  ASSERT_EQ(answer.count(), 1u);
  if (what.name == "fallback")
    EXPECT_EQ(answer.value<int>(), -1);
  else
    EXPECT_TRUE(answer.is(errc::worker_down)) << to_string(answer.content());
}

// -- from code ----------------------------------------------------------------

// The functions for one policy alone.
TEST(spawn_functions, spawn_a_gate_with_one_layer_of_their_kind) {
  virtual_time world;
  scripted_worker w{world, doubles()};
  auto kind_behind = [&](const caf::actor& gate) {
    auto layers = world.request(gate, get_status{}).value<status>().layers;
    world.kill(gate);
    return layers.size() == 1 ? layers[0].kind : "several";
  };
  auto behind = w.handle();
  EXPECT_EQ(kind_behind(spawn_deadline(world, behind)), "deadline");
  EXPECT_EQ(kind_behind(spawn_semaphore(world, behind)), "semaphore");
  EXPECT_EQ(kind_behind(spawn_limiter(world, behind)), "limiter");
  EXPECT_EQ(kind_behind(spawn_breaker(world, behind)), "breaker");
  EXPECT_EQ(kind_behind(spawn_retrier(world, behind)), "retrier");
  EXPECT_EQ(kind_behind(spawn_batcher(world, behind)), "batcher");
  EXPECT_EQ(
    kind_behind(spawn_fallback(world, behind, {alternative::answer(-1)})),
    "fallback");
  EXPECT_EQ(kind_behind(spawn_cache(world, behind)), "cache");
  EXPECT_EQ(kind_behind(spawn_policy<limiter>(world, behind)), "limiter");
}

TEST(spawn_functions, refuse_settings_out_of_range) {
  virtual_time world;
  scripted_worker w{world, doubles()};
  try {
    spawn_semaphore(world, w.handle(),
                    {.permits = 0, .max_wait = duration{-5}});
    FAIL() << "accepted";
  } catch (const config_error& e) {
    EXPECT_EQ(e.all().size(), 2u) << e.what();
  }
  EXPECT_EQ(world.actors(), 1u);
}

} // namespace
} // namespace caisson::test
