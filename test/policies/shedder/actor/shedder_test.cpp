// Shedders in gates: where they get the load from, and what the layers around
// them make of what they reject.
#include "policies/shedder/model/shedder_rig.hpp"
#include "support/local_proxy.hpp"
#include "support/stack_texts.hpp"
#include "support/world.hpp"

#include <caisson/stack/add.hpp>
#include <caisson/stack/layers/degradation_layer.hpp>
#include <caisson/stack/layers/shedder_layer.hpp>

#include <memory>
#include <string>
#include <vector>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

class shedder_layer_test : public world_test {
protected:
  shedder_layer_test() {
    load_default->set(load);
    load->value.cpu = 1;
  }

  // So many calls over a second; how many of them are answered.
  int second(const caf::actor& g, int n, std::int32_t priority = 0,
             const std::string& key = {}) {
    int ok = 0;
    for (int i = 0; i < n; ++i) {
      ok += world.request(g, wrap(i).priority(priority).key(key)).ok() ? 1 : 0;
      world.advance(duration{1s} / n);
    }
    return ok;
  }

  // Until about half of the calls are shed.
  void overload(const caf::actor& g) {
    for (int i = 0; i < 14; ++i)
      second(g, 100);
  }

  std::shared_ptr<set_load> load = std::make_shared<set_load>();
  std::shared_ptr<default_load_source> load_default = default_load_source::of(
    &world.system());
};
CAISSON_ALL_ORDERS(shedder_layer_test);

TEST_P(shedder_layer_test, rejects_what_is_too_much) {
  auto w = make_worker(doubles());
  auto g = gate(w.handle(), stack{}.add<shedder>(by_cpu()));
  EXPECT_EQ(second(g, 100), 100);
  EXPECT_EQ(state_of(g, "shedder"), "shedding");
  overload(g);
  auto passed = second(g, 100);
  EXPECT_GT(passed, 25);
  EXPECT_LT(passed, 65);
  EXPECT_EQ(second(g, 100, 1), 100) << "these are more important";
  auto refused = world.request(g, wrap(1).priority(-5));
  world.advance(1ms);
  ASSERT_TRUE(refused.is(errc::shed));
  auto* context = context_of(refused.error());
  ASSERT_NE(context, nullptr);
  EXPECT_FALSE(context->may_have_executed);
  EXPECT_FALSE(context->from_worker);
  EXPECT_EQ(context->policy, "shedder");
  EXPECT_EQ(context->retry_after, duration{1s});
  EXPECT_EQ(metric_of(g, "shedder", "cpu_permille"), 1'000);
  EXPECT_EQ(metric_of(g, "shedder", "shed_cpu")
              + static_cast<std::int64_t>(w.count()),
            1'701);
  load->value.cpu = 0;
  world.advance(10min);
  EXPECT_EQ(state_of(g, "shedder"), "passing");
}

TEST_P(shedder_layer_test, reads_nothing_in_virtual_time_by_itself) {
  load_default->set(nullptr);
  auto w = make_worker(doubles());
  auto g = gate(w.handle(), stack{}.add<shedder>({.max_cpu = 1e-9}));
  EXPECT_EQ(second(g, 100), 100);
  EXPECT_GT(metric_of(g, "shedder", "unread"), 0);
  EXPECT_EQ(metric_of(g, "shedder", "cpu_permille"), 0);
}

TEST_P(shedder_layer_test, reads_its_own_source_if_it_has_one) {
  load->value.cpu = 0;
  auto own_load = std::make_shared<set_load>();
  own_load->value.cpu = 1;
  auto w = make_worker(doubles());
  auto g = gate(
    w.handle(),
    stack{}.add<shedder>(by_cpu(), std::shared_ptr<load_source>{own_load}));
  second(g, 100);
  EXPECT_EQ(state_of(g, "shedder"), "shedding");
  EXPECT_EQ(load->reads, 0);
  world.advance(10min);
}

TEST_P(shedder_layer_test, survives_a_source_that_throws) {
  load->fails = true;
  auto w = make_worker(doubles());
  auto g = gate(w.handle(), stack{}.add<shedder>(by_cpu()));
  // The call that comes with the first reading is lost.
  auto first = world.request(g, 1);
  world.advance(1ms);
  EXPECT_TRUE(first.is(errc::callback_failed));
  EXPECT_EQ(second(g, 100), 100);
  EXPECT_EQ(metric_of(g, "shedder", "in_flight"), 0);
  EXPECT_GE(metric_of(g, "callbacks_failed"), 4);
}

TEST_P(shedder_layer_test, is_not_undone_by_a_retrier) {
  auto w = make_worker(doubles());
  auto g = gate(w.handle(), stack{}
                              .retrier({.max_attempts = 5,
                                        .backoff = schedule::constant(1ms),
                                        .idempotent = true})
                              .add<shedder>(by_cpu()));
  overload(g);
  EXPECT_GT(metric_of(g, "shedder", "shed_cpu"), 100);
  EXPECT_EQ(metric_of(g, "retrier", "retried"), 0);
}

TEST_P(shedder_layer_test, lets_a_fallback_answer_what_it_rejects) {
  auto w = make_worker(doubles());
  auto g = gate(
    w.handle(),
    stack{}.fallback({alternative::answer(-1)}).add<shedder>(by_cpu()));
  overload(g);
  EXPECT_EQ(second(g, 100), 100);
  EXPECT_LT(w.count(), 1'200u);
}

TEST_P(shedder_layer_test, is_seen_by_a_degradation_further_out) {
  auto w = make_worker(doubles());
  auto g = gate(w.handle(), stack{}.add<degradation>().add<shedder>(by_cpu()));
  overload(g);
  EXPECT_EQ(metric_of(g, "degradation", "failed"),
            metric_of(g, "shedder", "shed_cpu"));
  world.advance(30min);
}

TEST_P(shedder_layer_test, observes_what_it_would_reject) {
  auto w = make_worker(doubles());
  auto c = by_cpu();
  c.mode = mode::observe;
  auto g = gate(w.handle(), stack{}.add<shedder>(c));
  overload(g);
  EXPECT_EQ(w.count(), 1'400u);
  EXPECT_GT(metric_of(g, "shedder", "shed_cpu"), 300);
  EXPECT_EQ(state_of(g, "shedder"), "shedding");
  EXPECT_EQ(metric_of(g, "shedder", "in_flight"), 0);
  // From now on it acts, on what it has seen.
  world.request(g, reconfigure{"shedder", {{"mode", "enforce"}}});
  world.advance(1ms);
  EXPECT_LT(second(g, 100), 70);
  world.request(g, reconfigure{"shedder", {{"mode", "off"}}});
  world.advance(1ms);
  EXPECT_EQ(second(g, 100), 100);
}

TEST_P(shedder_layer_test, changes_its_settings_while_calls_run) {
  auto w = make_worker(doubles());
  auto g = gate(w.handle(), stack{}.add<shedder>(by_cpu()));
  overload(g);
  auto wrong = world.request(g, reconfigure{"shedder", {{"decrease", "1"}}});
  world.advance(1ms);
  EXPECT_TRUE(wrong.is(errc::invalid_config));
  world.request(g, reconfigure{"shedder", {{"minimum", "1000000"}}});
  world.advance(1s);
  EXPECT_EQ(second(g, 100), 100);
  world.request(g, command{operator_command::reset, "shedder"});
  world.advance(1ms);
  EXPECT_EQ(metric_of(g, "shedder", "threshold"), 0);
}

TEST_P(shedder_layer_test, ends_while_it_sheds) {
  auto w = make_worker();
  auto g = gate(w.handle(), stack{}.add<shedder>(by_cpu()));
  for (int i = 0; i < 2'000; ++i) {
    world.request(g, i);
    if (i % 100 == 0)
      world.advance(100ms);
  }
  EXPECT_EQ(state_of(g, "shedder"), "shedding");
  EXPECT_GT(metric_of(g, "shedder", "in_flight"), 1'000);
  stop_gate(g);
  world.advance(1h);
}

TEST_P(shedder_layer_test, works_in_a_local_gate) {
  auto w = make_worker(doubles());
  auto proxy = own(local_proxy::spawn(world.system(), w.handle(),
                                      stack{}.add<shedder>(by_cpu())));
  overload(proxy);
  EXPECT_LT(w.count(), 1'200u);
  world.advance(10min);
}

} // namespace
} // namespace caisson::test
