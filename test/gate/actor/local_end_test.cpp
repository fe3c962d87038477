// The end of local gates with their actors, whatever ends those.
#include <caisson/caf/error.hpp>
#include <caisson/gate.hpp>
#include <caisson/local_gate.hpp>

#include <support/asking_client.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

class local_end_test : public asking_test {
protected:
  /// A client that nobody but the test refers to.
  caf::actor start_unowned(worker behind, stack s) {
    auto x = start(std::move(behind), std::move(s));
    owned.erase(owned.begin());
    return x;
  }
};

CAISSON_ALL_ORDERS(local_end_test);

// -- quitting -----------------------------------------------------------------

TEST_P(local_end_test, an_actor_that_quits_in_a_handler_ends_at_once) {
  auto w = make_worker();
  on("ask", [](asking_client& x) {
    x.ask(1);
    x.gate->request(2).within(50ms).then([](int) { FAIL(); },
                                         [&x](caf::error& e) {
                                           x.bad(2, e);
                                           x.quit();
                                           x.ask(3);
                                         });
  });
  auto c = start_unowned(w.handle(), stack{}.default_deadline(1h));
  world.send(c, std::string{"ask"});
  EXPECT_EQ(world.actors(), 2u);
  world.advance(50ms);
  EXPECT_EQ(world.actors(), 1u);
  world.advance(2h);
  EXPECT_EQ(seen(), (texts{"ask", "2 failed: deadline_exceeded"}));
}

TEST_P(local_end_test, an_actor_that_quits_gets_no_ready_answers) {
  auto w = make_worker();
  on("ask", [](asking_client& x) {
    x.ask(1);
    x.gate->request(2).then([](int) {}, [&x](caf::error&) { x.quit(); });
    x.ask(3);
    x.gate->on_event([&x](const event&) { x.log->seen.push_back("event"); });
    x.gate->stop();
    x.ask(4);
  });
  auto c = start_unowned(w.handle(), stack{});
  world.send(c, std::string{"ask"});
  EXPECT_EQ(world.actors(), 1u);
  EXPECT_EQ(seen(), (texts{"ask", "1 failed: cancelled"}));
}

TEST_P(local_end_test, an_actor_that_quits_while_it_awaits_ends_at_once) {
  auto w = make_worker();
  on("ask", [](asking_client& x) {
    x.ask_and_wait(1);
    x.gate->request(2).within(50ms).await([](int) {},
                                          [&x](caf::error&) { x.quit(); });
  });
  auto c = start_unowned(w.handle(), stack{}.default_deadline(1h));
  world.send(c, std::string{"ask"});
  world.advance(50ms);
  EXPECT_EQ(world.actors(), 1u);
  EXPECT_EQ(seen(), texts{"ask"});
}

TEST_P(local_end_test, a_worker_that_is_given_up_cancels_a_retry) {
  auto w = make_worker();
  auto c = start_unowned(
    worker::supervised(w.factory(),
                       {.max_restarts = 0, .on_give_up = give_up_action::quit}),
    stack{}.default_deadline(1h).retrier(
      {.backoff = schedule::constant(10min), .idempotent = true}));
  world.send(c, 1);
  world.send(c, 2);
  w.quit();
  EXPECT_EQ(world.actors(), 0u);
}

// -- without a behaviour ------------------------------------------------------

TEST_P(local_end_test, an_answer_that_comes_too_late_is_not_awaited) {
  auto w = make_worker();
  asking_client::first = [](asking_client& x) {
    for (int i = 0; i < 40; ++i)
      i % 2 == 0 ? x.ask(i) : x.ask_and_wait(i);
  };
  start(w.handle(), stack{}.default_deadline(50ms), false);
  owned.erase(owned.begin());
  EXPECT_EQ(world.actors(), 2u);
  world.advance(50ms);
  EXPECT_EQ(log->errors, 40);
  EXPECT_EQ(world.actors(), 1u);
  while (w.open() > 0)
    w.answer(1);
}

TEST_P(local_end_test, no_answer_is_awaited_after_the_end_of_the_gate) {
  for (auto awaited : {false, true}) {
    auto w = make_worker();
    auto before = world.actors();
    asking_client::first = [awaited](asking_client& x) {
      awaited ? x.ask_and_wait(1) : x.ask(1);
      x.gate.reset();
    };
    start(w.handle(), stack{}, false);
    owned.erase(owned.begin());
    EXPECT_EQ(world.actors(), before);
  }
}

TEST_P(local_end_test, late_answers_are_counted) {
  auto w = make_worker();
  auto late = std::make_shared<std::int64_t>(0);
  on("look", [late](asking_client& x) {
    *late = x.gate->get_status().metric("late_results");
  });
  auto c = start(w.handle(), stack{}.default_deadline(50ms));
  world.send(c, 1);
  world.advance(50ms);
  w.answer(1);
  for (int i = 0; i < 32; ++i)
    world.send(c, i);
  world.advance(50ms);
  w.become(doubles());
  world.send(c, 7);
  EXPECT_EQ(seen().back(), "7 -> 14");
  world.send(c, std::string{"look"});
  EXPECT_EQ(*late, 1);
}

// -- being destroyed ----------------------------------------------------------

/// Destroys its gate on its way out.
class tidy_client final : public caf::event_based_actor {
public:
  tidy_client(caf::actor_config& cfg, worker behind, stack s, bool stops)
    : caf::event_based_actor(cfg), stops_(stops) {
    gate_.emplace(this, std::move(behind), s);
  }

  void on_exit() override {
    if (stops_)
      gate_->stop();
    gate_.reset();
  }

  caf::behavior make_behavior() override {
    return {[this](int x) {
      gate_->request(x).then([](int) {}, [](caf::error&) {});
    }};
  }

private:
  std::optional<local_gate<>> gate_;
  bool stops_;
};

TEST_P(local_end_test, the_gate_may_be_destroyed_in_on_exit) {
  for (auto stops : {false, true}) {
    for (auto kill : {false, true}) {
      for (int calls = 0; calls < 3; ++calls) {
        auto w = make_worker();
        auto before = world.actors();
        auto c = caf::actor_cast<caf::actor>(world.system().spawn<tidy_client>(
          worker{w.handle()}.takes_cancelled(), stack{}.breaker(), stops));
        for (int i = 0; i < calls; ++i)
          world.send(c, i);
        if (calls == 2)
          w.answer(1);
        if (kill)
          world.kill(c);
        c = nullptr;
        world.run_until_idle();
        while (w.open() > 0)
          w.answer(1);
        EXPECT_EQ(world.actors(), before) << stops << kill << calls;
      }
    }
  }
}

// -- construction -------------------------------------------------------------

/// Asks, and then finds that it cannot work.
class failing_client final : public caf::event_based_actor {
public:
  failing_client(caf::actor_config& cfg, const worker& behind, bool awaited,
                 std::shared_ptr<notes> log)
    : caf::event_based_actor(cfg),
      good_(this, behind, stack{}.retrier({.idempotent = true})) {
    auto value = [log](int) { ++log->values; };
    auto error = [log](caf::error&) { ++log->errors; };
    for (int i = 0; i < 40; ++i) {
      auto r = good_.request(i).within(10s);
      awaited ? std::move(r).await(value, error)
              : std::move(r).then(value, error);
    }
    bad_.emplace(this, worker{}, stack{}.semaphore({.permits = 0}));
  }

  caf::behavior make_behavior() override {
    return {[](int) {}};
  }

private:
  local_gate<> good_;
  std::optional<local_gate<>> bad_;
};

TEST_P(local_end_test, a_constructor_that_throws_leaves_nothing_behind) {
  for (auto awaited : {false, true}) {
    auto w = make_worker();
    auto before = world.actors();
    for (auto behind : {worker{w.handle()}.takes_cancelled(),
                        worker::supervised(w.factory())})
      EXPECT_THROW(world.system().spawn<failing_client>(behind, awaited, log),
                   config_error);
    world.run_until_idle();
    while (w.open() > 0)
      w.answer(1);
    world.advance(1min);
    EXPECT_LE(world.actors(), before);
  }
  EXPECT_EQ(log->values + log->errors, 0);
}

// -- the end of the world -----------------------------------------------------

/// Asks through a gate, and says when it is destroyed.
class counted_client final : public caf::event_based_actor {
public:
  counted_client(caf::actor_config& cfg, worker behind, bool awaited,
                 std::shared_ptr<notes> log, std::shared_ptr<int> alive)
    : caf::event_based_actor(cfg), awaited_(awaited), log_(std::move(log)),
      alive_(std::move(alive)),
      gate_(this, std::move(behind),
            stack{}.retrier(
              {.backoff = schedule::constant(1h), .idempotent = true})) {
    ++*alive_;
  }

  ~counted_client() override { --*alive_; }

  caf::behavior make_behavior() override {
    return {[this](int n) {
      auto value = [log = log_](int) { ++log->values; };
      auto error = [log = log_](caf::error&) { ++log->errors; };
      for (int i = 0; i < n; ++i) {
        auto r = gate_.request(i).within(unlimited);
        awaited_ ? std::move(r).await(value, error)
                 : std::move(r).then(value, error);
      }
    }};
  }

private:
  bool awaited_;
  std::shared_ptr<notes> log_;
  std::shared_ptr<int> alive_;
  local_gate<> gate_;
};

TEST_P(local_end_test, a_world_that_ends_leaves_no_actor_that_waits) {
  auto alive = std::make_shared<int>(0);
  for (auto awaited : {false, true}) {
    for (auto retries : {false, true}) {
      for (auto calls : {0, 1, 40}) {
        virtual_time short_lived;
        scripted_worker w{short_lived};
        if (retries)
          w.become([](const caf::message&) {
            return scripted_worker::reply::error(errc::worker_down);
          });
        auto c = caf::actor_cast<caf::actor>(
          short_lived.system().spawn<counted_client>(w.handle(), awaited, log,
                                                     alive));
        short_lived.send(c, calls);
        EXPECT_EQ(*alive, 1);
      }
      EXPECT_EQ(*alive, 0) << awaited << retries;
    }
  }
  EXPECT_EQ(log->values + log->errors, 0);
}

// By then no thread runs the actor from which they are called off.
TEST_P(local_end_test, a_world_that_ends_cancels_requests_in_progress) {
  for (auto is_gate : {false, true}) {
    for (auto awaited : {false, true}) {
      for (auto calls : {1, 40}) {
        auto alive = std::make_shared<int>(0);
        {
          virtual_time short_lived;
          scripted_worker w{short_lived};
          control_handle behind;
          if (is_gate)
            behind = spawn_gate(short_lived, w.handle(), stack{});
          auto to = is_gate ? worker{caf::actor_cast<caf::actor>(behind)}
                            : worker{w.handle()}.takes_cancelled();
          auto c = caf::actor_cast<caf::actor>(
            short_lived.system().spawn<counted_client>(std::move(to), awaited,
                                                       log, alive));
          short_lived.send(c, calls);
          EXPECT_EQ(w.open(), static_cast<std::size_t>(calls));
        }
        EXPECT_EQ(*alive, 0) << is_gate << awaited << calls;
      }
    }
  }
  EXPECT_EQ(log->values + log->errors, 0);
}

} // namespace
} // namespace caisson::test
