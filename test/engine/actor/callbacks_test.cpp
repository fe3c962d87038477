// Functions of the user's that throw: the call or the batch that is processed
// fails, the host and all other calls live on.
#include "support/both_hosts.hpp"

#include <stdexcept>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

class callbacks_test : public both_hosts {
protected:
  // A call that a function failed, in the name of the layer.
  static void expect_failed(const pending_answer& a, std::string_view layer,
                            std::string_view text, bool may_have_executed) {
    ASSERT_TRUE(a.is(errc::callback_failed)) << to_string(a.content());
    EXPECT_EQ(a.count(), 1u);
    auto* context = context_of(a.error());
    EXPECT_EQ(context->policy, layer);
    EXPECT_EQ(context->text, text);
    EXPECT_EQ(context->may_have_executed, may_have_executed);
  }
};
CAISSON_BOTH_HOSTS(callbacks_test, 8);

struct odd_exception {};

TEST_P(callbacks_test, a_prefilter_fails_the_current_call) {
  auto w = make_worker(
    [](const caf::message&) { return caf::make_message(5); });
  batching forms;
  forms.prefilter = [](const caf::message& msg) -> std::optional<caf::message> {
    if (*portable::get_if<int>(msg) == 13)
      throw std::runtime_error{"unlucky"};
    return std::nullopt;
  };
  auto g = host(w.handle(), stack{}.batcher({.max_items = 2}, forms));
  auto a = world.request(g, 1);
  auto bad = world.request(g, 13);
  auto b = world.request(g, 2);
  expect_failed(bad, "batcher", "prefilter: unlucky", false);
  EXPECT_EQ(a.value<int>(), 5);
  EXPECT_EQ(b.value<int>(), 5);
  EXPECT_EQ(metric_of(g, "callbacks_failed"), 1);
}

TEST_P(callbacks_test, a_weight_fails_the_current_call) {
  auto w = make_worker(
    [](const caf::message&) { return caf::make_message(5); });
  batching forms;
  forms.weigh = [](const caf::message& msg) -> std::uint64_t {
    if (*portable::get_if<int>(msg) == 13)
      throw std::runtime_error{"unlucky"};
    return 2;
  };
  auto g = host(w.handle(), stack{}.batcher({.max_weight = 4}, forms));
  auto a = world.request(g, 1);
  auto bad = world.request(g, 13);
  auto b = world.request(g, 2);
  expect_failed(bad, "batcher", "weigh: unlucky", false);
  EXPECT_EQ(a.value<int>(), 5);
  EXPECT_EQ(b.value<int>(), 5);
  EXPECT_EQ(metric_of(g, "callbacks_failed"), 1);
  EXPECT_EQ(metric_of(g, "batcher", "items"), 2);
}

TEST_P(callbacks_test, a_weight_that_fails_is_no_obstacle_when_observed) {
  auto w = make_worker(doubles());
  batching forms;
  forms.weigh = [](const caf::message&) -> std::uint64_t {
    throw odd_exception{};
  };
  auto g = host(w.handle(), stack{}.batcher({.mode = mode::observe}, forms));
  EXPECT_EQ(world.request(g, 4).value<int>(), 8);
  EXPECT_EQ(metric_of(g, "callbacks_failed"), 1);
}

TEST_P(callbacks_test, assemble_fails_its_batch) {
  auto w = make_worker(
    [](const caf::message&) { return caf::make_message(5); });
  auto broken = true;
  batching forms;
  forms.assemble = [&](std::vector<caf::message> items) {
    if (broken)
      throw odd_exception{};
    return caf::make_message(static_cast<int>(items.size()));
  };
  auto g = host(w.handle(), stack{}.batcher({.max_items = 2}, forms));
  auto user = world.make_probe();
  user.send(g, subscribe{});
  auto a = world.request(g, 1);
  auto b = world.request(g, 2);
  expect_failed(a, "batcher", "assemble: unknown exception", false);
  expect_failed(b, "batcher", "assemble: unknown exception", false);
  EXPECT_EQ(metric_of(g, "batcher", "outstanding"), 0);
  broken = false;
  auto c = world.request(g, 3);
  auto d = world.request(g, 4);
  EXPECT_EQ(c.value<int>(), 5);
  EXPECT_EQ(d.value<int>(), 5);
  auto reports = 0;
  for (const auto& x : user.received_as<event>())
    if (x.kind == event_kind::callback_failed) {
      ++reports;
      EXPECT_EQ(x.layer, "batcher");
      EXPECT_EQ(x.detail, "assemble: unknown exception");
    }
  EXPECT_EQ(reports, 1);
}

TEST_P(callbacks_test, assemble_fails_when_the_timer_flushes) {
  auto w = make_worker(
    [](const caf::message&) { return caf::make_message(5); });
  batching forms;
  forms.assemble = [](std::vector<caf::message>) -> caf::message {
    throw std::runtime_error{"no"};
  };
  auto g = host(w.handle(), stack{}.batcher({.max_delay = 10ms}, forms));
  auto late = world.request(g, 1);
  // The flush is overdue when this one comes.
  world.advance(10ms);
  auto next = world.request(g, 2);
  expect_failed(late, "batcher", "assemble: no", false);
  world.advance(10ms);
  expect_failed(next, "batcher", "assemble: no", false);
}

TEST_P(callbacks_test, split_fails_its_batch) {
  auto w = make_worker(
    [](const caf::message&) { return caf::make_message(5); });
  batching forms;
  forms.split = [](caf::message, std::size_t n) -> std::vector<caf::message> {
    throw std::runtime_error{"cannot split " + std::to_string(n)};
  };
  auto g = host(w.handle(), stack{}.batcher({.max_items = 2}, forms));
  auto a = world.request(g, 1);
  auto b = world.request(g, 2);
  expect_failed(a, "batcher", "split: cannot split 2", true);
  expect_failed(b, "batcher", "split: cannot split 2", true);
  EXPECT_EQ(metric_of(g, "batcher", "outstanding"), 0);
}

TEST_P(callbacks_test, a_classifier_fails_the_call_and_lends_nothing_out) {
  for (auto kind : {"retrier", "breaker", "fallback"}) {
    auto w = make_worker([](const caf::message& msg) {
      return *portable::get_if<int>(msg) == 13
               ? caf::make_message(caf::make_error(caf::sec::runtime_error))
               : msg;
    });
    classifier c;
    c.by_value = [](const outcome& o) -> verdict {
      if (!o.ok)
        throw std::runtime_error{"what is this?"};
      return verdict::success;
    };
    stack s;
    s.semaphore({.permits = 1});
    if (kind == std::string{"retrier"})
      s.retrier({.idempotent = true, .classify = c});
    else if (kind == std::string{"breaker"})
      s.breaker({.threshold = 1, .classify = c});
    else
      s.fallback({alternative::answer(7)}, {.classify = c});
    auto g = host(w.handle(), s);
    expect_failed(world.request(g, 13), kind, "by_value: what is this?", true);
    EXPECT_EQ(world.request(g, 1).value<int>(), 1) << kind;
    EXPECT_EQ(metric_of(g, "semaphore", "in_use"), 0) << kind;
  }
}

TEST_P(callbacks_test, a_classifier_that_only_observes_fails_nothing) {
  auto w = make_worker(
    [](const caf::message&) { return caf::make_message(5); });
  classifier c;
  c.by_value = [](const outcome&) -> verdict { throw odd_exception{}; };
  auto g = host(w.handle(),
                stack{}.retrier({.mode = mode::observe, .classify = c}));
  EXPECT_EQ(world.request(g, 1).value<int>(), 5);
  EXPECT_EQ(metric_of(g, "callbacks_failed"), 1);
}

TEST_P(callbacks_test, a_classifier_may_throw_about_calls_that_are_cut_off) {
  auto w = make_worker();
  classifier c;
  c.by_value = [](const outcome&) -> verdict { throw odd_exception{}; };
  auto g = host(w.handle(),
                stack{}.semaphore({.permits = 1}).breaker({.classify = c}));
  auto a = world.request(g, wrap(1).within(1s));
  world.advance(1s);
  EXPECT_TRUE(a.is(errc::deadline_exceeded));
  EXPECT_EQ(metric_of(g, "semaphore", "in_use"), 0);
  EXPECT_EQ(metric_of(g, "callbacks_failed"), 1);
}

TEST_P(callbacks_test, a_schedule_fails_the_call_that_would_be_retried) {
  auto w = make_worker([](const caf::message&) {
    return caf::make_message(caf::make_error(caf::sec::runtime_error));
  });
  auto g = host(w.handle(), stack{}.retrier(
                              {.backoff = schedule::custom(
                                 [](std::uint32_t) -> std::optional<duration> {
                                   throw std::runtime_error{"no delay"};
                                 }),
                               .idempotent = true}));
  expect_failed(world.request(g, 1), "retrier", "schedule: no delay", true);
  EXPECT_EQ(w.count(), 1u);
}

TEST_P(callbacks_test, a_schedule_of_restarts_leaves_the_host_alive) {
  auto w = make_worker(doubles());
  auto g = host(worker::supervised(
                  w.factory(), {.restart = schedule::custom(
                                  [](std::uint32_t) -> std::optional<duration> {
                                    throw std::runtime_error{"no delay"};
                                  })}),
                stack{});
  w.quit();
  world.advance(1s);
  // A local gate without calls sees only now that it is gone.
  auto answer = world.request(g, 2);
  world.advance(1s);
  EXPECT_EQ(answer.value<int>(), 4);
  EXPECT_EQ(w.incarnations(), 2u);
  EXPECT_EQ(metric_of(g, "callbacks_failed"), 1);
}

} // namespace
} // namespace caisson::test
