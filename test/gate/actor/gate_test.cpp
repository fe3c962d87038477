// The gate: a transparent proxy that owes every request exactly one answer.
#include "support/world.hpp"

#include <stdexcept>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

class gate_test : public world_test {};
CAISSON_ALL_ORDERS(gate_test);

TEST_P(gate_test, passes_any_message_and_its_answer) {
  auto w = make_worker(
    [](const caf::message& msg) { return std::optional{msg}; });
  auto g = gate(w.handle(), stack{});
  EXPECT_EQ(world.request(g, 7).value<int>(), 7);
  EXPECT_EQ(world.request(g, std::string{"x"}).value<std::string>(), "x");
  auto several = world.request(g, 1, std::string{"two"}, 3u);
  EXPECT_EQ(several.content().size(), 3u);
  EXPECT_EQ(several.count(), 1u);
}

TEST_P(gate_test, passes_errors_on_unchanged) {
  auto w = make_worker([](const caf::message&) {
    return std::optional{caf::make_message(
      caf::make_error(caf::sec::cannot_open_file, std::string{"why"}))};
  });
  auto g = gate(w.handle(), stack{});
  auto answer = world.request(g, 7);
  EXPECT_EQ(answer.error(), caf::sec::cannot_open_file);
  EXPECT_EQ(answer.error().context().get_as<std::string>(0), "why");
}

TEST_P(gate_test, passes_plain_sends_and_answers_nothing) {
  auto w = make_worker(doubles());
  auto g = gate(w.handle(), stack{});
  world.send(g, 7);
  EXPECT_EQ(w.count(), 1u);
  EXPECT_TRUE(world.user().received().empty());
  EXPECT_EQ(metric_of(g, "plain_sends"), 1);
  EXPECT_EQ(metric_of(g, "succeeded"), 1);
}

TEST_P(gate_test, answers_by_its_default_deadline) {
  auto w = make_worker();
  auto g = gate(w.handle(), stack{}.default_deadline(5s));
  auto answer = world.request(g, 7);
  auto sent = world.now();
  world.advance(5s - 1ns);
  EXPECT_FALSE(answer.ready());
  world.advance(1ns);
  EXPECT_TRUE(answer.is(errc::deadline_exceeded));
  EXPECT_EQ(answer.at() - sent, 5s);
  EXPECT_EQ(context_of(answer.error())->policy, "gate");
  EXPECT_TRUE(context_of(answer.error())->may_have_executed);
  w.answer(1);
  EXPECT_EQ(metric_of(g, "late_results"), 1);
  EXPECT_EQ(answer.count(), 1u);
}

TEST_P(gate_test, an_envelope_is_unwrapped_for_a_plain_worker) {
  auto w = make_worker(doubles());
  auto g = gate(w.handle(), stack{});
  EXPECT_EQ(world.request(g, wrap(21).within(1s)).value<int>(), 42);
}

TEST_P(gate_test, the_callers_deadline_replaces_the_default) {
  auto w = make_worker();
  auto g = gate(w.handle(), stack{}.default_deadline(5s));
  auto shorter = world.request(g, wrap(1).within(1s));
  auto longer = world.request(g, wrap(2).within(9s));
  auto absolute = world.request(g, wrap(3).by(world.now() + 2s));
  world.advance(1s);
  EXPECT_TRUE(shorter.is(errc::deadline_exceeded));
  EXPECT_FALSE(absolute.ready());
  world.advance(1s);
  EXPECT_TRUE(absolute.is(errc::deadline_exceeded));
  world.advance(7s - 1ns);
  EXPECT_FALSE(longer.ready());
  world.advance(1ns);
  EXPECT_TRUE(longer.is(errc::deadline_exceeded));
}

TEST_P(gate_test, an_expired_call_is_refused_before_any_work) {
  auto w = make_worker();
  auto g = gate(w.handle(), stack{});
  world.advance(1s);
  auto answer = world.request(g, wrap(1).by(world.now()));
  EXPECT_TRUE(answer.is(errc::deadline_exceeded));
  EXPECT_FALSE(context_of(answer.error())->may_have_executed);
  EXPECT_EQ(w.count(), 0u);
  EXPECT_EQ(metric_of(g, "expired_on_arrival"), 1);
}

TEST_P(gate_test, the_time_left_shrinks_from_hop_to_hop) {
  // Each hop is a worker that takes envelopes and spends time before it calls
  // the next one with what it was given.
  auto last = make_worker();
  auto third = gate(worker{last.handle()}.takes_calls(), stack{"third"});
  auto middle = make_worker();
  auto second = gate(worker{middle.handle()}.takes_calls(), stack{"second"});
  auto first_worker = make_worker();
  auto first = gate(worker{first_worker.handle()}.takes_calls(),
                    stack{"first"});
  auto left = [&](scripted_worker& w) {
    auto options = w.open_message().options();
    return time_point{duration{options.deadline_ns}} - world.now();
  };
  world.request(first, wrap(1).within(30s));
  EXPECT_EQ(left(first_worker), 30s);
  world.advance(7s);
  world.request(second, first_worker.open_as<call>());
  EXPECT_EQ(left(middle), 23s);
  world.advance(4s);
  world.request(third, middle.open_as<call>());
  EXPECT_EQ(left(last), 19s);
}

TEST_P(gate_test, a_null_or_dead_worker_is_reported_at_once) {
  auto none = gate(worker{caf::actor{}}, stack{});
  auto answer = world.request(none, 1);
  EXPECT_TRUE(answer.is(errc::worker_down));
  EXPECT_FALSE(context_of(answer.error())->may_have_executed);
  auto w = make_worker();
  w.quit();
  auto g = gate(w.handle(), stack{});
  EXPECT_TRUE(world.request(g, 1).is(errc::worker_down));
  EXPECT_EQ(look(g).worker, worker_state::down);
}

TEST_P(gate_test, a_worker_that_dies_with_the_call_is_reported) {
  auto w = make_worker();
  auto g = gate(w.handle(), stack{});
  auto answer = world.request(g, 1);
  w.quit();
  EXPECT_TRUE(answer.is(errc::worker_down));
  EXPECT_EQ(answer.count(), 1u);
  EXPECT_TRUE(context_of(answer.error())->may_have_executed);
  EXPECT_TRUE(world.request(g, 1).is(errc::worker_down));
}

TEST_P(gate_test, a_stopped_gate_answers_held_calls) {
  auto w = make_worker();
  auto g = gate(w.handle(),
                stack{}.semaphore({.permits = 1, .max_waiters = 5}));
  auto flying = world.request(g, 1);
  auto parked = world.request(g, 2);
  stop_gate(g);
  world.run_until_idle();
  EXPECT_TRUE(flying.is(errc::cancelled));
  EXPECT_TRUE(parked.is(errc::cancelled));
  EXPECT_EQ(flying.count() + parked.count(), 2u);
  EXPECT_EQ(world.request(g, 3).error(), caf::sec::request_receiver_down);
}

TEST_P(gate_test, drain_refuses_new_work_and_finishes_the_old) {
  auto w = make_worker();
  auto g = gate(w.handle(), stack{});
  auto old = world.request(g, 1);
  auto drained = world.request(g, drain{});
  EXPECT_FALSE(drained.ready());
  auto refused = world.request(g, 2);
  EXPECT_TRUE(refused.is(errc::draining));
  w.answer(5);
  EXPECT_EQ(old.value<int>(), 5);
  EXPECT_TRUE(drained.ready());
  EXPECT_EQ(drained.content().size(), 0u);
}

TEST_P(gate_test, a_stopped_gate_answers_pending_drains) {
  auto w = make_worker();
  auto g = gate(w.handle(), stack{});
  world.request(g, 1);
  auto drained = world.request(g, drain{});
  stop_gate(g);
  world.run_until_idle();
  EXPECT_EQ(drained.count(), 1u);
  EXPECT_TRUE(drained.ok());
}

TEST_P(gate_test, holds_as_many_calls_as_it_may) {
  auto w = make_worker();
  auto g = gate(w.handle(), stack{gate_config{.max_calls = 2}});
  auto first = world.request(g, 1);
  auto second = world.request(g, 2);
  EXPECT_TRUE(world.request(g, 3).is(errc::shed));
  EXPECT_EQ(metric_of(g, "refused_full"), 1);
  w.answer(1);
  w.answer(2);
  EXPECT_TRUE(first.ok());
  EXPECT_TRUE(second.ok());
  EXPECT_FALSE(world.request(g, 4).ready());
}

TEST_P(gate_test, does_not_take_the_answer_to_an_earlier_attempt) {
  auto w = make_worker();
  auto g = gate(w.handle(), stack{}
                              .retrier({.max_attempts = 2,
                                        .backoff = schedule::constant(1s),
                                        .idempotent = true})
                              .deadline({.timeout = 1s}));
  auto answer = world.request(g, 1);
  world.advance(2s);
  ASSERT_EQ(w.open(), 2u);
  w.answer(1);
  EXPECT_FALSE(answer.ready());
  EXPECT_EQ(metric_of(g, "late_results"), 1);
  w.answer(2);
  EXPECT_EQ(answer.value<int>(), 2);
}

// Answers what it holds 5 s after it was asked to.
class punctual final : public portable::interceptor<cancelled> {
public:
  explicit punctual(caf::actor_config& cfg)
    : portable::interceptor<cancelled>(cfg) {}

protected:
  caf::message_handler control() override {
    return caf::message_handler{[](const cancelled&) {}};
  }
  void on_message(portable::reply_to from, caf::message&&) override {
    if (from.expects_reply())
      held_.push_back(std::move(from));
    else
      set_timer(clock().now() + 5s);
  }
  void on_timer() override {
    for (auto& x : std::exchange(held_, {}))
      x.answer(this, caf::make_message(1));
  }
  void on_answer(std::uint64_t, caf::message&&) override {}
  void on_down(const caf::actor_addr&, const caf::error&) override {}

private:
  std::vector<portable::reply_to> held_;
};

TEST_P(gate_test, an_answer_at_the_deadline_is_late_even_before_the_timer) {
  auto w = own(caf::actor_cast<caf::actor>(world.system().spawn<punctual>()));
  auto g = gate(w, stack{}.default_deadline(5s));
  // Its timer is set before the gate's, and so goes off first.
  world.send(w, 0);
  auto answer = world.request(g, 1);
  world.advance(5s);
  EXPECT_TRUE(answer.is(errc::deadline_exceeded));
  EXPECT_EQ(metric_of(g, "late_results"), 1);
}

TEST_P(gate_test, an_observed_deadline_is_not_seen_further_in) {
  auto w = make_worker(doubles());
  auto g = gate(
    w.handle(),
    stack{}
      .deadline({.mode = mode::observe, .timeout = 1s})
      .limiter({.rate = 1, .per = 2s, .burst = 1, .max_wait = 10s}));
  world.request(g, 1);
  // The limiter would refuse a call whose turn comes after its deadline.
  auto waits = world.request(g, 2);
  EXPECT_FALSE(waits.ready());
  world.advance(2s);
  EXPECT_EQ(waits.value<int>(), 4);
}

TEST_P(gate_test, a_new_setting_lets_a_waiting_call_go_on) {
  auto w = make_worker();
  auto g = gate(w.handle(),
                stack{}.semaphore({.permits = 1, .max_waiters = 5}));
  world.request(g, 1);
  world.request(g, 2);
  EXPECT_EQ(w.open(), 1u);
  world.request(g, reconfigure{"semaphore", {{"permits", "2"}}});
  EXPECT_EQ(w.open(), 2u);
}

TEST_P(gate_test, notifies_a_double_subscriber_once) {
  auto w = make_worker();
  auto g = gate(w.handle(), stack{}.semaphore());
  world.send(g, subscribe{});
  world.send(g, subscribe{});
  world.request(g, command{operator_command::off});
  EXPECT_EQ(world.user().received_as<event>().size(), 1u);
  EXPECT_EQ(metric_of(g, "subscribers"), 1);
}

TEST_P(gate_test, a_status_is_looked_up_by_name) {
  auto w = make_worker(doubles());
  auto g = gate(w.handle(), stack{"shop"}.semaphore({.permits = 7}));
  world.request(g, 1);
  auto s = look(g);
  EXPECT_EQ(s.metric("succeeded"), 1);
  EXPECT_EQ(s.metric("semaphore", "in_use"), 0);
  EXPECT_EQ(s.layer("semaphore").config.at("permits"), "7");
  EXPECT_THROW(static_cast<void>(s.metric("success")), std::out_of_range);
  EXPECT_THROW(static_cast<void>(s.metric("breaker", "x")), std::out_of_range);
  EXPECT_THROW(static_cast<void>(s.metric("semaphore", "x")),
               std::out_of_range);
}

} // namespace
} // namespace caisson::test
