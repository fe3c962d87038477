// Limiters that weigh calls by their content.
#include "support/world.hpp"

#include <caisson/guard.hpp>
#include <caisson/policies.hpp>

#include <stdexcept>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

// [bytes]
std::uint64_t bytes_of(const caf::message& x) {
  auto* text = portable::get_if<std::string>(x);
  return text ? text->size() : 1;
}

stack thousand_bytes_a_second() {
  return stack{}.limiter({.rate = 1000, .per = 1s, .burst = 4000}, bytes_of);
}
// [/bytes]

std::uint64_t unlucky_weight(const caf::message& x) {
  if (portable::holds<int>(x))
    throw std::runtime_error("unlucky");
  return bytes_of(x);
}

class weights_test : public world_test {
protected:
  std::int64_t tokens(const caf::actor& g) {
    return metric_of(g, "limiter", "tokens");
  }

  scripted_worker w = make_worker(scripted_worker::on<std::string>(
    [](const std::string& x) { return static_cast<int>(x.size()); }));
};
CAISSON_ALL_ORDERS(weights_test);

TEST_P(weights_test, a_call_costs_what_the_function_says) {
  auto g = gate(w.handle(), thousand_bytes_a_second());
  EXPECT_TRUE(world.request(g, std::string(3000, 'x')).ok());
  EXPECT_EQ(tokens(g), 1000);
  auto refused = world.request(g, std::string(2500, 'x'));
  EXPECT_TRUE(refused.is(errc::rate_limited));
  EXPECT_EQ(retry_after(refused.error()), 1500ms);
  world.advance(1500ms);
  EXPECT_TRUE(world.request(g, std::string(2500, 'x')).ok());
  // Its permits do not matter here, and it costs no less than one.
  EXPECT_EQ(tokens(g), 0);
  world.advance(4s);
  EXPECT_TRUE(world.request(g, wrap(std::string{}).permits(3000)).ok());
  EXPECT_EQ(tokens(g), 3999);
}

TEST_P(weights_test, a_call_that_is_too_heavy_is_rejected_at_once) {
  auto g = gate(w.handle(), thousand_bytes_a_second());
  auto refused = world.request(g, std::string(4001, 'x'));
  EXPECT_TRUE(refused.is(errc::rate_limited));
  EXPECT_EQ(retry_after(refused.error()), 0s);
  EXPECT_EQ(metric_of(g, "limiter", "too_heavy"), 1);
  auto huge = gate(w.handle(), stack{}.limiter({}, [](const caf::message&) {
    return (std::uint64_t{1} << 32) + 1;
  }));
  EXPECT_TRUE(world.request(huge, std::string{"x"}).is(errc::rate_limited));
  EXPECT_EQ(metric_of(huge, "limiter", "too_heavy"), 1);
}

TEST_P(weights_test, a_function_that_throws_fails_the_call_alone) {
  auto g = gate(w.handle(),
                stack{}.limiter({.rate = 1, .burst = 5}, unlucky_weight));
  auto bad = world.request(g, 7);
  EXPECT_TRUE(bad.is(errc::callback_failed));
  auto* why = context_of(bad.error());
  ASSERT_NE(why, nullptr);
  EXPECT_EQ(why->policy, "limiter");
  EXPECT_EQ(why->text, "weigh: unlucky");
  EXPECT_FALSE(why->may_have_executed);
  EXPECT_EQ(tokens(g), 5);
  EXPECT_EQ(metric_of(g, "callbacks_failed"), 1);
  EXPECT_TRUE(world.request(g, std::string{"1234"}).ok());
  EXPECT_EQ(metric_of(g, "limiter", "passed"), 1);
  EXPECT_EQ(metric_of(g, "limiter", "finished"), 1);
  // Who only watches fails nobody.
  world.request(g, reconfigure{"limiter", {{"mode", "observe"}}});
  EXPECT_FALSE(world.request(g, 7).is(errc::callback_failed));
  EXPECT_EQ(metric_of(g, "callbacks_failed"), 2);
  EXPECT_EQ(metric_of(g, "limiter", "observed_passes"), 1);
  world.request(g, reconfigure{"limiter", {{"mode", "off"}}});
  world.request(g, 7);
  EXPECT_EQ(metric_of(g, "callbacks_failed"), 2);
}

TEST_P(weights_test, other_layers_see_the_permits_of_the_call) {
  auto s = stack{}
             .limiter({.rate = 1, .burst = 100}, bytes_of)
             .semaphore({.permits = 3});
  auto slow = make_worker();
  auto g = gate(slow.handle(), s);
  auto call = world.request(g, wrap(std::string(50, 'x')).permits(2));
  EXPECT_EQ(metric_of(g, "semaphore", "in_use"), 2);
  EXPECT_EQ(tokens(g), 50);
  slow.answer(1);
  EXPECT_TRUE(call.ok());
}

TEST_P(weights_test, a_call_that_waits_keeps_its_weight) {
  auto s = stack{}.limiter({.rate = 10, .burst = 20, .max_wait = 10s},
                           bytes_of);
  auto g = gate(w.handle(), s);
  world.request(g, std::string(20, 'x'));
  auto heavy = world.request(g, std::string(15, 'x'));
  auto light = world.request(g, std::string(1, 'x'));
  world.advance(1500ms - 1ns);
  EXPECT_FALSE(heavy.ready());
  world.advance(1ns);
  EXPECT_TRUE(heavy.ok());
  EXPECT_FALSE(light.ready());
  world.advance(100ms);
  EXPECT_TRUE(light.ok());
}

TEST_P(weights_test, permits_without_content_weigh_what_they_say) {
  auto g = gate(
    worker{},
    stack{}.limiter({.rate = 1000, .per = 1s, .burst = 4000, .max_wait = 1s},
                    bytes_of));
  EXPECT_TRUE(world.request(g, acquire{.permits = 3999}).ok());
  EXPECT_EQ(tokens(g), 1);
  EXPECT_TRUE(world.request(g, acquire{.permits = 2, .time_left = 1ms})
                .is(errc::rate_limited));
  auto later = world.request(g, acquire{.permits = 2, .reserve = true});
  EXPECT_EQ(later.value<permit>().starts_in, 1ms);
}

TEST_P(weights_test, a_batch_is_weighed_as_a_whole) {
  auto weigh = [](const caf::message& x) -> std::uint64_t {
    auto* whole = portable::get_if<batch>(x);
    return whole ? whole->items.size() * 10 : 1000;
  };
  auto s = stack{}
             .batcher({.max_items = 3, .max_delay = 1s})
             .limiter({.rate = 1, .burst = 100}, weigh);
  auto many = make_worker(scripted_worker::on<batch>(
    [](const batch& x) { return batch_reply{x.items}; }));
  auto g = gate(many.handle(), s);
  for (int i = 0; i < 3; ++i)
    world.request(g, i);
  world.run_until_idle();
  EXPECT_EQ(tokens(g), 70);
}

TEST_P(weights_test, each_attempt_of_a_retrier_is_weighed) {
  auto s = stack{}
             .retrier({.max_attempts = 2,
                       .backoff = schedule::constant(10ms),
                       .idempotent = true})
             .limiter({.rate = 1, .per = 1h, .burst = 100}, bytes_of);
  auto failing = make_worker(
    scripted_worker::always(caf::make_error(caf::sec::runtime_error)));
  auto g = gate(failing.handle(), s);
  auto call = world.request(g, std::string(30, 'x'));
  world.advance(1s);
  EXPECT_TRUE(call.ready());
  EXPECT_EQ(tokens(g), 40);
}

TEST_P(weights_test, each_key_has_a_limit_of_its_own) {
  auto s = stack{}.add<keyed<limiter>>({{.rate = 1, .burst = 100}}, bytes_of);
  auto g = gate(w.handle(), s);
  auto ask = [&](const char* key, std::size_t size) {
    return world.request(g, wrap(std::string(size, 'x')).key(key));
  };
  EXPECT_TRUE(ask("ann", 80).ok());
  EXPECT_TRUE(ask("ann", 30).is(errc::rate_limited));
  EXPECT_TRUE(ask("bob", 100).ok());
}

TEST_P(weights_test, a_guard_has_no_content_to_weigh) {
  EXPECT_THROW(guard{thousand_bytes_a_second()}, config_error);
}

} // namespace
} // namespace caisson::test
