// Throttles in gates, and what the layers around them make of them.
#include "support/local_proxy.hpp"
#include "support/stack_texts.hpp"
#include "support/world.hpp"

#include <caisson/policies.hpp>
#include <caisson/policies/throttle.hpp>

#include <string>
#include <vector>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

class throttle_layer_test : public world_test {
protected:
  // Once calls are refused, next to none passes, and none is promised.
  static throttle_config strict() {
    throttle_config c;
    c.max_rejection = 0.999;
    c.min_rate = 0;
    c.pass_after = unlimited;
    return c;
  }

  // A worker that refuses all calls as long as `busy`, with an error that is
  // worth a retry.
  scripted_worker service() {
    return make_worker([this](const caf::message& m) {
      return busy ? caf::make_message(make_error(errc::queue_full)) : m;
    });
  }

  // So many at once; how many of them the worker gets.
  std::size_t send(const caf::actor& g, const scripted_worker& w, int n,
                   const std::string& key = {}) {
    auto before = w.count();
    for (int i = 0; i < n; ++i)
      world.request(g, wrap(i).key(key));
    world.advance(1ms);
    return w.count() - before;
  }

  bool busy = false;
};
CAISSON_ALL_ORDERS(throttle_layer_test);

TEST_P(throttle_layer_test, spares_the_worker_what_it_would_refuse) {
  auto w = service();
  auto g = gate(w.handle(), stack{}.add<throttle>(strict()));
  EXPECT_EQ(send(g, w, 10), 10u);
  busy = true;
  auto sent = send(g, w, 2'000);
  // Of the n-th call after these the share of 21 / (n + 1).
  EXPECT_GT(sent, 60u);
  EXPECT_LT(sent, 150u);
  auto refused = world.request(g, 1);
  world.advance(1ms);
  ASSERT_TRUE(refused.is(errc::throttled));
  auto* context = context_of(refused.error());
  ASSERT_NE(context, nullptr);
  EXPECT_FALSE(context->may_have_executed);
  EXPECT_FALSE(context->from_worker);
  EXPECT_EQ(context->policy, "throttle");
  EXPECT_EQ(context->retry_after, duration::zero());
  EXPECT_EQ(state_of(g, "throttle"), "throttling");
  EXPECT_EQ(metric_of(g, "throttle", "requests"), 2'011);
  EXPECT_EQ(metric_of(g, "throttle", "accepts"), 10);
  EXPECT_EQ(metric_of(g, "throttle", "rejection_permille"), 989);
  world.advance(5s);
  EXPECT_EQ(state_of(g, "throttle"), "passing");
}

TEST_P(throttle_layer_test, does_the_same_again_with_the_same_seed) {
  std::vector<std::size_t> sent;
  for (auto seed : {1u, 1u, 2u}) {
    busy = true;
    auto w = service();
    auto c = strict();
    c.max_rejection = 0.5;
    auto g = gate(w.handle(), stack{}.seed(seed).add<throttle>(c));
    sent.push_back(send(g, w, 1'000));
  }
  EXPECT_EQ(sent[0], sent[1]);
  EXPECT_NE(sent[0], sent[2]);
}

TEST_P(throttle_layer_test, is_not_undone_by_a_retrier) {
  auto w = service();
  auto g = gate(w.handle(), stack{}
                              .retrier({.max_attempts = 5,
                                        .backoff = schedule::constant(10ms),
                                        .idempotent = true})
                              .add<throttle>(strict()));
  busy = true;
  send(g, w, 1'000);
  world.advance(10s);
  // It repeats what the worker has refused, but for some beyond its budget.
  auto rejected = metric_of(g, "throttle", "rejected");
  EXPECT_GT(rejected, 900);
  EXPECT_EQ(metric_of(g, "retrier", "not_retryable"), rejected);
  EXPECT_GT(metric_of(g, "retrier", "retried"), 0);
}

TEST_P(throttle_layer_test, lets_a_fallback_answer_what_it_rejects) {
  auto w = service();
  auto g = gate(
    w.handle(),
    stack{}.fallback({alternative::answer(-1)}).add<throttle>(strict()));
  busy = true;
  send(g, w, 1'000);
  EXPECT_EQ(world.request(g, 1).value<int>(), -1);
}

TEST_P(throttle_layer_test, keeps_hosts_apart) {
  auto w = make_worker([](const caf::message& m) {
    return m.get_as<int>(0) < 1'000 ? caf::make_message(make_error(errc::shed))
                                    : m;
  });
  auto g = gate(w.handle(),
                stack{}.add<keyed<throttle>>({throttle_config{strict()}}));
  EXPECT_LT(send(g, w, 500, "a"), 100u);
  // The other host has not refused anything.
  for (int i = 0; i < 50; ++i)
    EXPECT_TRUE(world.request(g, wrap(1'000 + i).key("b")).ok());
  EXPECT_EQ(metric_of(g, "throttle", "accepts"), 50);
}

TEST_P(throttle_layer_test, observes_what_it_would_reject) {
  auto w = service();
  auto c = strict();
  c.mode = mode::observe;
  auto g = gate(w.handle(), stack{}.add<throttle>(c));
  busy = true;
  EXPECT_EQ(send(g, w, 1'000), 1'000u);
  EXPECT_GT(metric_of(g, "throttle", "rejected"), 900);
  EXPECT_EQ(state_of(g, "throttle"), "throttling");
  // From now on it acts, on what it has seen.
  world.request(g, reconfigure{"throttle", {{"mode", "enforce"}}});
  world.advance(1ms);
  EXPECT_LT(send(g, w, 1'000), 20u);
  world.request(g, reconfigure{"throttle", {{"mode", "off"}}});
  world.advance(1ms);
  EXPECT_EQ(send(g, w, 1'000), 1'000u);
}

TEST_P(throttle_layer_test, keeps_its_counts_when_settings_change) {
  auto w = service();
  auto g = gate(w.handle(), stack{}.add<throttle>(strict()));
  busy = true;
  send(g, w, 1'000);
  world.request(g, reconfigure{"throttle", {{"multiplier", "3"}}});
  world.advance(1ms);
  EXPECT_EQ(metric_of(g, "throttle", "requests"), 1'000);
  auto wrong = world.request(g,
                             reconfigure{"throttle", {{"max_rejection", "1"}}});
  world.advance(1ms);
  EXPECT_TRUE(wrong.is(errc::invalid_config));
  world.request(g, reconfigure{"throttle", {{"min_rate", "1000000"}}});
  world.advance(1s);
  EXPECT_EQ(send(g, w, 1'000), 1'000u);
  world.request(g, command{operator_command::reset, "throttle"});
  world.advance(1ms);
  EXPECT_EQ(metric_of(g, "throttle", "requests"), 0);
}

TEST_P(throttle_layer_test, counts_calls_that_were_too_slow) {
  auto w = make_worker();
  auto g = gate(w.handle(),
                stack{}.deadline({.timeout = 1s}).add<throttle>(strict()));
  for (int i = 0; i < 200; ++i)
    world.request(g, i);
  world.advance(2s);
  EXPECT_EQ(w.count(), 200u);
  EXPECT_EQ(metric_of(g, "throttle", "not_accepted"), 200);
  EXPECT_EQ(metric_of(g, "throttle", "abandoned"), 200);
  EXPECT_LT(send(g, w, 200), 20u);
  world.advance(2s);
}

TEST_P(throttle_layer_test, works_in_a_local_gate) {
  auto w = service();
  auto proxy = own(local_proxy::spawn(world.system(), w.handle(),
                                      stack{}.add<throttle>(strict())));
  busy = true;
  send(proxy, w, 1'000);
  EXPECT_LT(w.count(), 60u);
}

} // namespace
} // namespace caisson::test
