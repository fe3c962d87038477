// One answer per request, whatever happens to worker, gate and caller, and
// whatever the call is doing when it happens.
#include "support/local_proxy.hpp"
#include "support/quiescent.hpp"
#include "support/reply_situations.hpp"
#include "support/world.hpp"

#include <functional>
#include <ostream>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

/// What happens then.
struct disturbance {
  std::string name;
  std::function<void(two_workers&, const caf::actor& gate)> run;
};

std::ostream& operator<<(std::ostream& out, const disturbance& x) {
  return out << x.name;
}

void answer_all(scripted_worker& w) {
  while (w.open() > 0)
    w.answer(1);
}

void fail_all(virtual_time& world, scripted_worker& w) {
  for (int i = 0; i < 10; ++i) {
    while (w.open() > 0)
      w.fail(caf::make_error(caf::sec::end_of_stream));
    world.advance(2s);
  }
}

std::vector<disturbance> disturbances() {
  return {
    {"nothing, for an hour", [](auto&, auto&) {}},
    {"the worker answers late",
     [](two_workers& x, auto&) {
       x.world.advance(31s);
       answer_all(x.worker);
     }},
    {"the worker answers an error",
     [](two_workers& x, auto&) { fail_all(x.world, x.worker); }},
    {"the worker quits with the request taken",
     [](two_workers& x, auto&) { x.worker.quit(); }},
    {"the worker is killed",
     [](two_workers& x, auto&) { x.world.kill(x.worker.handle()); }},
    {"the gate is stopped",
     [](two_workers& x, const caf::actor& g) {
       stop_gate(g);
       x.world.run_until_idle();
     }},
    {"the gate is killed",
     [](two_workers& x, const caf::actor& g) { x.world.kill(g); }},
    {"the gate is drained",
     [](two_workers& x, const caf::actor& g) {
       x.world.send(g, drain{});
       answer_all(x.worker);
     }},
    {"the gate is drained and then stopped",
     [](two_workers& x, const caf::actor& g) {
       x.world.send(g, drain{});
       x.world.advance(1s);
       stop_gate(g);
       x.world.run_until_idle();
     }},
    {"the layers are disabled",
     [](two_workers& x, const caf::actor& g) {
       x.world.request(g, command{operator_command::off});
       answer_all(x.worker);
     }},
    {"the layers only observe",
     [](two_workers& x, const caf::actor& g) {
       x.world.request(g, command{operator_command::observe});
       answer_all(x.worker);
     }},
    {"everything is reset",
     [](two_workers& x, const caf::actor& g) {
       x.world.request(g, command{operator_command::reset});
       answer_all(x.worker);
     }},
    {"worker and gate die together",
     [](two_workers& x, const caf::actor& g) {
       stop_gate(x.worker.handle());
       stop_gate(g);
       x.world.run_until_idle();
     }},
  };
}

// For calls that depend on the second actor as well.
std::vector<disturbance> disturbances_of_second() {
  return {
    {"the second actor answers late",
     [](two_workers& x, auto&) {
       x.world.advance(31s);
       answer_all(x.second);
     }},
    {"the second actor answers an error",
     [](two_workers& x, auto&) { fail_all(x.world, x.second); }},
    {"both answer",
     [](two_workers& x, auto&) {
       answer_all(x.second);
       answer_all(x.worker);
     }},
    {"the second actor quits with the request taken",
     [](two_workers& x, auto&) { x.second.quit(); }},
    {"both are killed",
     [](two_workers& x, auto&) {
       caf::anon_send_exit(x.worker.handle(), caf::exit_reason::kill);
       x.world.kill(x.second.handle());
     }},
    {"the second actor dies while the gate drains",
     [](two_workers& x, const caf::actor& g) {
       x.world.send(g, drain{});
       x.second.quit();
       answer_all(x.worker);
     }},
    {"the layers are disabled before the second actor answers",
     [](two_workers& x, const caf::actor& g) {
       x.world.request(g, command{operator_command::off});
       answer_all(x.second);
     }},
    {"everything is reset before the second actor answers",
     [](two_workers& x, const caf::actor& g) {
       x.world.request(g, command{operator_command::reset});
       answer_all(x.second);
     }},
  };
}

class one_reply_test : public testing::TestWithParam<
                         std::tuple<situation, disturbance, host_kind, int>> {
protected:
  one_reply_test()
    : seed(std::get<3>(GetParam())),
      world(seed == 0 ? std::optional<std::uint64_t>{}
                      : std::optional<std::uint64_t>(seed)) {}

  // Brings the last of the calls to where it is to be.
  void ask(const situation& where, const caf::actor& g) {
    for (int i = 0; i <= where.before; ++i) {
      answers.push_back(world.user().request_message(g, where.content(i)));
      world.run_until_idle();
      world.advance(where.pause);
    }
    // A plain send must not disturb anybody.
    world.user().send_message(g, where.content(77));
    world.run_until_idle();
    world.advance(where.wait);
  }

  // What was acknowledged is written as soon as the worker can do it. Returns
  // whether it could.
  bool wait_for_writes() {
    if (!cast.worker.alive())
      return false;
    cast.worker.become(scripted_worker::always(1));
    answer_all(cast.worker);
    world.advance(1h);
    return true;
  }

  int seed;
  virtual_time world;
  two_workers cast{world, scripted_worker{world}, scripted_worker{world}};
  std::vector<pending_answer> answers;
};

INSTANTIATE_TEST_SUITE_P(all, one_reply_test,
                         testing::Combine(testing::ValuesIn(situations::all()),
                                          testing::ValuesIn(disturbances()),
                                          testing::Values(host_kind::gate,
                                                          host_kind::local),
                                          testing::Range(0, 8)));

INSTANTIATE_TEST_SUITE_P(
  second, one_reply_test,
  testing::Combine(testing::ValuesIn(situations::with_second()),
                   testing::ValuesIn(disturbances_of_second()),
                   testing::Values(host_kind::gate, host_kind::local),
                   testing::Range(0, 8)));

TEST_P(one_reply_test, every_request_gets_exactly_one_answer) {
  auto& [situation, disturbance, host, order] = GetParam();
  situation.prepare(cast);
  auto g = spawn_host(host, world, situation.behind(cast),
                      situation.policies(cast));
  world.run_until_idle();
  ask(situation, g);
  disturbance.run(cast, g);
  world.advance(1h);
  for (auto& a : answers)
    EXPECT_EQ(a.count(), 1u);
  auto is_complete = !situation.writes || wait_for_writes();
  // Nothing is left over: no call, no permit, no waiter.
  if (is_complete && !portable::is_down(g))
    expect_quiescent(world.request(g, get_status{}).value<status>());
  world.kill(g);
  EXPECT_TRUE(feature_flags::of(&world.system())->all_off().empty());
  world.kill(cast.worker.handle());
  world.kill(cast.second.handle());
  EXPECT_EQ(world.timers(), 0u);
  EXPECT_EQ(world.actors(), 0u);
}

class caller_test : public world_test {};
CAISSON_ALL_ORDERS(caller_test);

TEST_P(caller_test, a_dead_caller_leaves_nothing_behind) {
  for (auto& s : situations::all()) {
    two_workers cast{world, make_worker(), make_worker()};
    s.prepare(cast);
    auto g = gate(s.behind(cast), s.policies(cast));
    auto caller = world.make_probe();
    for (int i = 0; i <= s.before; ++i) {
      caller.request_message(g, s.content(i));
      world.run_until_idle();
      world.advance(s.pause);
    }
    world.advance(s.wait);
    world.kill(caller.handle());
    world.advance(1h);
    if (!s.writes)
      expect_quiescent(look(g), s.name + ": ");
    own(cast.worker.handle());
  }
}

TEST_P(caller_test, a_request_in_the_mailbox_of_a_stopped_gate_bounces) {
  auto w = make_worker();
  auto g = gate(w.handle(), stack{});
  stop_gate(g);
  auto answer = world.user().request(g, 1);
  world.run_until_idle();
  EXPECT_EQ(answer.count(), 1u);
  EXPECT_FALSE(answer.ok());
}

TEST_P(caller_test, a_request_in_the_mailbox_of_a_dying_worker_is_answered) {
  auto w = make_worker();
  auto g = gate(w.handle(), stack{});
  auto in_mailbox = world.user().request(g, 1);
  caf::anon_send_exit(w.handle(), caf::exit_reason::user_shutdown);
  auto behind_it = world.user().request(g, 2);
  world.run_until_idle();
  for (auto& answer : {in_mailbox, behind_it}) {
    EXPECT_EQ(answer.count(), 1u);
    EXPECT_TRUE(answer.is(errc::worker_down));
  }
}

TEST_P(caller_test, a_worker_that_throws_is_an_error_once) {
  class thrower final : public caf::event_based_actor {
  public:
    using caf::event_based_actor::event_based_actor;
    caf::behavior make_behavior() override {
      set_exception_handler([](std::exception_ptr&) -> caf::error {
        return caf::sec::runtime_error;
      });
      return {[](int) -> int { throw std::runtime_error{"boom"}; }};
    }
  };
  auto w = world.system().spawn<thrower>();
  auto g = gate(worker{caf::actor_cast<caf::actor>(w)}, stack{});
  auto first = world.user().request(g, 1);
  auto second = world.user().request(g, 2);
  world.run_until_idle();
  EXPECT_EQ(first.count(), 1u);
  EXPECT_EQ(second.count(), 1u);
  EXPECT_FALSE(first.ok());
  EXPECT_TRUE(second.is(errc::worker_down));
}

TEST_P(caller_test, a_gate_without_handles_still_answers) {
  auto w = make_worker();
  auto answer = [&] {
    auto g = spawn_gate(world, w.handle(), stack{}.default_deadline(5s));
    return world.request(g, 1);
  }();
  world.advance(5s);
  EXPECT_TRUE(answer.is(errc::deadline_exceeded));
  w.answer(1); // The worker held the last reference.
}

} // namespace
} // namespace caisson::test
