// Reports of holders about their work when they release a permit.
#include "support/world.hpp"

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

class release_test : public world_test {
protected:
  caf::actor desk(stack s) { return gate(worker{}, std::move(s)); }

  // Acquires a permit and releases it so.
  void work(const caf::actor& g, release how) {
    auto lent = world.request(g, acquire{});
    ASSERT_TRUE(lent.ok());
    how.id = lent.value<permit>().id;
    ASSERT_TRUE(world.request(g, how).ok());
  }

  static release release_with(release_outcome x) { return {.outcome = x}; }
};
CAISSON_ALL_ORDERS(release_test);

TEST_P(release_test, each_outcome_counts_as_itself) {
  auto g = desk(stack{}.semaphore({.permits = 1}));
  work(g, {});
  work(g, release_with(release_outcome::success));
  work(g, release_with(release_outcome::failure));
  work(g, {.failed = true});
  work(g, release_with(release_outcome::neutral));
  EXPECT_EQ(metric_of(g, "succeeded"), 2);
  EXPECT_EQ(metric_of(g, "failed"), 2);
  EXPECT_EQ(metric_of(g, "released_neutral"), 1);
  EXPECT_EQ(metric_of(g, "cancelled"), 0);
  EXPECT_EQ(metric_of(g, "semaphore", "finished"), 5);
  EXPECT_EQ(metric_of(g, "semaphore", "in_use"), 0);
}

TEST_P(release_test, failed_takes_precedence) {
  auto g = desk(stack{}.semaphore({}));
  work(g, {.failed = true, .outcome = release_outcome::neutral});
  EXPECT_EQ(metric_of(g, "failed"), 1);
}

TEST_P(release_test, an_unknown_outcome_is_neutral) {
  auto g = desk(stack{}.semaphore({}));
  work(g, release_with(static_cast<release_outcome>(77)));
  EXPECT_EQ(metric_of(g, "released_neutral"), 1);
}

TEST_P(release_test, a_breaker_gives_the_probe_of_a_neutral_one_back) {
  auto g = desk(stack{}.breaker(
    {.threshold = 1, .open = schedule::constant(1s), .probes = 1}));
  work(g, release_with(release_outcome::failure));
  EXPECT_EQ(state_of(g, "breaker"), "open");
  world.advance(1s);
  for (int i = 0; i < 3; ++i) {
    work(g, release_with(release_outcome::neutral));
    EXPECT_EQ(state_of(g, "breaker"), "half_open");
  }
  EXPECT_EQ(metric_of(g, "breaker", "probes_returned"), 3);
  work(g, {});
  EXPECT_EQ(state_of(g, "breaker"), "closed");
}

TEST_P(release_test, no_function_of_the_user_judges_a_neutral_one) {
  breaker_config c{.threshold = 1};
  c.classify.by_value = [](const outcome& o) {
    return o.ok ? verdict::success : verdict::failure;
  };
  auto g = desk(stack{}.breaker(c));
  work(g, release_with(release_outcome::neutral));
  EXPECT_EQ(state_of(g, "breaker"), "closed");
  EXPECT_EQ(metric_of(g, "breaker", "neutral"), 1);
  work(g, release_with(release_outcome::failure));
  EXPECT_EQ(state_of(g, "breaker"), "open");
}

TEST_P(release_test, a_limiter_keeps_the_tokens_of_a_neutral_one) {
  auto g = desk(stack{}.limiter({.rate = 1, .burst = 3}));
  for (int i = 0; i < 3; ++i)
    work(g, release_with(release_outcome::neutral));
  EXPECT_TRUE(world.request(g, acquire{}).is(errc::rate_limited));
  EXPECT_EQ(metric_of(g, "limiter", "returned"), 0);
  EXPECT_EQ(metric_of(g, "limiter", "drained"), 0);
}

TEST_P(release_test, a_retrier_lets_a_neutral_one_pass) {
  auto g = desk(stack{}.retrier({.idempotent = true}).semaphore({}));
  work(g, release_with(release_outcome::neutral));
  EXPECT_EQ(metric_of(g, "retrier", "retried"), 0);
  EXPECT_EQ(metric_of(g, "in_progress"), 0);
}

} // namespace
} // namespace caisson::test
