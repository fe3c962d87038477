// Gates whose worker is a gate with a shedder, which reports its threshold.
#include "policies/shedder/model/shedder_rig.hpp"
#include "support/local_proxy.hpp"
#include "support/world.hpp"

#include <caisson/stack/add.hpp>
#include <caisson/stack/layers/shedder_layer.hpp>

#include <map>
#include <memory>
#include <set>
#include <string>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

class shedder_follow_test : public world_test {
protected:
  shedder_follow_test() {
    load_default->set(load);
    load->value.cpu = 1;
  }

  // A gate of a service that has too much to do.
  caf::actor busy(const std::string& name = "busy") {
    return gate(callee.handle(), stack{name}.add<shedder>(by_cpu()));
  }

  caf::actor front_of(const caf::actor& far, shedder_config c = followed()) {
    return gate(worker{far}, stack{"front"}.add<shedder>(std::move(c)));
  }

  // So many calls over a second; how many of them are answered.
  int second(const caf::actor& g, int n, std::int32_t priority = 0) {
    int ok = 0;
    for (int i = 0; i < n; ++i) {
      ok += world.request(g, wrap(i).priority(priority)).ok() ? 1 : 0;
      world.advance(duration{1s} / n);
    }
    return ok;
  }

  // Until about half of the calls are shed.
  void overload(const caf::actor& g) {
    for (int i = 0; i < 14; ++i)
      second(g, 100);
  }

  caisson::rejection error_of(const caf::actor& g, std::int32_t priority) {
    auto x = world.request(g, wrap(1).priority(priority));
    world.advance(1ms);
    EXPECT_TRUE(x.is(errc::shed));
    auto* found = context_of(x.error());
    return found ? *found : rejection{};
  }

  scripted_worker callee = make_worker(doubles());
  std::shared_ptr<set_load> load = std::make_shared<set_load>();
  std::shared_ptr<default_load_source> load_default = default_load_source::of(
    &world.system());
};
CAISSON_ALL_ORDERS(shedder_follow_test);

TEST_P(shedder_follow_test, a_shedder_reports_its_threshold_in_its_errors) {
  auto far = busy();
  overload(far);
  auto callee_threshold = error_of(far, -16).threshold;
  EXPECT_NEAR(callee_threshold, metric_of(far, "shedder", "threshold"), 1);
  EXPECT_GT(callee_threshold, middle);
}

TEST_P(shedder_follow_test, a_gate_rejects_what_its_worker_would) {
  auto far = busy();
  auto near = front_of(far);
  overload(near);
  auto calls_before = metric_of(far, "calls");
  EXPECT_LT(second(near, 100), 70);
  // Those that pass and one in 16 of the others.
  EXPECT_LT(metric_of(far, "calls") - calls_before, 75);
  EXPECT_GT(metric_of(near, "shedder", "shed_early"), 200);
  EXPECT_GT(metric_of(near, "shedder", "thresholds_received"), 10);
  EXPECT_NEAR(metric_of(near, "shedder", "callee_threshold"),
              metric_of(far, "shedder", "threshold"), 10);
  EXPECT_EQ(second(near, 100, 1), 100) << "these are more important";
}

TEST_P(shedder_follow_test, an_early_rejection_says_that_nothing_was_done) {
  auto near = front_of(busy());
  overload(near);
  auto early = metric_of(near, "shedder", "shed_early");
  auto context = error_of(near, -16);
  ASSERT_EQ(metric_of(near, "shedder", "shed_early"), early + 1);
  EXPECT_EQ(context.policy, "shedder");
  EXPECT_EQ(context.retry_after, duration{1s});
  EXPECT_FALSE(context.may_have_executed);
  EXPECT_FALSE(context.from_worker);
  EXPECT_EQ(context.threshold, 0) << "its own is what a gate reports";
}

// As in the docs.
caf::actor client_of(caf::actor_system& sys, const caf::actor& remote_gate) {
  // [follow]
  auto policies = stack{"client"}.add<shedder>(
    {.max_cpu = 0, .max_memory = 0, .in_flight_factor = 0, .follow_for = 1s});
  auto client = spawn_gate(sys, worker{remote_gate}.is_gate(), policies);
  // [/follow]
  return client;
}

TEST_P(shedder_follow_test, is_set_up_as_the_docs_say) {
  auto far = busy();
  auto near = own(client_of(world.system(), far));
  overload(near);
  EXPECT_GT(metric_of(near, "shedder", "shed_early"), 200);
}

// Only those that call the shedder itself can make use of it.
TEST_P(shedder_follow_test, a_threshold_is_reported_to_direct_callers_only) {
  auto far = busy();
  auto middle_gate = gate(worker{far}, stack{"middle"}.breaker());
  auto near = front_of(middle_gate);
  overload(near);
  EXPECT_GT(metric_of(far, "shedder", "shed_cpu"), 100);
  EXPECT_EQ(metric_of(near, "shedder", "thresholds_received"), 0);
  EXPECT_EQ(error_of(middle_gate, -16).threshold, 0);
  EXPECT_EQ(error_of(near, -16).policy, "shedder");
}

TEST_P(shedder_follow_test, a_gate_between_reports_its_own_threshold) {
  auto far = busy();
  auto c = by_cpu();
  c.follow_for = 1s;
  auto between = front_of(far, c);
  auto near = front_of(between);
  overload(near);
  EXPECT_NEAR(metric_of(near, "shedder", "callee_threshold"),
              metric_of(between, "shedder", "threshold"), 10);
  EXPECT_GT(metric_of(near, "shedder", "shed_early"), 100);
}

TEST_P(shedder_follow_test, all_gates_go_by_the_same_user_priority) {
  auto seen = make_worker(doubles());
  auto far = gate(worker{seen.handle()}.takes_calls(),
                  stack{"far"}.add<shedder>(by_cpu()));
  auto near = front_of(far);
  std::map<std::string, std::set<int>> users;
  for (int i = 0; i < 60; ++i) {
    auto key = std::to_string(i % 20);
    world.request(near, wrap(i).key(key));
    world.advance(1ms);
    users[key].insert(seen.received().back().options().user_priority);
  }
  for (const auto& [key, all] : users) {
    EXPECT_EQ(all.size(), 1u) << key;
    EXPECT_GT(*all.begin(), 0);
  }
  world.request(near, wrap(1).user_priority(5));
  world.advance(1ms);
  EXPECT_EQ(seen.received().back().options().user_priority, 5);
}

TEST_P(shedder_follow_test, another_target_says_nothing_about_the_worker) {
  auto far = busy();
  auto spare = make_worker(scripted_worker::always_reply(
    scripted_worker::reply::error(caf::sec::runtime_error)));
  auto near = gate(
    spare.handle(),
    stack{"front"}.add<shedder>(followed()).fallback({alternative::ask(far)}));
  overload(near);
  EXPECT_GT(metric_of(far, "shedder", "shed_cpu"), 100);
  EXPECT_EQ(metric_of(near, "shedder", "thresholds_received"), 0);
}

TEST_P(shedder_follow_test, nor_does_another_shedder_of_the_same_gate) {
  auto inner = by_cpu();
  inner.name = "inner";
  auto near = gate(callee.handle(),
                   stack{"front"}.add<shedder>(followed()).add<shedder>(inner));
  overload(near);
  EXPECT_GT(metric_of(near, "inner", "shed_cpu"), 100);
  EXPECT_EQ(metric_of(near, "shedder", "thresholds_received"), 0);
}

TEST_P(shedder_follow_test, a_gate_that_observes_sends_all) {
  auto c = followed();
  c.mode = mode::observe;
  auto far = busy();
  auto near = front_of(far, c);
  overload(near);
  EXPECT_EQ(metric_of(far, "calls"), 1'400);
  EXPECT_GT(metric_of(near, "shedder", "shed_early"), 100);
  // An operator lets it act.
  world.request(near, reconfigure{"shedder", {{"mode", "enforce"}}});
  world.advance(1ms);
  auto before = metric_of(far, "calls");
  second(near, 100);
  EXPECT_LT(metric_of(far, "calls") - before, 75);
  // And observes again; no call stands for others then.
  world.request(near, command{operator_command::observe, "shedder"});
  world.advance(1ms);
  before = metric_of(far, "calls");
  second(near, 100);
  EXPECT_EQ(metric_of(far, "calls") - before, 100);
}

TEST_P(shedder_follow_test, is_switched_on_while_calls_run) {
  auto c = followed();
  c.follow_for = 0s;
  auto far = busy();
  auto near = front_of(far, c);
  overload(near);
  EXPECT_EQ(metric_of(far, "calls"), 1'400);
  world.request(near, reconfigure{"shedder", {{"follow_for", "1s"}}});
  world.advance(1ms);
  second(near, 100);
  EXPECT_GT(metric_of(near, "shedder", "shed_early"), 20);
  auto wrong = world.request(near,
                             reconfigure{"shedder", {{"follow_for", "2min"}}});
  world.advance(1ms);
  EXPECT_TRUE(wrong.is(errc::invalid_config));
}

TEST_P(shedder_follow_test, notices_that_the_overload_is_over) {
  auto near = front_of(busy());
  overload(near);
  EXPECT_LT(second(near, 100), 70);
  load->value.cpu = 0;
  for (int i = 0; i < 100; ++i)
    second(near, 100);
  EXPECT_EQ(second(near, 100), 100);
  auto before = metric_of(near, "shedder", "shed_early");
  second(near, 100);
  EXPECT_EQ(metric_of(near, "shedder", "shed_early"), before);
}

TEST_P(shedder_follow_test, ends_soon_after_the_callee_has) {
  auto far = busy();
  auto near = front_of(far);
  overload(near);
  stop_gate(far);
  world.advance(1s);
  auto before = metric_of(near, "shedder", "shed_early");
  EXPECT_EQ(second(near, 50), 0);
  EXPECT_EQ(metric_of(near, "shedder", "shed_early"), before);
}

TEST_P(shedder_follow_test, works_in_a_local_gate) {
  auto far = busy();
  auto near = own(local_proxy::spawn(world.system(), far,
                                     stack{"front"}.add<shedder>(followed())));
  overload(near);
  auto before = metric_of(far, "calls");
  EXPECT_LT(second(near, 100), 70);
  EXPECT_LT(metric_of(far, "calls") - before, 75);
  world.advance(1min);
}

} // namespace
} // namespace caisson::test
