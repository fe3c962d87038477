// Snapshots of gates for those who watch them, and that they do nothing if
// nobody does.
#include "support/world.hpp"

#include <caisson/engine/snapshot_hub.hpp>
#include <caisson/local_gate.hpp>
#include <caisson/observe/gate_watch.hpp>
#include <caisson/policies.hpp>

#include <gmock/gmock.h>

#include <algorithm>
#include <optional>

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

namespace caisson::test {
namespace {

class gate_watch_test : public world_test {
protected:
  using names = std::vector<std::pair<std::string, std::uint32_t>>;

  static names names_in(const gate_watch& w) {
    names out;
    for (const auto& x : w.gates())
      out.emplace_back(x.name, x.number);
    return out;
  }

  static const gate_snapshot& only(const gate_watch& w) {
    static std::shared_ptr<const gate_snapshot> last;
    auto all = w.gates();
    EXPECT_EQ(all.size(), 1u);
    last = all.at(0).last;
    return *last;
  }

  static std::int64_t number_of(const layer_snapshot& x,
                                const std::string& name) {
    for (const auto& n : x.numbers)
      if (n.name == name)
        return n.value;
    throw std::out_of_range{name};
  }
};
CAISSON_ALL_ORDERS(gate_watch_test);

TEST_P(gate_watch_test, a_gate_without_a_watch_wants_no_timer) {
  auto w = make_worker(doubles());
  auto g = gate(w.handle(), stack{gate_config{.default_deadline = unlimited}});
  EXPECT_TRUE(world.request(g, 1).ok());
  EXPECT_EQ(world.timers(), 0u);
}

TEST_P(gate_watch_test, an_idle_gate_publishes_once_and_sleeps) {
  auto w = make_worker(doubles());
  auto g = gate(w.handle(), stack{"a"});
  gate_watch watch{world};
  EXPECT_THAT(watch.gates(), IsEmpty());
  world.run_until_idle();
  EXPECT_EQ(only(watch).worker, worker_state::up);
  auto first = watch.gates().at(0).last;
  EXPECT_EQ(world.timers(), 0u);
  world.advance(10min);
  EXPECT_EQ(watch.gates().at(0).last, first);
}

TEST_P(gate_watch_test, a_gate_that_starts_later_publishes_at_once) {
  gate_watch watch{world};
  auto w = make_worker(doubles());
  auto g = gate(w.handle(), stack{"later"});
  EXPECT_THAT(names_in(watch), ElementsAre(std::pair{"later", 1}));
  EXPECT_EQ(world.timers(), 0u);
}

TEST_P(gate_watch_test, what_changes_is_reported_once_in_the_interval) {
  auto w = make_worker(doubles());
  auto g = gate(w.handle(), stack{});
  gate_watch watch{world, {.every = 500ms}};
  world.run_until_idle();
  world.advance(100ms);
  EXPECT_TRUE(world.request(g, 1).ok());
  EXPECT_TRUE(world.request(g, 2).ok());
  EXPECT_EQ(only(watch).metrics.at("calls"), 0);
  world.advance(399ms);
  EXPECT_EQ(only(watch).metrics.at("calls"), 0);
  world.advance(1ms);
  EXPECT_EQ(only(watch).metrics.at("calls"), 2);
  EXPECT_EQ(only(watch).metrics.at("succeeded"), 2);
  // After a longer pause, the next change is reported at once.
  EXPECT_EQ(world.timers(), 0u);
  world.advance(1min);
  EXPECT_TRUE(world.request(g, 3).ok());
  EXPECT_EQ(only(watch).metrics.at("calls"), 3);
  world.advance(1min);
  EXPECT_EQ(only(watch).metrics.at("succeeded"), 3);
  EXPECT_EQ(world.timers(), 0u);
}

TEST_P(gate_watch_test, what_time_alone_changes_is_reported_too) {
  auto w = make_worker();
  auto g = gate(w.handle(), stack{}.breaker({.threshold = 1,
                                             .open = schedule::constant(5s),
                                             .eager_half_open = true}));
  gate_watch watch{world};
  auto answer = world.request(g, 1);
  w.fail(caf::make_error(caf::sec::runtime_error));
  world.advance(2s);
  EXPECT_EQ(only(watch).layers.at(0).state, "open");
  world.advance(5s);
  EXPECT_EQ(only(watch).layers.at(0).state, "half_open");
  EXPECT_EQ(world.timers(), 0u);
}

TEST_P(gate_watch_test, a_snapshot_says_what_the_status_says) {
  auto w = make_worker(doubles());
  auto g = gate(w.handle(),
                stack{}.retrier({.max_attempts = 1}).semaphore({.permits = 3}));
  EXPECT_TRUE(world.request(g, 1).ok());
  EXPECT_FALSE(world.request(g, "no").ok());
  auto late = wrap(1);
  late.options.deadline_ns = 1;
  EXPECT_FALSE(world.request(g, late).ok());
  gate_watch watch{world};
  world.run_until_idle();
  auto s = only(watch);
  auto reports = look(g);
  reports.metrics.erase("subscribers");
  EXPECT_EQ(s.metrics, reports.metrics);
  ASSERT_EQ(s.layers.size(), 2u);
  for (std::size_t k = 0; k < s.layers.size(); ++k) {
    EXPECT_EQ(s.layers[k].name, reports.layers[k].name);
    EXPECT_EQ(s.layers[k].kind, reports.layers[k].kind);
    EXPECT_EQ(s.layers[k].numbers.size(), reports.layers[k].metrics.size());
    for (const auto& [name, value] : reports.layers[k].metrics)
      EXPECT_EQ(number_of(s.layers[k], name), value) << name;
  }
  EXPECT_EQ(s.errors[0], 1);
  EXPECT_EQ(s.errors[static_cast<std::size_t>(errc::deadline_exceeded)], 1);
  ASSERT_EQ(s.durations.size(), reports.durations.size());
  EXPECT_EQ(s.durations[0].counts.count(), reports.durations[0].count);
}

TEST_P(gate_watch_test, a_gate_that_ends_is_gone_and_its_number_is_free) {
  auto w = make_worker(doubles());
  auto a = gate(w.handle(), stack{"x"});
  auto b = gate(w.handle(), stack{"x"});
  auto c = gate(w.handle(), stack{"x"});
  gate_watch watch{world};
  world.run_until_idle();
  EXPECT_EQ(names_in(watch), (names{{"x", 1}, {"x", 2}, {"x", 3}}));
  stop_gate(b);
  world.run_until_idle();
  EXPECT_EQ(names_in(watch), (names{{"x", 1}, {"x", 3}}));
  auto d = gate(w.handle(), stack{"x"});
  EXPECT_EQ(names_in(watch), (names{{"x", 1}, {"x", 2}, {"x", 3}}));
  for (const auto& x : {a, c, d})
    stop_gate(x);
  world.run_until_idle();
  EXPECT_EQ(names_in(watch), names{});
}

TEST_P(gate_watch_test, the_end_of_the_last_watch_ends_it) {
  auto w = make_worker(doubles());
  auto g = gate(w.handle(), stack{gate_config{.default_deadline = unlimited}});
  {
    gate_watch one{world};
    gate_watch two{world, {.every = 10ms}};
    world.run_until_idle();
    EXPECT_EQ(names_in(one), names_in(two));
    world.advance(1s);
    EXPECT_TRUE(world.request(g, 1).ok());
    world.advance(10ms);
    EXPECT_EQ(only(one).metrics.at("succeeded"), 1);
  }
  EXPECT_TRUE(world.request(g, 1).ok());
  EXPECT_EQ(world.timers(), 0u);
  gate_watch again{world};
  EXPECT_THAT(again.gates(), IsEmpty());
  world.run_until_idle();
  world.advance(1s);
  EXPECT_EQ(only(again).metrics.at("succeeded"), 2);
}

TEST_P(gate_watch_test, the_busiest_keys_come_if_they_are_wanted) {
  auto w = make_worker(doubles());
  auto g = gate(w.handle(),
                stack{}.add<keyed<limiter>>({{.rate = 1000, .burst = 10}, {}}));
  gate_watch without{world};
  for (const auto* key : {"b", "a", "b"}) {
    auto x = wrap(1);
    x.options.key = key;
    EXPECT_TRUE(world.request(g, x).ok());
  }
  world.advance(1s);
  EXPECT_THAT(only(without).layers.at(0).keys, IsEmpty());
  gate_watch with{world, {.keys = 1}};
  EXPECT_TRUE(world.request(g, 1).ok());
  world.advance(1s);
  auto keys = only(with).layers.at(0).keys;
  ASSERT_EQ(keys.size(), 1u);
  EXPECT_EQ(keys[0].key, "b");
  EXPECT_EQ(keys[0].admitted, 2);
}

TEST_P(gate_watch_test, any_number_of_keys_is_added_up) {
  auto w = make_worker(doubles());
  auto g = gate(w.handle(),
                stack{}.add<keyed<breaker>>({{}, {.max_keys = 20'000}}));
  gate_watch watch{world, {.keys = 3}};
  for (int i = 0; i < 15'000; ++i) {
    auto x = wrap(1);
    x.options.key = std::to_string(i);
    world.user().send(g, x);
  }
  world.run_until_idle();
  world.advance(1s);
  auto x = only(watch).layers.at(0);
  EXPECT_EQ(x.state, "closed");
  EXPECT_EQ(number_of(x, "keys"), 15'000);
  EXPECT_EQ(number_of(x, "successes"), 15'000);
  ASSERT_EQ(x.keys.size(), 3u);
  EXPECT_EQ(x.keys[0].key, "0");
  EXPECT_EQ(x.keys[2].key, "10");
}

// A policy whose numbers cannot be read.
class broken_policy final
  : public policy_base<broken_policy, semaphore_config, semaphore_counter> {
public:
  static constexpr std::string_view kind_name = "broken";
  explicit broken_policy(semaphore_config c) : policy_base(std::move(c)) {}
  decision admit(call_info&, slot&, env&) override { return decision::pass(); }
  decision complete(call_info&, slot&, outcome&, env&) override {
    return decision::pass();
  }
  void abandon(call_info&, slot&, const outcome&, bool, env&) override {}

protected:
  void list_gauges(std::vector<metric>&) const override {
    throw std::runtime_error{"no numbers"};
  }
};

TEST_P(gate_watch_test, a_watch_that_begins_later_gets_its_own_interval) {
  auto w = make_worker(doubles());
  auto g = gate(w.handle(), stack{});
  gate_watch slow{world, {.every = 1h}};
  world.run_until_idle();
  world.advance(1s);
  EXPECT_TRUE(world.request(g, 1).ok());
  gate_watch fast{world, {.every = 1s}};
  world.run_until_idle();
  EXPECT_EQ(only(fast).metrics.at("calls"), 1);
  EXPECT_TRUE(world.request(g, 2).ok());
  world.advance(1s);
  EXPECT_EQ(only(fast).metrics.at("calls"), 2);
}

TEST_P(gate_watch_test, a_watch_that_follows_another_at_once_sees_the_gate) {
  auto w = make_worker(doubles());
  auto g = gate(w.handle(), stack{});
  std::optional<gate_watch> first;
  first.emplace(world, gate_watch_config{.every = 1h});
  world.run_until_idle();
  EXPECT_TRUE(world.request(g, 1).ok());
  first.reset();
  gate_watch second{world, {.every = 1h}};
  world.run_until_idle();
  EXPECT_EQ(only(second).metrics.at("calls"), 1);
}

TEST_P(gate_watch_test, a_watch_that_begins_later_gets_the_keys_it_wants) {
  auto w = make_worker(doubles());
  auto g = gate(w.handle(),
                stack{}.add<keyed<limiter>>({{.rate = 1000, .burst = 10}, {}}));
  gate_watch without{world};
  auto x = wrap(1);
  x.options.key = "a";
  EXPECT_TRUE(world.request(g, x).ok());
  world.advance(1s);
  gate_watch with{world, {.keys = 1}};
  world.run_until_idle();
  EXPECT_EQ(only(with).layers.at(0).keys.size(), 1u);
}

// Has no numbers once it has had a call, so not for the sums of all keys.
class brittle_policy final
  : public policy_base<brittle_policy, semaphore_config, semaphore_counter> {
public:
  static constexpr std::string_view kind_name = "brittle";
  explicit brittle_policy(semaphore_config c) : policy_base(std::move(c)) {}
  decision admit(call_info&, slot&, env&) override {
    used_ = true;
    return decision::pass();
  }
  decision complete(call_info&, slot&, outcome&, env&) override {
    return decision::pass();
  }
  void abandon(call_info&, slot&, const outcome&, bool, env&) override {}

protected:
  void list_gauges(std::vector<metric>&) const override {
    if (used_)
      throw std::runtime_error{"no numbers"};
  }

private:
  bool used_ = false;
};

TEST_P(gate_watch_test, a_policy_of_a_key_that_throws_has_no_numbers) {
  auto w = make_worker(doubles());
  auto g = gate(w.handle(),
                stack{}.add<keyed<brittle_policy>>({{.name = "brittle"}, {}}));
  gate_watch watch{world, {.keys = 3}};
  world.run_until_idle();
  auto x = wrap(1);
  x.options.key = "a";
  EXPECT_TRUE(world.request(g, x).ok());
  world.advance(1s);
  EXPECT_THAT(only(watch).layers.at(0).keys, IsEmpty());
  EXPECT_EQ(only(watch).metrics.at("succeeded"), 1);
}

TEST_P(gate_watch_test, a_policy_that_throws_has_no_numbers) {
  auto w = make_worker(doubles());
  auto g = gate(w.handle(), stack{}.add<broken_policy>({.name = "broken"}));
  gate_watch watch{world};
  world.run_until_idle();
  EXPECT_TRUE(world.request(g, 1).ok());
  world.advance(1s);
  ASSERT_EQ(only(watch).layers.size(), 1u);
  EXPECT_EQ(only(watch).layers[0].numbers.size(), 1u);
  EXPECT_EQ(only(watch).metrics.at("succeeded"), 1);
}

// Counts how often it lists its numbers.
class counting_policy final
  : public policy_base<counting_policy, semaphore_config, semaphore_counter> {
public:
  static constexpr std::string_view kind_name = "counting";
  static inline int lists = 0;
  explicit counting_policy(semaphore_config c) : policy_base(std::move(c)) {}
  decision admit(call_info&, slot&, env&) override { return decision::pass(); }
  decision complete(call_info&, slot&, outcome&, env&) override {
    return decision::pass();
  }
  void abandon(call_info&, slot&, const outcome&, bool, env&) override {}

protected:
  void list_gauges(std::vector<metric>&) const override { ++lists; }
};

TEST_P(gate_watch_test, without_a_watch_no_snapshot_is_made) {
  auto w = make_worker(doubles());
  auto g = gate(w.handle(), stack{}.add<counting_policy>({.name = "counting"}));
  counting_policy::lists = 0;
  EXPECT_TRUE(world.request(g, 1).ok());
  EXPECT_EQ(counting_policy::lists, 0);
  {
    gate_watch watch{world};
    world.run_until_idle();
    EXPECT_EQ(counting_policy::lists, 1);
  }
  EXPECT_TRUE(world.request(g, 1).ok());
  EXPECT_EQ(counting_policy::lists, 1);
}

TEST_P(gate_watch_test, an_idle_local_gate_publishes_when_a_watch_begins) {
  auto w = make_worker(doubles());
  auto host = world.system().spawn([&](caf::event_based_actor* self) {
    auto g = std::make_shared<local_gate<>>(self, w.handle(), stack{"local"});
    return caf::behavior{
      [g](int x) { g->request(x).then([](int) {}, [](caf::error&) {}); }};
  });
  own(host);
  world.send(host, 1);
  world.advance(1h);
  gate_watch watch{world};
  EXPECT_THAT(watch.gates(), IsEmpty());
  world.run_until_idle();
  EXPECT_EQ(names_in(watch), (names{{"local", 1}}));
  EXPECT_EQ(world.timers(), 0u);
  world.send(host, 1);
  world.send(host, 1);
  world.advance(1s);
  EXPECT_EQ(only(watch).metrics.at("succeeded"), 3);
  EXPECT_EQ(world.timers(), 0u);
  world.kill(host);
  EXPECT_THAT(watch.gates(), IsEmpty());
}

// A gate may have begun to publish when the last watch ends.
TEST(gate_watch_ends, nothing_is_left_for_a_later_one) {
  virtual_time world;
  auto hub = detail::snapshot_hub::of(world);
  auto slot = hub->join("late", {});
  {
    gate_watch first{world};
    slot->publish(std::make_shared<gate_snapshot>());
    EXPECT_EQ(first.gates().size(), 1u);
  }
  slot->publish(std::make_shared<gate_snapshot>());
  gate_watch second{world};
  EXPECT_THAT(second.gates(), IsEmpty());
  slot->publish(std::make_shared<gate_snapshot>());
  EXPECT_EQ(second.gates().size(), 1u);
}

TEST(gate_watch_settings, are_checked) {
  virtual_time world;
  for (auto every : {9ms, 3'600'001ms})
    EXPECT_THROW((gate_watch{world, {.every = every}}), config_error);
  EXPECT_THROW((gate_watch{world, {.keys = 101}}), config_error);
}

TEST(gate_watch_systems, do_not_see_each_other) {
  virtual_time a;
  virtual_time b;
  gate_watch of_a{a};
  gate_watch of_b{b};
  auto g = spawn_gate(a, worker{}, stack{});
  a.run_until_idle();
  EXPECT_EQ(of_a.gates().size(), 1u);
  EXPECT_THAT(of_b.gates(), IsEmpty());
  a.kill(g);
}

} // namespace
} // namespace caisson::test
