// Requests to gates from threads that are no actors.
#include <caisson/errors.hpp>
#include <caisson/gate.hpp>
#include <caisson/request.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

class request_test : public testing::Test {
protected:
  using promise = caf::typed_response_promise<int>;

  request_test() : sys(cfg) {
    echo = sys.spawn([]() -> caf::behavior {
      return {[](int x) -> caf::result<int> {
                if (x < 0)
                  return make_error(errc::shed, rejection{"worker", 3s});
                return x;
              },
              [](const std::string&) {}};
    });
    // Keeps what it is asked.
    mute = sys.spawn([](caf::event_based_actor* self) -> caf::behavior {
      auto kept = std::make_shared<std::vector<promise>>();
      return {[self, kept](int) {
        return kept->emplace_back(self->make_response_promise<int>());
      }};
    });
  }

  ~request_test() override {
    for (const auto& x : {echo, mute})
      caf::anon_send_exit(x, caf::exit_reason::kill);
  }

  caf::actor gate_of(const caf::actor& behind, const stack& s = stack{"desk"}) {
    return gates.emplace_back(spawn_gate(sys, worker{behind}, s));
  }

  void TearDown() override {
    for (const auto& x : gates)
      stop_gate(x);
  }

  system_config cfg;
  caf::actor_system sys;
  caf::actor echo, mute;
  std::vector<caf::actor> gates;
};

TEST_F(request_test, gets_a_value_of_the_expected_type) {
  auto gate = gate_of(echo);
  auto r = request_blocking<int>(sys, gate, 5s, 7);
  ASSERT_TRUE(r.ok()) << r.text();
  EXPECT_EQ(*r, 7);
  EXPECT_TRUE(request_blocking<void>(sys, gate, 5s, std::string{"x"}).ok());
  auto any = request_blocking<caf::message>(sys, gate, 5s, wrap(8).key("k"));
  ASSERT_TRUE(any.ok()) << any.text();
  EXPECT_EQ(any->get_as<int>(0), 8);
}

TEST_F(request_test, says_why_there_is_none) {
  auto gate = gate_of(echo);
  auto r = request_blocking<int>(sys, gate, 5s, -1);
  EXPECT_FALSE(r.ok());
  EXPECT_TRUE(r.error() == errc::shed);
  EXPECT_EQ(r.retry_after(), 3s);
  EXPECT_TRUE(r.may_have_executed());
  auto other = request_blocking<std::string>(sys, gate, 5s, 1);
  EXPECT_TRUE(other.error() == caf::sec::unexpected_response);
  EXPECT_TRUE(other.may_have_executed());
  EXPECT_FALSE(request_blocking<void>(sys, gate, 5s, 1).ok());
}

TEST_F(request_test, says_that_nothing_was_done_if_a_policy_rejects) {
  auto gate = gate_of(
    echo, stack{"desk"}.limiter({.rate = 1, .per = 1h, .burst = 1}));
  EXPECT_TRUE(request_blocking<int>(sys, gate, 5s, 1).ok());
  auto r = request_blocking<int>(sys, gate, 5s, 2);
  EXPECT_TRUE(r.error() == errc::rate_limited);
  EXPECT_FALSE(r.may_have_executed());
  EXPECT_GT(r.retry_after(), 50min);
}

// Of an adapter: its errors speak of the last attempt, the gate of all.
TEST_F(request_test, knows_whether_an_attempt_was_sent) {
  using enum transport_errc;
  struct row {
    std::vector<transport_errc> attempts;
    bool may_have_executed;
  };
  const row rows[] = {
    {{not_connected, not_connected, not_connected}, false},
    {{busy, stopped, not_connected}, false},
    {{bad_request}, false},
    {{lost, lost, lost}, true},
    {{not_connected, not_connected, lost}, true},
    {{lost, not_connected, not_connected}, true},
    {{not_connected, timed_out, busy}, true},
  };
  auto next = std::make_shared<std::vector<transport_errc>>();
  auto broken = sys.spawn([next]() -> caf::behavior {
    return {[next](int) -> caf::result<int> {
      auto code = next->front();
      next->erase(next->begin());
      return make_error(code, "as scripted");
    }};
  });
  auto three = stack{"desk"}.retrier({.max_attempts = 3,
                                      .backoff = schedule::constant(0ms),
                                      .idempotent = true});
  auto known = gates.emplace_back(
    spawn_gate(sys, worker{broken}.classified_by(transport_answer), three));
  auto unknown = gate_of(broken);
  auto outer = gates.emplace_back(spawn_gate(sys, known, stack{"outer"}));
  for (const auto& x : rows) {
    SCOPED_TRACE("row " + std::to_string(&x - rows));
    for (const auto& gate : {known, outer}) {
      *next = x.attempts;
      auto r = request_blocking<int>(sys, gate, 5s, 1);
      EXPECT_TRUE(next->empty());
      EXPECT_TRUE(r.error() == x.attempts.back());
      EXPECT_EQ(r.text(),
                "transport::" + to_string(x.attempts.back()) + ": as scripted");
      EXPECT_EQ(r.may_have_executed(), x.may_have_executed);
      EXPECT_EQ(may_have_executed(r.error()), x.may_have_executed);
    }
    // A gate that does not ask the adapter cannot know.
    *next = x.attempts;
    EXPECT_TRUE(request_blocking<int>(sys, unknown, 5s, 1).may_have_executed());
  }
  caf::anon_send_exit(broken, caf::exit_reason::kill);
}

// What a gate has said of another call says nothing of this one.
TEST_F(request_test, does_not_believe_actors_that_pass_errors_on) {
  auto broken = sys.spawn([]() -> caf::behavior {
    return {[](int) -> caf::result<int> {
      return make_error(transport_errc::not_connected, "no route");
    }};
  });
  auto gate = gates.emplace_back(spawn_gate(
    sys, worker{broken}.classified_by(transport_answer), stack{"broken"}));
  auto relay = sys.spawn([gate](caf::event_based_actor* self) -> caf::behavior {
    auto ask = [self, gate](int x) {
      auto promise = self->make_response_promise<int>();
      self->request(gate, 5s, x)
        .then(
          [promise](int y) mutable { promise.deliver(y); },
          [promise](caf::error& e) mutable { promise.deliver(std::move(e)); });
      return promise;
    };
    return {ask,
            [ask](const call& x) { return ask(x.payload.get_as<int>(0)); }};
  });
  auto behind = gates.emplace_back(spawn_gate(
    sys, worker{relay}.classified_by(transport_answer), stack{"outer"}));
  auto fallback = gates.emplace_back(
    spawn_gate(sys, worker{broken}.classified_by(transport_answer),
               stack{"other"}.fallback({alternative::ask(relay)})));
  EXPECT_FALSE(request_blocking<int>(sys, gate, 5s, 1).may_have_executed());
  for (const auto& to : {relay, fallback}) {
    auto r = request_blocking<int>(sys, to, 5s, 1);
    EXPECT_EQ(r.text(), "transport::not_connected: no route");
    EXPECT_TRUE(r.may_have_executed());
    EXPECT_TRUE(may_have_executed(r.error()));
  }
  // Its classifier speaks for it.
  EXPECT_FALSE(request_blocking<int>(sys, behind, 5s, 1).may_have_executed());
  for (const auto& x : {broken, relay})
    caf::anon_send_exit(x, caf::exit_reason::kill);
}

// An adapter may say more than a text.
TEST_F(request_test, keeps_the_context_of_an_error) {
  auto broken = sys.spawn([]() -> caf::behavior {
    return {[](int) -> caf::result<int> {
#if CAISSON_CAF_LEGACY
      return caf::error{static_cast<std::uint8_t>(transport_errc::busy),
                        caf::atom("transport"), caf::make_message(42)};
#else
      return caf::error{transport_errc::busy, caf::make_message(42)};
#endif
    }};
  });
  auto gate = gates.emplace_back(spawn_gate(
    sys, worker{broken}.classified_by(transport_answer), stack{"broken"}));
  auto r = request_blocking<int>(sys, gate, 5s, 1);
  EXPECT_EQ(r.error().context().get_as<int>(0), 42);
  EXPECT_TRUE(r.may_have_executed());
  caf::anon_send_exit(broken, caf::exit_reason::kill);
}

TEST_F(request_test, ends_with_its_time) {
  auto gate = gate_of(mute);
  auto begun = std::chrono::steady_clock::now();
  auto r = request_blocking<int>(sys, gate, 50ms, 1);
  EXPECT_TRUE(r.error() == errc::deadline_exceeded);
  EXPECT_TRUE(r.may_have_executed());
  EXPECT_GE(std::chrono::steady_clock::now() - begun, 50ms);
  // By the gate, which knows that it has sent it to nobody.
  auto none = request_blocking<int>(sys, gate, 0s, 1);
  EXPECT_TRUE(none.error() == errc::deadline_exceeded);
  EXPECT_FALSE(none.may_have_executed());
  // A shorter time of its own holds.
  auto own = request_future<int>(sys, gate, 1h, wrap(1).within(20ms));
  EXPECT_TRUE(own.get().error() == errc::deadline_exceeded);
}

// A gate that is busy, or not there: here one that takes no message.
TEST_F(request_test, ends_if_the_gate_does_not_answer) {
  auto r = request_blocking<int>(sys, sys.spawn([]() -> caf::behavior {
    return {[](const call&) { std::this_thread::sleep_for(400ms); }};
  }),
                                 20ms, 1);
  EXPECT_TRUE(r.error() == errc::deadline_exceeded);
  EXPECT_TRUE(r.may_have_executed());
}

TEST_F(request_test, needs_a_gate) {
  auto r = request_blocking<int>(sys, caf::actor{}, 5s, 1);
  EXPECT_TRUE(r.error() == errc::worker_down);
  EXPECT_FALSE(r.may_have_executed());
}

TEST_F(request_test, ends_with_the_gate) {
  auto gate = gate_of(mute);
  auto pending = request_future<int>(sys, gate, unlimited, 1);
  EXPECT_EQ(pending.wait_for(50ms), std::future_status::timeout);
  stop_gate(gate);
  EXPECT_FALSE(pending.get().ok());
  auto late = request_blocking<int>(sys, gate, unlimited, 1);
  EXPECT_TRUE(late.error() == caf::sec::request_receiver_down) << late.text();
}

// Whoever keeps a request without answering it may be gone, too.
TEST_F(request_test, ends_if_nobody_can_answer_any_more) {
  auto keeper = sys.spawn([](caf::event_based_actor* self) -> caf::behavior {
    auto kept = std::make_shared<std::vector<promise>>();
    return {[self, kept](const call&) {
      return kept->emplace_back(self->make_response_promise<int>());
    }};
  });
  auto pending = request_future<int>(sys, keeper, unlimited, 1);
  EXPECT_EQ(pending.wait_for(50ms), std::future_status::timeout);
  caf::anon_send_exit(keeper, caf::exit_reason::kill);
  keeper = nullptr;
  EXPECT_FALSE(pending.get().ok());
}

TEST_F(request_test, serves_many_threads) {
  auto gate = gate_of(echo, stack{"desk"}.retrier().breaker().semaphore(
                              {.permits = 4, .max_waiters = 5000}));
  std::atomic<int> good{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      std::vector<std::future<result<int>>> pending;
      for (int i = 0; i < 500; ++i)
        pending.push_back(request_future<int>(sys, gate, 30s, 500 * t + i));
      for (int i = 0; i < 500; ++i)
        if (auto r = pending[static_cast<std::size_t>(i)].get();
            r && *r == 500 * t + i)
          ++good;
    });
  for (auto& x : threads)
    x.join();
  EXPECT_EQ(good, 2000);
}

} // namespace
} // namespace caisson::test
