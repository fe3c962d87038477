// Gates in a row, and the arithmetic of retries.
#include "support/world.hpp"

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

class chain_test : public world_test {
protected:
  // `depth` nested gates of `attempts` attempts over a worker that fails.
  std::size_t attempts_at_the_bottom(int depth, std::uint32_t attempts) {
    auto w = make_worker(
      scripted_worker::always(caf::make_error(caf::sec::end_of_stream)));
    caf::actor at = w.handle();
    for (int i = 0; i < depth; ++i)
      at = gate(worker{at}, stack{}.retrier({.max_attempts = attempts,
                                             .backoff = schedule::constant(1ms),
                                             .idempotent = true,
                                             .budget = false}));
    auto answer = world.request(at, 1);
    world.advance(20s);
    EXPECT_EQ(answer.error(), caf::sec::end_of_stream);
    EXPECT_EQ(answer.count(), 1u);
    return w.count();
  }
};
CAISSON_ALL_ORDERS(chain_test);

TEST_P(chain_test, three_gates_of_four_attempts_make_sixty_four) {
  EXPECT_EQ(attempts_at_the_bottom(3, 4), 64u);
}

TEST_P(chain_test, five_gates_of_three_attempts_make_243) {
  EXPECT_EQ(attempts_at_the_bottom(5, 3), 243u);
}

TEST_P(chain_test, options_travel_through_chained_gates) {
  auto w = make_worker();
  auto last = gate(worker{w.handle()}.takes_calls(), stack{"last"});
  auto middle = gate(worker{last}, stack{"middle"});
  auto first = gate(worker{middle}, stack{"first"});
  world.request(
    first,
    wrap(1).within(10s).priority(3).permits(2).key("tenant").idempotent());
  ASSERT_EQ(w.open(), 1u);
  auto o = w.open_message().options();
  EXPECT_EQ(o.deadline_ns, (world.now() + 10s).time_since_epoch().count());
  EXPECT_EQ(o.priority, 3);
  EXPECT_EQ(o.permits, 2u);
  EXPECT_EQ(o.key, "tenant");
  EXPECT_EQ(o.idempotent, idempotence::yes);
  EXPECT_EQ(o.attempt, 1u);
}

TEST_P(chain_test, the_attempt_counts_across_gates) {
  auto w = make_worker();
  auto inner = gate(worker{w.handle()}.takes_calls(), stack{"inner"});
  auto outer = gate(worker{inner}, stack{}.retrier({
                                     .backoff = schedule::constant(1s),
                                     .idempotent = true,
                                   }));
  world.request(outer, 1);
  w.fail(caf::make_error(caf::sec::end_of_stream));
  world.advance(1s);
  ASSERT_EQ(w.open(), 1u);
  EXPECT_EQ(w.open_message().options().attempt, 2u);
}

TEST_P(chain_test, an_inner_rejection_reports_who_and_when) {
  auto w = make_worker(
    scripted_worker::always(caf::make_error(caf::sec::end_of_stream)));
  auto inner = gate(
    w.handle(),
    stack{"db"}.breaker(
      {.name = "db breaker", .threshold = 1, .open = schedule::constant(4s)}));
  auto outer = gate(worker{inner}, stack{"front"});
  world.request(outer, 1);
  auto refused = world.request(outer, 1);
  ASSERT_TRUE(refused.is(errc::breaker_open));
  EXPECT_EQ(context_of(refused.error())->policy, "db breaker");
  EXPECT_EQ(retry_after(refused.error()), 4s);
  EXPECT_FALSE(context_of(refused.error())->may_have_executed);
}

TEST_P(chain_test, a_retrier_does_not_come_back_before_it_may) {
  auto w = make_worker();
  auto inner = gate(w.handle(), stack{}.breaker({
                                  .threshold = 1,
                                  .open = schedule::constant(4s),
                                }));
  auto outer = gate(worker{inner}, stack{}.retrier({
                                     .max_attempts = 3,
                                     .backoff = schedule::constant(10ms),
                                     .idempotent = true,
                                   }));
  auto answer = world.request(outer, 1);
  w.fail(caf::make_error(caf::sec::end_of_stream));
  world.advance(10ms); // second attempt: refused, come back in 3.99 s
  EXPECT_EQ(w.count(), 1u);
  world.advance(3990ms - 1ns);
  EXPECT_EQ(w.count(), 1u);
  world.advance(1ns);
  EXPECT_EQ(w.count(), 2u);
  w.answer(1);
  EXPECT_TRUE(answer.ok());
}

TEST_P(chain_test, cancelling_an_outer_call_frees_the_inner_gate) {
  auto w = make_worker();
  auto inner = gate(w.handle(), stack{}.semaphore({.permits = 1}));
  auto outer = gate(worker{inner}, stack{}.deadline({.timeout = 1s}));
  auto a = world.request(outer, 1);
  world.advance(1s);
  EXPECT_TRUE(a.is(errc::deadline_exceeded));
  // The inner gate had the same deadline.
  EXPECT_EQ(metric_of(inner, "semaphore", "in_use"), 0);
}

TEST_P(chain_test, a_call_given_up_by_its_caller_is_taken_back_everywhere) {
  auto w = make_worker();
  auto inner = gate(w.handle(),
                    stack{}.semaphore({.permits = 1, .max_waiters = 5}));
  auto outer = gate(worker{inner}, stack{"outer"});
  auto other = world.make_probe();
  auto first = other.request(outer, 1);
  auto second = other.request(outer, 2);
  world.run_until_idle();
  EXPECT_EQ(metric_of(inner, "semaphore", "waiting"), 1);
  stop_gate(outer);
  world.run_until_idle();
  EXPECT_EQ(metric_of(inner, "semaphore", "waiting"), 0);
  EXPECT_EQ(metric_of(inner, "semaphore", "in_use"), 0);
  EXPECT_EQ(metric_of(inner, "in_progress"), 0);
  EXPECT_EQ(first.count() + second.count(), 2u);
}

TEST_P(chain_test, a_worker_can_be_notified_of_the_end) {
  auto w = make_worker();
  auto g = gate(worker{w.handle()}.takes_cancelled(),
                stack{}.deadline({.timeout = 1s}));
  world.request(g, 1);
  EXPECT_FALSE(w.open_message().cancelled);
  world.advance(1s);
  EXPECT_EQ(w.cancelled_count(), 1u);
  EXPECT_TRUE(w.open_message().cancelled);
}

TEST(retry_arithmetic, half_fails_three_attempts) {
  virtual_time world{17};
  random_source coin{4711};
  std::int64_t attempts = 0;
  scripted_worker w{
    world, [&](const caf::message&) {
      ++attempts;
      return std::optional{
        coin.uniform() < 0.5
          ? caf::make_message(1)
          : caf::make_message(caf::make_error(caf::sec::end_of_stream))};
    }};
  auto g = spawn_gate(world, w.handle(),
                      stack{}.retrier({.max_attempts = 3,
                                       .backoff = schedule::constant(0s),
                                       .idempotent = true,
                                       .budget = false}));
  constexpr int n = 100'000;
  int ok = 0;
  for (int i = 0; i < n; ++i)
    ok += world.request(g, 1).ok() ? 1 : 0;
  EXPECT_NEAR(static_cast<double>(attempts) / n, 1.75, 0.0175);
  EXPECT_NEAR(static_cast<double>(ok) / n, 0.875, 0.00875);
  world.kill(g);
  world.kill(w.handle());
}

} // namespace
} // namespace caisson::test
