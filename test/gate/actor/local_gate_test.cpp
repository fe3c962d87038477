// A gate inside an actor.
#include <caisson/local_gate.hpp>

#include <support/asking_client.hpp>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

class local_gate_test : public asking_test {};
CAISSON_ALL_ORDERS(local_gate_test);

TEST_P(local_gate_test, gives_values_and_errors_to_the_handlers) {
  auto w = make_worker(scripted_worker::on<int>([](int x) {
    return x < 0 ? scripted_worker::reply::error(caf::sec::invalid_argument)
                 : scripted_worker::reply::value(x * 2);
  }));
  auto c = start(w.handle(), stack{}.breaker());
  world.send(c, 3);
  EXPECT_EQ(seen(), texts{"3 -> 6"});
  world.send(c, -1);
  EXPECT_EQ(seen(), texts{"-1 failed"});
}

TEST_P(local_gate_test, an_answer_of_another_type_is_an_error) {
  auto w = make_worker(scripted_worker::always(std::string{"text"}));
  auto c = start(w.handle(), stack{});
  on("ask", [](asking_client& x) {
    x.gate->request(1).then([](int) { FAIL(); },
                            [&x](caf::error& e) {
                              EXPECT_EQ(e, caf::sec::unexpected_response);
                              x.log->seen.push_back("unexpected");
                            });
  });
  world.send(c, std::string{"ask"});
  EXPECT_EQ(seen(), (texts{"ask", "unexpected"}));
}

TEST_P(local_gate_test, a_single_message_takes_any_answer) {
  auto c = start(make_worker(doubles()).handle(), stack{});
  on("ask", [](asking_client& x) {
    auto note = [&x](const caf::message& y) { x.good(1, y.get_as<int>(0)); };
    auto fail = [](caf::error&) { FAIL(); };
    x.gate->request(1).then([note](caf::message& y) { note(y); }, fail);
    x.gate->request(1).then([note](caf::message y) { note(y); }, fail);
    x.gate->request(1).then([note](const caf::message& y) { note(y); }, fail);
    x.gate->request(1).then([note](caf::message&& y) { note(y); }, fail);
  });
  world.send(c, std::string{"ask"});
  EXPECT_EQ(seen(), (texts{"ask", "1 -> 2", "1 -> 2", "1 -> 2", "1 -> 2"}));
}

TEST_P(local_gate_test, takes_two_messages_a_call_and_none_for_a_refusal) {
  auto w = make_worker(doubles());
  auto c = start(w.handle(), stack{}.deadline().breaker().semaphore());
  world.send(c, 1);
  auto before = world.handled();
  world.send(c, 2);
  EXPECT_EQ(world.handled() - before, 3u)
    << "the text, the request, the answer";
  on("open", [](asking_client& x) {
    EXPECT_EQ(x.gate->command(command{operator_command::force_open}),
              caf::error{});
  });
  world.send(c, std::string{"open"});
  seen();
  before = world.handled();
  world.send(c, 3);
  EXPECT_EQ(world.handled() - before, 1u);
  EXPECT_EQ(seen(), texts{"3 failed: breaker_open"});
}

TEST_P(local_gate_test, retries_by_its_own_timer) {
  auto w = make_worker();
  w.plan(scripted_worker::reply::error(errc::worker_down), 2);
  w.become(doubles());
  auto c = start(w.handle(), stack{}.retrier({.max_attempts = 3,
                                              .backoff = schedule::constant(1s),
                                              .idempotent = true}));
  world.send(c, 4);
  EXPECT_TRUE(seen().empty());
  world.advance(1s);
  EXPECT_TRUE(seen().empty());
  world.advance(1s);
  EXPECT_EQ(seen(), texts{"4 -> 8"});
  EXPECT_EQ(w.count(), 3u);
}

TEST_P(local_gate_test, answers_by_the_deadline_at_the_latest) {
  auto w = make_worker();
  auto c = start(worker{w.handle()}.takes_cancelled(), stack{});
  on("ask", [](asking_client& x) {
    x.gate->request(1).within(2s).then([](int) { FAIL(); },
                                       [&x](caf::error& e) { x.bad(1, e); });
  });
  world.send(c, std::string{"ask"});
  world.advance(2s - 1ns);
  EXPECT_EQ(seen(), texts{"ask"});
  world.advance(1ns);
  EXPECT_EQ(seen(), texts{"1 failed: deadline_exceeded"});
  EXPECT_EQ(w.cancelled_count(), 1u);
  EXPECT_TRUE(w.open_message().cancelled);
  w.answer(7); // Late: nobody gets it.
  EXPECT_TRUE(seen().empty());
}

TEST_P(local_gate_test, refuses_a_call_that_has_no_time_left) {
  auto w = make_worker(doubles());
  auto c = start(w.handle(), stack{});
  on("ask", [](asking_client& x) {
    for (auto left : {0s, -1s})
      x.gate->request(1).within(left).then(
        [](int) { FAIL(); },
        [&x](caf::error& e) {
          EXPECT_EQ(e, errc::deadline_exceeded);
          EXPECT_FALSE(outcome_of(caf::make_message(e)).may_have_executed);
          x.log->seen.push_back("too late");
        });
  });
  world.send(c, std::string{"ask"});
  EXPECT_EQ(seen(), (texts{"ask", "too late", "too late"}));
  EXPECT_EQ(w.count(), 0u);
}

TEST_P(local_gate_test, await_lets_nothing_else_in) {
  auto w = make_worker();
  auto c = start(w.handle(), stack{});
  on("wait", [](asking_client& x) { x.ask_and_wait(1); });
  world.send(c, 5); // Before it, and still open.
  world.send(c, std::string{"wait"});
  world.send(c, std::string{"later"});
  EXPECT_EQ(seen(), texts{"wait"});
  w.answer(50);
  EXPECT_TRUE(seen().empty()) << "the answer to another request waits, too";
  w.answer(10);
  auto all = seen();
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0], "1 -> 10");
  std::sort(all.begin() + 1, all.end());
  EXPECT_EQ(all, (texts{"1 -> 10", "5 -> 50", "later"}));
}

TEST_P(local_gate_test, await_goes_on_with_timers_and_further_attempts) {
  auto w = make_worker();
  w.plan(scripted_worker::reply::error(errc::worker_down), 2);
  w.become(doubles());
  auto c = start(w.handle(), stack{}.retrier({.max_attempts = 3,
                                              .backoff = schedule::constant(1s),
                                              .idempotent = true}));
  on("wait", [](asking_client& x) { x.ask_and_wait(4); });
  world.send(c, std::string{"wait"});
  world.send(c, std::string{"later"});
  world.advance(1s);
  EXPECT_EQ(seen(), texts{"wait"});
  world.advance(1s);
  EXPECT_EQ(seen(), (texts{"4 -> 8", "later"}));
}

TEST_P(local_gate_test, await_of_a_request_refused_at_once_suspends_nothing) {
  auto c = start(worker{caf::actor{}}, stack{});
  on("wait", [](asking_client& x) { x.ask_and_wait(4); });
  world.send(c, std::string{"wait"});
  world.send(c, std::string{"later"});
  EXPECT_EQ(seen(), (texts{"wait", "4 failed: worker_down", "later"}));
}

TEST_P(local_gate_test, notices_a_dead_worker) {
  auto w = make_worker();
  auto c = start(w.handle(), stack{});
  world.send(c, 1);
  w.quit();
  EXPECT_EQ(seen(), texts{"1 failed: worker_down"});
  world.send(c, 2);
  EXPECT_EQ(seen(), texts{"2 failed: worker_down"});
}

TEST_P(local_gate_test, makes_a_supervised_worker_again) {
  auto w = make_worker();
  auto c = start(
    worker::supervised(w.factory(), {.restart = schedule::constant(1s)}),
    stack{});
  world.send(c, 1);
  w.quit();
  EXPECT_EQ(seen(), texts{"1 failed: worker_down"});
  world.send(c, 2);
  EXPECT_TRUE(seen().empty()) << "waits for the next worker";
  world.advance(1s);
  w.answer(20);
  EXPECT_EQ(seen(), texts{"2 -> 20"});
  w.quit(); // While there are no calls.
  world.advance(10s);
  world.send(c, 3);
  world.advance(1s);
  w.answer(30);
  EXPECT_EQ(seen(), texts{"3 -> 30"});
}

TEST_P(local_gate_test, requests_are_cancelled_when_the_actor_ends) {
  auto w = make_worker();
  auto c = start(worker{w.handle()}.takes_cancelled(), stack{}.semaphore());
  world.send(c, 1);
  world.send(c, 2);
  world.kill(c);
  EXPECT_EQ(w.cancelled_count(), 2u);
  EXPECT_TRUE(seen().empty()) << "handlers of a dead actor";
  w.answer(1);
  w.answer(2);
}

TEST_P(local_gate_test, is_cancelled_when_it_is_destroyed) {
  auto w = make_worker();
  auto c = start(worker{w.handle()}.takes_cancelled(), stack{});
  on("drop", [](asking_client& x) { x.gate.reset(); });
  world.send(c, 1);
  world.send(c, std::string{"drop"});
  EXPECT_EQ(w.cancelled_count(), 1u);
  w.answer(1);
  EXPECT_EQ(seen(), texts{"drop"});
  world.send(c, std::string{"alive"});
  EXPECT_EQ(seen(), texts{"alive"});
}

TEST_P(local_gate_test, a_stopped_one_answers_everything) {
  auto w = make_worker();
  auto c = start(worker{w.handle()}.takes_cancelled(), stack{});
  on("stop", [](asking_client& x) { x.gate->stop(); });
  world.send(c, 1);
  world.send(c, std::string{"stop"});
  EXPECT_EQ(seen(), (texts{"stop", "1 failed: cancelled"}));
  world.send(c, 2);
  EXPECT_EQ(seen(), texts{"2 failed: cancelled"});
  EXPECT_EQ(w.cancelled_count(), 1u);
}

TEST_P(local_gate_test, keeps_an_actor_alive_that_waits_and_no_longer) {
  auto w = make_worker();
  asking_client::first = [](asking_client& x) { x.ask(1); };
  {
    auto c = start(
      w.handle(),
      stack{}.retrier({.backoff = schedule::constant(1s), .idempotent = true}),
      false);
    owned.erase(owned.begin());
  }
  EXPECT_EQ(world.actors(), 2u);
  w.fail(errc::worker_down);
  EXPECT_EQ(world.actors(), 2u) << "between two attempts nobody has its handle";
  world.advance(1s);
  w.answer(10);
  EXPECT_EQ(seen(), texts{"1 -> 10"});
  EXPECT_EQ(world.actors(), 1u);
}

TEST_P(local_gate_test, many_calls_at_once_are_answered_in_any_order) {
  constexpr int n = 300;
  auto w = make_worker();
  auto c = start(w.handle(), stack{}.breaker().semaphore({.permits = 1000}));
  for (int i = 0; i < n; ++i)
    world.send(c, i);
  ASSERT_EQ(w.open(), static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) {
    auto k = static_cast<std::size_t>(i * 7) % w.open();
    auto x = w.open_as<int>(k);
    w.answer_nth(k, x + 1000);
  }
  EXPECT_EQ(log->values, n);
  for (const auto& x : seen()) {
    auto from = std::stoi(x);
    EXPECT_EQ(x, fmt::format("{} -> {}", from, from + 1000));
  }
}

TEST_P(local_gate_test, handlers_may_ask_again_without_end) {
  auto c = start(worker{caf::actor{}}, stack{});
  auto left = std::make_shared<int>(20'000);
  auto again = std::make_shared<std::function<void(asking_client&)>>();
  *again = [left, again](asking_client& x) {
    x.gate->request(1).then([](int) {},
                            [&x, left, again](caf::error&) {
                              if (--*left > 0)
                                (*again)(x);
                            });
  };
  on("ask", [again](asking_client& x) { (*again)(x); });
  world.send(c, std::string{"ask"});
  EXPECT_EQ(*left, 0);
  *left = 1'000;
  asking_client::first = *again; // Before it has a behaviour, and without one.
  for (auto behaves : {true, false}) {
    *left = 1'000;
    start(worker{caf::actor{}}, stack{}, behaves);
    EXPECT_EQ(*left, 0);
  }
  asking_client::first = nullptr;
  *again = nullptr;
}

TEST_P(local_gate_test, reports_events_and_is_operated_by_its_actor) {
  auto w = make_worker(doubles());
  auto c = start(w.handle(), stack{}.breaker({.threshold = 2}));
  on("listen", [](asking_client& x) {
    x.gate->on_event([&x](const event& e) {
      x.log->seen.push_back(fmt::format("{} {}", e.layer, name_of(e.kind)));
    });
  });
  on("change", [](asking_client& x) {
    EXPECT_EQ(x.gate->reconfigure({"breaker", {{"threshold", "7"}}}),
              caf::error{});
    EXPECT_EQ(x.gate->get_status().layers.at(0).config.at("threshold"), "7");
    auto err = x.gate->reconfigure({"breaker", {{"threshold", "0"}}});
    EXPECT_EQ(err, errc::invalid_config);
  });
  world.send(c, std::string{"listen"});
  world.send(c, std::string{"change"});
  EXPECT_EQ(seen(), (texts{"listen", "change", "breaker reconfigured"}));
}

TEST_P(local_gate_test, a_listener_may_end_itself_or_the_gate) {
  auto w = make_worker();
  w.become([](const caf::message&) {
    return scripted_worker::reply::error(caf::sec::runtime_error);
  });
  using acts = std::vector<asking_client::deed>;
  for (const auto& act :
       acts{[](asking_client& x) { x.gate->on_event({}); },
            [](asking_client& x) { x.gate->on_event([](const event&) {}); },
            [](asking_client& x) { x.gate.reset(); },
            [](asking_client& x) {
              x.gate = local_gate<>{&x, worker{}, stack{}};
            },
            [](asking_client& x) { x.gate->stop(); }}) {
    auto received = std::make_shared<int>(0);
    on("listen", [received, act](asking_client& x) {
      // Is gone at once if the listener is destroyed while it runs.
      auto alive = std::make_shared<bool>(true);
      x.gate->on_event(
        [&x, received, act, alive, self = std::weak_ptr{alive}](const event&) {
          ++*received;
          auto self_copy = self;
          act(x);
          EXPECT_FALSE(self_copy.expired());
        });
    });
    auto c = start(w.handle(), stack{}.breaker({.threshold = 1}));
    world.send(c, std::string{"listen"});
    world.send(c, 1);
    EXPECT_EQ(*received, 1);
  }
}

TEST_P(local_gate_test, drains) {
  auto w = make_worker();
  auto c = start(w.handle(), stack{});
  on("drain", [](asking_client& x) {
    x.gate->drain([&x] { x.log->seen.push_back("drained"); });
  });
  world.send(c, 1);
  world.send(c, std::string{"drain"});
  world.send(c, 2);
  EXPECT_EQ(seen(), (texts{"drain", "2 failed: draining"}));
  w.answer(10);
  EXPECT_EQ(seen(), (texts{"1 -> 10", "drained"}));
}

TEST_P(local_gate_test, two_in_one_actor_do_not_meet) {
  auto w = make_worker();
  auto v = make_worker();
  auto c = start(w.handle(), stack{"one"});
  auto other = std::make_shared<std::optional<local_gate<>>>();
  on("second", [&v, other](asking_client& x) {
    if (!*other)
      other->emplace(&x, worker{v.handle()}, stack{"two"});
    (*other)->request(7).then([&x](int y) { x.good(7, y); },
                              [&x](caf::error& e) { x.bad(7, e); });
  });
  for (int i = 0; i < 50; ++i) {
    world.send(c, i);
    world.send(c, std::string{"second"});
  }
  seen();
  while (w.open() > 0)
    w.answer(1);
  EXPECT_EQ(log->values, 50);
  while (v.open() > 0)
    v.answer(2);
  for (const auto& x : seen())
    EXPECT_TRUE(x.ends_with("-> 1") || x == "7 -> 2") << x;
  EXPECT_EQ(log->values, 100);
  world.kill(c);
  other->reset();
}

TEST_P(local_gate_test, refuses_a_stack_that_is_not_valid) {
  asking_client::first = [](asking_client& x) {
    EXPECT_THROW(
      (local_gate<>{&x, worker{}, stack{}.breaker({.threshold = 0})}),
      config_error);
    x.log->seen.push_back("tried");
  };
  start(worker{}, stack{});
  EXPECT_EQ(seen(), texts{"tried"});
}

// -- typed workers ------------------------------------------------------------

using doubling_worker = caf::typed_actor<portable::sig<int(int)>>;

TEST_P(local_gate_test, checks_typed_requests) {
  auto w = make_worker(doubles());
  auto typed = w.as<doubling_worker>();
  auto kept = std::make_shared<std::optional<local_gate<doubling_worker>>>();
  asking_client::first = [typed, kept](asking_client& x) {
    // [typed]
    local_gate g{&x, typed, stack{}.breaker()};
    static_assert(std::is_same_v<decltype(g), local_gate<doubling_worker>>);
    // [/typed]
    g.request(21).await([&x](int y) { x.good(21, y); },
                        [&x](caf::error& e) { x.bad(21, e); });
    kept->emplace(std::move(g));
  };
  auto c = start(worker{}, stack{});
  EXPECT_EQ(seen(), texts{"21 -> 42"});
  world.kill(c);
  kept->reset();
}

} // namespace
} // namespace caisson::test
