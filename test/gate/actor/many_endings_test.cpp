// Up to a hundred thousand calls in one gate that end together: each has one
// answer, nothing is left of them, and it takes a few messages for each.
#include <caisson/stack/stack_replacement.hpp>

#include "support/local_proxy.hpp"
#include "support/quiescent.hpp"
#include "support/reply_situations.hpp"
#include "support/world.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <ostream>
#include <set>
#include <tuple>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

constexpr int call_count = 100'000;
// Where there are many of them: enough that what is quadratic takes too long.
constexpr int small_burst = 10'000;

// Keeps all requests until it is asked to answer them.
class deferring_worker final : public caf::event_based_actor {
public:
  using caf::event_based_actor::event_based_actor;
  caf::behavior make_behavior() override {
    return {[this](int) -> caf::result<int> {
              promises_.push_back(make_response_promise<int>());
              return promises_.back();
            },
            [this](const std::string&) {
              for (auto& x : promises_)
                x.deliver(1);
              promises_.clear();
            }};
  }
  void on_exit() override { promises_.clear(); }

private:
  std::vector<caf::typed_response_promise<int>> promises_;
};

struct burst_actors {
  caf::actor worker;
  caf::actor second;
  caf::actor gate;
};

// What all the calls are doing.
struct burst_place {
  std::string name;
  std::function<stack(const burst_actors&)> policies;
  // How many of them go down to somebody, if there are so many.
  int sent = call_count;
};

std::ostream& operator<<(std::ostream& out, const burst_place& x) {
  return out << x.name;
}

std::vector<burst_place> burst_places() {
  return {
    {"loading a cold key",
     [](auto&) { return stack{}.cache({}, situations::one_key()); }, 1},
    {"loading keys of their own",
     [](auto&) {
       return stack{}.cache({}, cache_forms::keyed_by<int>(
                                  [](int x) { return std::to_string(x); }));
     }},
    {"met by silence",
     [](auto&) {
       return stack{}.add<chaos>(situations::only(&chaos_config::silence_rate));
     },
     0},
    {"waiting for a permit of a key",
     [](auto&) {
       return stack{}.add<keyed<semaphore>>(
         {{.permits = 1, .max_waiters = 1'000}});
     },
     1'000},
    {"with a policy each",
     [](auto&) {
       return stack{}.add<keyed<retrier>>(
         {{.max_attempts = 1}, {.max_keys = 1'000}});
     }},
    {"with the canary",
     [](const burst_actors& x) {
       return stack{}.add<canary>(situations::all_calls(), x.second);
     }},
    {"being verified", [](const burst_actors& x) {
       return stack{}
         .retrier({.verify_timeout = 20s}, verifier::by(x.second))
         .deadline({.timeout = 5s});
     }}};
}

// How they end.
struct burst_ending {
  std::string name;
  std::function<void(virtual_time&, const burst_actors&)> run;
};

std::ostream& operator<<(std::ostream& out, const burst_ending& x) {
  return out << x.name;
}

std::vector<burst_ending> burst_endings() {
  return {
    {"their deadline passes", [](auto&, auto&) {}},
    {"the others answer",
     [](virtual_time& world, const burst_actors& x) {
       world.send(x.second, "go on");
       world.send(x.worker, "go on");
     }},
    {"the others die",
     [](virtual_time& world, const burst_actors& x) {
       caf::anon_send_exit(x.second, caf::exit_reason::kill);
       world.kill(x.worker);
     }},
    {"the gate is stopped",
     [](virtual_time& world, const burst_actors& x) {
       stop_gate(x.gate);
       world.run_until_idle();
     }},
  };
}

// A stack without layers takes the place of theirs. Layers that are gone have
// to end what they hold.
burst_ending reloaded() {
  return {"another stack comes, and the others answer",
          [](virtual_time& world, const burst_actors& x) {
            auto next = detail::stack_replacement{stack{}};
            auto done = world.request(
              x.gate,
              detail::replace_stack{
                std::make_shared<const detail::stack_replacement>(next)});
            EXPECT_TRUE(done.ok());
            world.send(x.second, "go on");
            world.send(x.worker, "go on");
          }};
}

class many_endings_test
  : public testing::TestWithParam<
      std::tuple<burst_place, burst_ending, host_kind, int>> {};

INSTANTIATE_TEST_SUITE_P(
  many_endings, many_endings_test,
  testing::Combine(testing::ValuesIn(burst_places()),
                   testing::Values(burst_endings().front()),
                   testing::Values(host_kind::gate),
                   testing::Values(call_count)));

INSTANTIATE_TEST_SUITE_P(small_bursts, many_endings_test,
                         testing::Combine(testing::ValuesIn(burst_places()),
                                          testing::ValuesIn(burst_endings()),
                                          testing::Values(host_kind::gate,
                                                          host_kind::local),
                                          testing::Values(small_burst)));

// As many as one turn of a local gate hands out, and one more.
INSTANTIATE_TEST_SUITE_P(full_turns, many_endings_test,
                         testing::Combine(testing::ValuesIn(burst_places()),
                                          testing::ValuesIn(burst_endings()),
                                          testing::Values(host_kind::gate,
                                                          host_kind::local),
                                          testing::Values(64, 65)));

INSTANTIATE_TEST_SUITE_P(reloaded_bursts, many_endings_test,
                         testing::Combine(testing::ValuesIn(burst_places()),
                                          testing::Values(reloaded()),
                                          testing::Values(host_kind::gate),
                                          testing::Values(65, small_burst)));

TEST_P(many_endings_test, all_have_one_answer) {
  const auto& [where, how, host, calls] = GetParam();
  virtual_time world;
  burst_actors x;
  x.worker = caf::actor_cast<caf::actor>(
    world.system().spawn<deferring_worker>());
  x.second = caf::actor_cast<caf::actor>(
    world.system().spawn<deferring_worker>());
  x.gate = spawn_host(host, world, x.worker, where.policies(x));
  world.run_until_idle();
  auto before = world.handled();
  auto deadline = world.now() + 20s;
  std::vector<pending_answer> answers;
  answers.reserve(static_cast<std::size_t>(calls));
  for (int i = 0; i < calls; ++i)
    answers.push_back(world.user().request(
      x.gate, wrap(i).by(deadline).key(std::to_string(i % 1'000))));
  world.run_until_idle();
  world.advance(6s);
  how.run(world, x);
  world.advance(14s);
  // Each comes and goes, up to three times: call, attempt, look.
  EXPECT_LE(world.handled() - before, 10u * static_cast<unsigned>(calls));
  for (auto& a : answers)
    ASSERT_EQ(a.count(), 1u);
  if (!portable::is_down(x.gate)) {
    auto s = world.request(x.gate, get_status{}).value<status>();
    EXPECT_GE(s.metric("attempts"), std::min(where.sent, calls));
    world.advance(1h);
    expect_quiescent(world.request(x.gate, get_status{}).value<status>());
  }
  for (auto* actor : {&x.gate, &x.worker, &x.second})
    world.kill(*actor);
  EXPECT_EQ(world.timers(), 0u);
  EXPECT_EQ(world.actors(), 0u);
}

// What is acknowledged is one message for each key.
TEST(burst_of_writes, is_one_message_for_each_key) {
  virtual_time world;
  scripted_worker w{world};
  cache_forms forms;
  forms.write = [](const caf::message& x) -> std::optional<cached_write> {
    auto n = x.get_as<int>(0);
    return cached_write{std::to_string(n % 1'000), x, caf::make_message(true)};
  };
  auto g = spawn_gate(world, w.handle(), stack{}.cache({}, forms));
  std::vector<pending_answer> answers;
  for (int i = 0; i < call_count; ++i)
    answers.push_back(world.user().request(g, i));
  world.run_until_idle();
  for (auto& a : answers)
    ASSERT_TRUE(a.ok());
  world.advance(10s);
  // Those that get no answer are few.
  EXPECT_LE(w.count(), 20u);
  w.become(scripted_worker::always(1));
  world.advance(1min);
  EXPECT_LE(w.count(), 1'020u);
  expect_quiescent(world.request(g, get_status{}).value<status>());
  world.kill(g);
  world.kill(w.handle());
  EXPECT_EQ(world.timers(), 0u);
}

// Changes of one key that wait for a write of it, until the worker has that or
// the gate ends.
class burst_of_changes
  : public testing::TestWithParam<std::tuple<bool, host_kind, int>> {};

INSTANTIATE_TEST_SUITE_P(
  all, burst_of_changes,
  testing::Combine(testing::Bool(),
                   testing::Values(host_kind::gate, host_kind::local),
                   testing::Values(64, 65, small_burst)));

TEST_P(burst_of_changes, all_have_one_answer) {
  const auto& [written, host, calls] = GetParam();
  virtual_time world;
  scripted_worker w{world};
  caf::actor g = spawn_host(host, world, w.handle(),
                            stack{}.cache({}, situations::first_writes()));
  std::vector<pending_answer> answers;
  auto deadline = world.now() + 1h;
  for (int i = 0; i <= calls; ++i)
    answers.push_back(world.user().request(g, wrap(i).by(deadline)));
  world.run_until_idle();
  EXPECT_TRUE(answers.front().ok());
  EXPECT_FALSE(answers.back().ready());
  if (written) {
    w.become(scripted_worker::always(1));
    world.advance(1min);
    expect_quiescent(world.request(g, get_status{}).value<status>());
  } else {
    stop_gate(g);
    world.run_until_idle();
  }
  for (auto& a : answers)
    ASSERT_EQ(a.count(), 1u);
  EXPECT_EQ(answers.back().ok(), written);
  world.kill(g);
  world.kill(w.handle());
  EXPECT_EQ(world.timers(), 0u);
  EXPECT_EQ(world.actors(), 0u);
}

} // namespace
} // namespace caisson::test
