// Thousands of calls that end at the same instant, in chains of gates: each has
// exactly one answer, and nothing is left of them anywhere.
#include "support/quiescent.hpp"
#include "support/reply_situations.hpp"
#include "support/world.hpp"

#include <caisson/policies/breaker/breaker.hpp>

#include <functional>
#include <ostream>
#include <set>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

constexpr int calls_of_each = 1'000;

// Where the calls of one chain are when the storm comes.
struct place {
  std::string name;
  /// The stacks from the outside in, before a worker that keeps what it gets;
  /// so does the second actor.
  std::function<std::vector<stack>(const caf::actor& second)> chain;
};

std::vector<place> places() {
  auto waiting = semaphore_config{.permits = 7, .max_waiters = 100'000};
  return {
    {"with the worker",
     [](const caf::actor&) {
       return std::vector{stack{"outer"}.breaker(), stack{"inner"}};
     }},
    {"waiting for a permit",
     [=](const caf::actor&) {
       return std::vector{stack{"outer"}.deadline({.timeout = 40s}),
                          stack{"inner"}.semaphore(waiting)};
     }},
    {"waiting in front of the chain",
     [=](const caf::actor&) {
       return std::vector{stack{"outer"}.semaphore(waiting),
                          stack{"inner"}.breaker(), stack{"innermost"}};
     }},
    {"waiting for a token",
     [](const caf::actor&) {
       return std::vector{stack{"outer"},
                          stack{"inner"}.limiter({.rate = 1,
                                                  .per = 1h,
                                                  .burst = 5,
                                                  .max_wait = unlimited,
                                                  .max_waiters = 100'000})};
     }},
    {"in batches",
     [](const caf::actor&) {
       return std::vector{
         stack{"outer"}.fallback({alternative::answer(-1)},
                                 {.max_concurrent = 20}),
         stack{"inner"}.batcher({.max_items = 30, .max_delay = 1h}).breaker()};
     }},
    {"tried again",
     [](const caf::actor&) {
       auto retries = retrier_config{.max_attempts = 3,
                                     .backoff = schedule::constant(0s),
                                     .idempotent = true,
                                     .budget = false};
       return std::vector{stack{"outer"}.retrier(retries),
                          stack{"inner"}.retrier(retries).breaker()};
     }},
    {"loading a cold key",
     [](const caf::actor&) {
       return std::vector{
         stack{"outer"}.breaker(),
         stack{"inner"}.cache({.stale_if_error = 1h}, situations::one_key())};
     }},
    {"waiting for a permit of a key",
     [](const caf::actor&) {
       return std::vector{
         stack{"outer"}.add<keyed<semaphore>>(
           {{.permits = 2, .max_waiters = 1'000}}),
         stack{"inner"}
           .add<keyed<retrier>>({{.backoff = schedule::constant(1s)}})
           .add<keyed<breaker>>({breaker_config{}})};
     }},
    {"met by silence",
     [](const caf::actor&) {
       return std::vector{
         stack{"outer"}.add<degradation>({.min_calls = 1}),
         stack{"inner"}
           .add<feature>({.feature = "nothing"})
           .add<chaos>(situations::only(&chaos_config::silence_rate))};
     }},
    {"with the canary",
     [](const caf::actor& second) {
       return std::vector{
         stack{"outer"}.breaker(),
         stack{"inner"}.add<canary>(situations::all_calls(), second)};
     }},
    {"being verified",
     [](const caf::actor& second) {
       return std::vector{
         stack{"outer"}.retrier(
           {.backoff = schedule::constant(1s), .verify_timeout = 20s},
           verifier::by(second)),
         stack{"inner"}.deadline({.timeout = 5s})};
     }},
  };
}

/// All chains at once, under load, and what happens to them.
class storm_test : public testing::TestWithParam<int> {
protected:
  storm_test()
    : world(GetParam() == 0 ? std::optional<std::uint64_t>{}
                            : std::optional<std::uint64_t>(GetParam())) {
    for (const auto& x : places())
      build(x);
    world.run_until_idle();
  }

  struct chain {
    std::string name;
    /// From the outside in.
    std::vector<caf::actor> gates;
    /// The one that keeps what it gets, and those that come after it.
    std::shared_ptr<std::vector<caf::actor>> workers;
    /// Keeps what it gets, too.
    caf::actor second;
    std::vector<probe> callers;
    std::vector<pending_answer> answers;
  };

  /// Keeps all requests, never answers.
  class silent_worker final : public caf::event_based_actor {
  public:
    using caf::event_based_actor::event_based_actor;
    caf::behavior make_behavior() override {
      return {[this](int) { return keep(); },
              [this](const batch&) { return keep(); }};
    }
    void on_exit() override { promises_.clear(); }

  private:
    caf::result<int> keep() {
      promises_.push_back(make_response_promise<int>());
      return promises_.back();
    }
    std::vector<caf::typed_response_promise<int>> promises_;
  };

  void build(const place& where) {
    chain x;
    x.name = where.name;
    x.workers = std::make_shared<std::vector<caf::actor>>();
    auto workers = x.workers;
    auto behind = worker::supervised(
      [workers](caf::actor_system& sys) -> caf::expected<caf::actor> {
        workers->push_back(
          caf::actor_cast<caf::actor>(sys.spawn<silent_worker>()));
        return workers->back();
      },
      {.restart = schedule::constant(100ms), .max_waiting = 50});
    x.second = caf::actor_cast<caf::actor>(
      world.system().spawn<silent_worker>());
    auto stacks = where.chain(x.second);
    for (auto i = stacks.rbegin(); i != stacks.rend(); ++i) {
      i->seed(1);
      x.gates.insert(x.gates.begin(), spawn_gate(world, behind, *i));
      behind = worker{x.gates.front()};
    }
    for (int i = 0; i < 8; ++i)
      x.callers.push_back(world.make_probe());
    chains.push_back(std::move(x));
  }

  /// All requests are made, and have the same deadline.
  void ask() {
    auto deadline = world.now() + 20s;
    for (auto& x : chains)
      for (int i = 0; i < calls_of_each; ++i) {
        auto& from = x.callers[static_cast<std::size_t>(i) % x.callers.size()];
        x.answers.push_back(
          from.request(x.gates.front(), wrap(i)
                                          .by(deadline)
                                          .idempotent(i % 2 == 0)
                                          .key(std::to_string(i % 50))));
      }
    world.run_until_idle();
  }

  void end_workers() {
    for (auto& x : chains)
      for (auto& w : *x.workers)
        caf::anon_send_exit(w, caf::exit_reason::kill);
  }

  void end_second_actors() {
    for (auto& x : chains)
      caf::anon_send_exit(x.second, caf::exit_reason::kill);
  }

  void end_gates(std::size_t place, std::size_t number) {
    for (auto i = place; i < chains.size(); i += 2)
      if (auto& all = chains[i].gates; number < all.size())
        stop_gate(all[number]);
  }

  void end_callers(std::size_t first) {
    for (auto& x : chains)
      for (auto i = first; i < x.callers.size(); i += 2)
        caf::anon_send_exit(x.callers[i].handle(), caf::exit_reason::kill);
  }

  /// Answers of callers that have not died: one each.
  void expect_one_answer_each(std::set<std::size_t> dead_callers = {}) {
    for (auto& x : chains)
      for (std::size_t i = 0; i < x.answers.size(); ++i) {
        auto dead = dead_callers.contains(i % x.callers.size());
        auto n = x.answers[i].count();
        EXPECT_TRUE(n == 1 || (n == 0 && dead))
          << x.name << ", call " << i << ": " << n << " answers";
      }
  }

  /// Long after, no gate holds anything.
  void expect_quiescence() {
    world.advance(1h);
    for (auto& x : chains)
      for (auto& g : x.gates) {
        if (portable::is_down(g))
          continue;
        expect_quiescent(world.request(g, get_status{}).value<status>(),
                         x.name + "/");
      }
  }

  void TearDown() override {
    for (auto& x : chains) {
      for (auto& g : x.gates)
        stop_gate(g);
      stop_gate(x.second);
      x.second = {};
      world.run_until_idle();
      x.workers->clear();
    }
    world.run_until_idle();
    EXPECT_EQ(world.timers(), 0u) << "a timer is left";
    EXPECT_EQ(world.actors(), 0u) << "an actor is left";
  }

  virtual_time world;
  std::vector<chain> chains;
};

INSTANTIATE_TEST_SUITE_P(orders, storm_test, testing::Range(0, 3));

TEST_P(storm_test, all_deadlines_pass) {
  ask();
  world.advance(20s - 1ns);
  auto before = world.now() + 1ns;
  world.advance(1ns);
  expect_one_answer_each();
  for (auto& x : chains)
    for (auto& answer : x.answers)
      EXPECT_LE(answer.at(), before) << x.name;
  expect_quiescence();
}

TEST_P(storm_test, all_workers_die) {
  ask();
  end_workers();
  world.advance(20s);
  expect_one_answer_each();
  expect_quiescence();
}

TEST_P(storm_test, workers_die_again_and_again) {
  ask();
  for (int i = 0; i < 4; ++i) {
    end_workers();
    world.advance(100ms);
  }
  world.advance(20s);
  expect_one_answer_each();
  expect_quiescence();
}

TEST_P(storm_test, all_other_actors_die) {
  ask();
  world.advance(6s);
  end_second_actors();
  world.advance(14s);
  expect_one_answer_each();
  expect_quiescence();
}

TEST_P(storm_test, the_gates_in_front_are_stopped) {
  ask();
  end_gates(0, 0);
  end_gates(1, 0);
  world.run_until_idle();
  expect_one_answer_each();
  expect_quiescence();
}

TEST_P(storm_test, half_of_the_callers_die) {
  ask();
  end_callers(0);
  world.advance(20s);
  expect_one_answer_each({0, 2, 4, 6});
  expect_quiescence();
}

TEST_P(storm_test, everything_happens_at_once) {
  ask();
  // All of it is in the mailboxes before anybody runs.
  world.advance(20s - 100ms);
  end_callers(1);
  end_workers();
  end_second_actors();
  end_gates(0, 0);
  end_gates(1, 1);
  world.advance(100ms);
  expect_one_answer_each({1, 3, 5, 7});
  expect_quiescence();
}

} // namespace
} // namespace caisson::test
