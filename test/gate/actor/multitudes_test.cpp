// A hundred thousand items in one batch, ten thousand gates before one worker,
// thousands of subscriptions, that end together: each item has one answer,
// nothing is left, and it takes time that grows with their number. Fifty
// thousand answers that never come leave nothing either.
#include "support/growth.hpp"
#include "support/world.hpp"

#include <malloc.h>

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

void expect_nothing_left(virtual_time& world) {
  world.run_until_idle(10'000'000);
  EXPECT_EQ(world.timers(), 0u);
  EXPECT_EQ(world.actors(), 0u);
}

// -- a batch ------------------------------------------------------------------

struct batch_ending {
  std::string name;
  std::function<void(virtual_time&, scripted_worker&, const caf::actor&)> run;
  bool answered = false;
};

std::ostream& operator<<(std::ostream& out, const batch_ending& x) {
  return out << x.name;
}

class batch_in_progress : public testing::TestWithParam<batch_ending> {};

INSTANTIATE_TEST_SUITE_P(
  endings, batch_in_progress,
  testing::Values(
    batch_ending{"the gate is stopped",
                 [](virtual_time&, scripted_worker&, const caf::actor& g) {
                   stop_gate(g);
                 }},
    batch_ending{"the worker dies", [](virtual_time&, scripted_worker& w,
                                       const caf::actor&) { w.quit(); }},
    batch_ending{"the deadline passes",
                 [](virtual_time& world, scripted_worker&, const caf::actor&) {
                   world.advance(1min);
                 }},
    batch_ending{"the worker answers",
                 [](virtual_time&, scripted_worker& w, const caf::actor&) {
                   batch_reply all;
                   for (auto& x : w.open_as<batch>(0).items)
                     all.results.push_back(
                       caf::make_message(x.get_as<int>(0) * 2));
                   w.answer(std::move(all));
                 },
                 true}));

double end_batch(const batch_ending& how, int n) {
  virtual_time world;
  scripted_worker w{world};
  auto size = static_cast<std::uint32_t>(n);
  auto g = spawn_gate(
    world, w.handle(),
    stack{}.batcher({.max_items = size, .max_delay = 1h, .max_waiting = size}));
  // On CAF 1.x the time that an actor takes for a request of its own grows with
  // the number of those that are open.
  std::vector<probe> callers;
  for (int i = 0; i < n; i += 1'000)
    callers.push_back(world.make_probe());
  std::vector<pending_answer> answers;
  answers.reserve(size);
  auto deadline = world.now() + 1min;
  for (std::size_t i = 0; i < size; ++i)
    answers.push_back(callers[i % callers.size()].request(
      g, wrap(static_cast<int>(i)).by(deadline)));
  world.run_until_idle(10'000'000);
  EXPECT_EQ(w.open(), 1u);
  auto start = thread_seconds();
  how.run(world, w, g);
  world.run_until_idle(10'000'000);
  auto took = thread_seconds() - start;
  auto wrong = 0;
  for (int i = 0; i < n; ++i) {
    auto& a = answers[static_cast<std::size_t>(i)];
    auto right = how.answered ? a.ok() && a.value<int>() == 2 * i : !a.ok();
    wrong += a.count() != 1 || !right;
  }
  EXPECT_EQ(wrong, 0) << "of " << n;
  world.kill(g);
  world.kill(w.handle());
  for (auto& x : callers)
    world.kill(x.handle());
  expect_nothing_left(world);
  return took;
}

TEST_P(batch_in_progress, each_of_100000_items_has_one_answer) {
  expect_linear(12'500, 100'000,
                [](int n) { return end_batch(GetParam(), n); });
}

// -- lost answers -------------------------------------------------------------

/// Answers no request, not even with an error.
caf::behavior silent() {
  return {[](int) { return caf::delegated<int>{}; }};
}

// No requests: whoever sends these would keep the answers.
void lose_answers(virtual_time& world, const caf::actor& g, int n) {
  for (int i = 0; i < n; ++i) {
    world.send(g, wrap(i).by(world.now() + 1ms));
    world.advance(1ms);
  }
}

TEST(answers_that_never_come, take_no_memory_in_their_gate) {
  virtual_time world;
  auto w = caf::actor_cast<caf::actor>(world.system().spawn(silent));
  auto g = spawn_gate(world, w, stack{"before a worker that is silent"});
  lose_answers(world, g, 1'000);
  auto before = mallinfo2().uordblks;
  lose_answers(world, g, 50'000);
  // Reads 0 where a sanitizer replaces the allocator.
  EXPECT_LT(mallinfo2().uordblks, before + 1'000'000);
  auto s = world.request(g, get_status{}).value<status>();
  EXPECT_EQ(s.metrics.at("attempts"), 51'000);
  EXPECT_EQ(s.metrics.at("expired"), 51'000);
  world.kill(g);
  world.kill(w);
  expect_nothing_left(world);
}

// -- gates --------------------------------------------------------------------

double stop_all(int n) {
  virtual_time world;
  scripted_worker w{world, doubles()};
  std::vector<caf::actor> gates;
  for (int i = 0; i < n; ++i)
    gates.push_back(spawn_gate(world, w.handle(), stack{"one of many"}));
  world.run_until_idle(10'000'000);
  auto start = thread_seconds();
  for (auto& x : gates)
    stop_gate(x);
  world.run_until_idle(10'000'000);
  auto took = thread_seconds() - start;
  for (auto& x : gates)
    EXPECT_TRUE(portable::is_down(x));
  gates.clear();
  world.kill(w.handle());
  expect_nothing_left(world);
  return took;
}

TEST(gates_before_one_worker, stop_in_linear_time) {
  expect_linear(1'250, 10'000, stop_all);
}

// Those that have stopped get nothing, and the others get it all.
TEST(gates_before_one_worker, are_notified_of_its_end) {
  virtual_time world;
  scripted_worker w{world, doubles()};
  std::vector<caf::actor> gates;
  for (int i = 0; i < 300; ++i)
    gates.push_back(spawn_gate(world, w.handle(), stack{"one of many"}));
  world.run_until_idle();
  for (std::size_t i = 0; i < gates.size(); ++i)
    if (i % 3 != 0)
      stop_gate(gates[i]);
  world.run_until_idle();
  w.quit();
  world.run_until_idle();
  for (std::size_t i = 0; i < gates.size(); ++i) {
    EXPECT_EQ(portable::is_down(gates[i]), i % 3 != 0);
    if (i % 3 == 0) {
      EXPECT_EQ(world.request(gates[i], get_status{}).value<status>().worker,
                worker_state::down);
    }
    world.kill(gates[i]);
  }
  expect_nothing_left(world);
}

// -- a group ------------------------------------------------------------------

/// Ends for a negative number.
caf::behavior mortal(caf::event_based_actor* self) {
  return {[self](int x) {
    if (x < 0)
      self->quit(caf::exit_reason::user_shutdown);
    return 2 * x;
  }};
}

// Of `n` gates in a group one loses its worker, three times, while each has
// calls that wait for all to start again.
double restart_all(int n) {
  virtual_time world;
  auto group = spawn_supervision_group(
    world, {.strategy = group_strategy::one_for_all});
  auto size = static_cast<std::size_t>(n);
  std::vector<caf::actor> gates;
  for (std::size_t i = 0; i < size; ++i)
    gates.push_back(
      spawn_gate(world,
                 worker::supervised(
                   [](caf::actor_system& sys) {
                     return caf::expected<caf::actor>{
                       caf::actor_cast<caf::actor>(sys.spawn(mortal))};
                   },
                   {.restart = schedule::constant(1s)})
                   .in_group(group, static_cast<std::uint32_t>(i)),
                 stack{"one of a group"}));
  world.run_until_idle(10'000'000);
  auto start = thread_seconds();
  for (std::size_t round = 1; round <= 3; ++round) {
    world.user().send(gates[round * size / 4], -1);
    world.run_until_idle(10'000'000);
    std::vector<pending_answer> answers;
    for (std::size_t i = 0; i < size; ++i)
      answers.push_back(world.user().request(gates[i], static_cast<int>(i)));
    world.advance(1s);
    auto right = 0;
    for (std::size_t i = 0; i < size; ++i)
      right += answers[i].ok()
               && answers[i].value<int>() == 2 * static_cast<int>(i);
    EXPECT_EQ(right, n);
  }
  for (auto& x : gates)
    stop_gate(x);
  world.run_until_idle(10'000'000);
  auto took = thread_seconds() - start;
  gates.clear();
  group = {};
  expect_nothing_left(world);
  return took;
}

TEST(workers_of_a_group, restart_in_linear_time) {
  expect_linear(250, 2'000, restart_all);
}

// -- subscribers --------------------------------------------------------------

struct event_tally {
  std::int64_t events = 0;
};

class event_listener final : public caf::event_based_actor {
public:
  event_listener(caf::actor_config& cfg, std::shared_ptr<event_tally> all)
    : caf::event_based_actor(cfg), all_(std::move(all)) {}

  caf::behavior make_behavior() override {
    return {[this](const event&) { ++all_->events; },
            [this](const caf::actor& gate) { send(gate, subscribe{}); }};
  }

private:
  const std::shared_ptr<event_tally> all_;
};

// Each of `n` actors subscribes to as many of `n` gates as a gate may have
// subscribers; each gate sends an event; half of the actors die; each gate
// sends another one, and ends.
double subscribe_all(int n) {
  virtual_time world;
  scripted_worker w{world, doubles()};
  auto all = std::make_shared<event_tally>();
  std::vector<caf::actor> gates;
  std::vector<caf::actor> actors;
  for (int i = 0; i < n; ++i) {
    gates.push_back(
      spawn_gate(world, w.handle(), stack{}.breaker({.name = "b"})));
    actors.push_back(
      caf::actor_cast<caf::actor>(world.system().spawn<event_listener>(all)));
  }
  world.run_until_idle(10'000'000);
  auto each = std::min(static_cast<std::size_t>(n), max_subscribers);
  auto start = thread_seconds();
  for (std::size_t i = 0; i < actors.size(); ++i)
    for (std::size_t k = 0; k < each; ++k)
      world.user().send(actors[i], gates[(i + k) % gates.size()]);
  world.run_until_idle(10'000'000);
  auto say = [&](operator_command c) {
    for (auto& g : gates)
      world.user().send(g, command{c, "b"});
    world.run_until_idle(10'000'000);
  };
  auto expected = static_cast<std::int64_t>(gates.size() * each);
  say(operator_command::observe);
  EXPECT_EQ(all->events, expected);
  for (std::size_t i = 0; i < actors.size(); i += 2)
    world.kill(actors[i]);
  world.run_until_idle(10'000'000);
  say(operator_command::enable);
  EXPECT_EQ(all->events, expected + expected / 2);
  for (auto& g : gates)
    stop_gate(g);
  world.run_until_idle(10'000'000);
  auto took = thread_seconds() - start;
  for (auto& x : actors)
    world.kill(x);
  gates.clear();
  actors.clear();
  world.kill(w.handle());
  expect_nothing_left(world);
  return took;
}

TEST(subscriptions, of_1000_actors_to_1000_gates_are_all_served) {
  expect_linear(300, 1'000, subscribe_all);
}

} // namespace
} // namespace caisson::test
