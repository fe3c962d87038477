// A local gate after it was stopped.
#include <caisson/local_gate.hpp>

#include <support/asking_client.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

class local_stop_test : public asking_test {
protected:
  /// An actor with `n` calls in flight, which stops its gate then.
  void stop_with(int n, bool awaited, bool behaves) {
    auto w = make_worker(
      [](const caf::message&) { return scripted_worker::reply::silence(); });
    asking_client::first = [n, awaited](asking_client& x) {
      for (int i = 0; i < n; ++i)
        awaited ? x.ask_and_wait(i) : x.ask(i);
      x.gate->stop();
    };
    start(w.handle(), stack{}, behaves);
    asking_client::first = nullptr;
  }
};

CAISSON_ALL_ORDERS(local_stop_test);

TEST_P(local_stop_test, any_number_of_calls_is_answered) {
  for (auto awaited : {false, true}) {
    for (auto behaves : {true, false}) {
      for (int n : {1, 64, 65, 1'000}) {
        log->errors = 0;
        stop_with(n, awaited, behaves);
        EXPECT_EQ(log->errors, n) << awaited << behaves;
      }
    }
  }
  EXPECT_EQ(log->values, 0);
}

TEST_P(local_stop_test, a_hundred_thousand_calls_are_answered) {
  if (GetParam() > 0)
    return; // One order shows it.
  stop_with(100'000, false, true);
  EXPECT_EQ(log->errors, 100'000);
}

TEST_P(local_stop_test, other_messages_have_their_turn_meanwhile) {
  auto w = make_worker();
  on("stop", [](asking_client& x) { x.gate->stop(); });
  auto c = start(w.handle(), stack{});
  for (int i = 0; i < 200; ++i)
    world.send(c, i);
  portable::send_anon(c, std::string{"stop"});
  portable::send_anon(c, std::string{"other"});
  world.run_until_idle();
  auto all = seen();
  EXPECT_EQ(all.size(), 202u);
  EXPECT_NE(all.back(), "other");
}

TEST_P(local_stop_test, an_actor_without_behaviour_ends) {
  auto before = world.actors();
  stop_with(65, false, false);
  owned.erase(owned.begin());
  EXPECT_EQ(world.actors(), before + 1) << "the worker";
}

TEST_P(local_stop_test, handlers_may_ask_again_without_end) {
  for (auto awaited : {false, true}) {
    auto c = start(worker{caf::actor{}}, stack{});
    auto left = std::make_shared<int>(20'000);
    auto again = std::make_shared<std::function<void(asking_client&)>>();
    *again = [left, again, awaited](asking_client& x) {
      auto fail = [&x, left, again](caf::error& e) {
        EXPECT_EQ(e, errc::cancelled);
        if (--*left > 0)
          (*again)(x);
      };
      auto r = x.gate->request(1);
      awaited ? std::move(r).await([](int) {}, fail)
              : std::move(r).then([](int) {}, fail);
    };
    on("ask", [again](asking_client& x) {
      x.gate->stop();
      (*again)(x);
    });
    world.send(c, std::string{"ask"});
    EXPECT_EQ(*left, 0);
    *again = nullptr;
  }
}

TEST_P(local_stop_test, is_drained_at_once) {
  auto w = make_worker();
  auto c = start(w.handle(), stack{});
  on("stop", [](asking_client& x) {
    auto done = [&x] { x.log->seen.push_back("drained"); };
    x.gate->drain(done);
    x.gate->stop();
    x.gate->drain(done);
  });
  world.send(c, 1);
  world.send(c, std::string{"stop"});
  EXPECT_EQ(seen(),
            (texts{"stop", "1 failed: cancelled", "drained", "drained"}));
}

} // namespace
} // namespace caisson::test
