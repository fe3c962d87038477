// Dead letters of gates and local gates, and what can be done with them.
#include <support/both_hosts.hpp>

#include <caisson/local_gate.hpp>

#include <algorithm>
#include <memory>
#include <vector>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

class dead_letters_test : public both_hosts {
protected:
  /// What has arrived so far, as numbers; other content is -1.
  static std::vector<int> contents_of(const std::vector<dead_letter>& all) {
    std::vector<int> out;
    for (const auto& x : all) {
      auto* n = portable::get_if<int>(x.content);
      out.push_back(n ? *n : -1);
    }
    return out;
  }

  std::vector<int> contents() {
    return contents_of(world.user().received_as<dead_letter>());
  }

  static scripted_worker::script fails() {
    return [](const caf::message&) {
      return caf::make_message(caf::make_error(caf::sec::runtime_error));
    };
  }
};
CAISSON_BOTH_HOSTS(dead_letters_test, 8);

TEST_P(dead_letters_test, arrive_after_the_last_attempt) {
  auto w = make_worker(fails());
  auto g = host(worker{w.handle()}.dead_letters_to(world.user().handle(),
                                                   dead_letter_calls::all),
                stack{"payments"}.retrier({.max_attempts = 3,
                                           .backoff = schedule::constant(10ms),
                                           .idempotent = true}));
  auto answer = world.request(g, 7);
  EXPECT_EQ(contents(), std::vector<int>{});
  world.advance(1s);
  EXPECT_TRUE(answer.error() == caf::sec::runtime_error);
  ASSERT_EQ(contents(), std::vector<int>{7});
  auto x = world.user().received_as<dead_letter>().front();
  EXPECT_EQ(x.gate, "payments");
  EXPECT_EQ(x.attempts, 3u);
  EXPECT_EQ(x.age, 20ms);
  EXPECT_TRUE(x.may_have_executed);
  EXPECT_TRUE(x.answered);
  EXPECT_EQ(outcome_of(x.answer).ok, false);
  EXPECT_EQ(metric_of(g, "dead_letters"), 1);
}

TEST_P(dead_letters_test, can_be_sent_again) {
  auto healthy = false;
  auto w = make_worker([&](const caf::message& x) {
    return healthy
             ? x
             : caf::make_message(caf::make_error(caf::sec::runtime_error));
  });
  auto g = host(worker{w.handle()}.dead_letters_to(world.user().handle(),
                                                   dead_letter_calls::all),
                stack{}.limiter({}));
  world.request(g, wrap(7).key("k").within(1s));
  ASSERT_EQ(contents(), std::vector<int>{7});
  healthy = true;
  world.advance(1min);
  auto x = world.user().received_as<dead_letter>().front();
  EXPECT_EQ(x.options.key, "k");
  EXPECT_EQ(world.request(g, call{x.content, x.options}).value<int>(), 7);
  EXPECT_EQ(contents().size(), 1u);
}

TEST_P(dead_letters_test, have_all_items_of_a_batch_that_fails) {
  auto w = make_worker(fails());
  auto g = host(worker{w.handle()}.dead_letters_to(world.user().handle(),
                                                   dead_letter_calls::all),
                stack{}.batcher({.max_items = 3}));
  for (int i = 1; i <= 3; ++i)
    world.request(g, i);
  auto found = contents();
  std::sort(found.begin(), found.end());
  EXPECT_EQ(found, (std::vector<int>{1, 2, 3}));
}

TEST_P(dead_letters_test, have_nothing_that_an_alternative_has_answered) {
  auto w = make_worker(fails());
  auto other = make_worker(doubles());
  auto g = host(worker{w.handle()}.dead_letters_to(world.user().handle(),
                                                   dead_letter_calls::all),
                stack{}.fallback({alternative::ask(other.handle())}));
  EXPECT_EQ(world.request(g, 4).value<int>(), 8);
  EXPECT_EQ(contents(), std::vector<int>{});
}

TEST_P(dead_letters_test, do_not_need_a_receiver_that_lives) {
  auto w = make_worker(fails());
  auto gone = make_worker();
  world.kill(gone.handle());
  auto g = host(
    worker{w.handle()}.dead_letters_to(gone.handle(), dead_letter_calls::all),
    stack{}.limiter({}));
  EXPECT_FALSE(world.request(g, 1).ok());
  EXPECT_EQ(metric_of(g, "dead_letters"), 1);
}

// -- of gates alone -----------------------------------------------------------

class dead_sends_test : public world_test {};
CAISSON_ALL_ORDERS(dead_sends_test);

TEST_P(dead_sends_test, are_of_plain_sends_by_default) {
  auto w = make_worker([](const caf::message&) {
    return caf::make_message(caf::make_error(caf::sec::runtime_error));
  });
  auto g = gate(worker{w.handle()}.dead_letters_to(world.user().handle()),
                stack{}.limiter({.burst = 2}));
  world.send(g, 1);
  world.request(g, 2);
  world.send(g, 3);
  auto letters = world.user().received_as<dead_letter>();
  ASSERT_EQ(letters.size(), 2u);
  EXPECT_TRUE(letters[0].may_have_executed);
  EXPECT_FALSE(letters[1].answered);
  EXPECT_TRUE(outcome_of(letters[1].answer).is(errc::rate_limited));
  EXPECT_EQ(letters[1].attempts, 0u);
}

TEST_P(dead_sends_test, are_sends_left_in_a_gate_that_stops) {
  auto w = make_worker();
  auto g = gate(worker{w.handle()}.dead_letters_to(world.user().handle()),
                stack{}.semaphore({.permits = 1, .max_waiters = 5}));
  for (int i = 1; i <= 3; ++i)
    world.send(g, i);
  stop_gate(g);
  world.run_until_idle();
  auto letters = world.user().received_as<dead_letter>();
  ASSERT_EQ(letters.size(), 3u);
  EXPECT_EQ(std::count_if(letters.begin(), letters.end(),
                          [](const auto& x) { return x.may_have_executed; }),
            1);
}

// It waits for nothing, so that its end takes nothing back.
TEST_P(dead_sends_test, are_sends_of_senders_that_have_ended) {
  auto w = make_worker();
  auto g = gate(worker{w.handle()}.dead_letters_to(world.user().handle()),
                stack{}.semaphore({.permits = 1, .max_waiters = 5}));
  world.request(g, 1);
  auto sender = world.system().spawn(
    [g](caf::event_based_actor* self) { portable::send(self, g, 2); });
  world.run_until_idle();
  EXPECT_TRUE(portable::is_down(sender));
  auto letters = world.user().received_as<dead_letter>();
  ASSERT_EQ(letters.size(), 1u);
  EXPECT_EQ(letters[0].attempts, 0u);
  EXPECT_TRUE(outcome_of(letters[0].answer).is(errc::cancelled));
}

TEST(dead_letters_of_local_gates, are_of_requests_only) {
  virtual_time world;
  auto gone = std::make_shared<bool>(false);
  auto self = world.system().spawn([&](caf::event_based_actor* actor) {
    EXPECT_THROW(local_gate<>(actor,
                              worker{world.user().handle()}.dead_letters_to(
                                world.user().handle()),
                              stack{}.limiter({})),
                 config_error);
    *gone = true;
  });
  world.run_until_idle();
  EXPECT_TRUE(*gone);
}

// What the receiver returns is no call of the gate.
TEST_P(dead_sends_test, may_be_answered_by_their_receiver) {
  auto w = make_worker([](const caf::message&) {
    return caf::make_message(caf::make_error(caf::sec::runtime_error));
  });
  auto reader = make_worker(
    scripted_worker::on<dead_letter>([](const dead_letter&) { return 5; }));
  auto g = gate(worker{w.handle()}.dead_letters_to(reader.handle()),
                stack{}.limiter({}));
  world.send(g, 1);
  EXPECT_EQ(metric_of(g, "calls"), 1);
}

} // namespace
} // namespace caisson::test
