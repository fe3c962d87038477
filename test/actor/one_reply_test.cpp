// One answer per request, whatever happens to worker, gate and caller, and
// whatever the call is doing when it happens.
#include "support/local_proxy.hpp"
#include "support/world.hpp"

#include <functional>
#include <ostream>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

/// What the call is doing.
struct situation {
  std::string name;
  /// The stack that brings it there; the worker is mute.
  std::function<stack()> policies;
  /// Calls made before it to bring it there.
  int before = 0;
};

/// What happens then.
struct mishap {
  std::string name;
  std::function<void(virtual_time&, scripted_worker&, const caf::actor&)> run;
};

std::ostream& operator<<(std::ostream& out, const situation& x) {
  return out << x.name;
}
std::ostream& operator<<(std::ostream& out, const mishap& x) {
  return out << x.name;
}

std::vector<situation> situations() {
  auto one_at_a_time = [] {
    return stack{}.semaphore({.permits = 1, .max_waiters = 9});
  };
  return {
    {"in flight", [] { return stack{}; }, 0},
    {"parked at a semaphore", one_at_a_time, 1},
    {"parked at a limiter",
     [] {
       return stack{}.limiter(
         {.rate = 1, .per = 20s, .burst = 1, .max_wait = 60s});
     },
     1},
    {"in a forming batch",
     [] { return stack{}.batcher({.max_items = 5, .max_delay = 20s}); }, 1},
    {"in a batch under way",
     [] { return stack{}.batcher({.max_items = 2, .max_delay = 20s}); }, 1},
    {"behind all layers",
     [] {
       return stack{}
         .deadline({.timeout = 25s})
         .retrier({.backoff = schedule::constant(1s), .idempotent = true})
         .breaker({.threshold = 100})
         .limiter({.rate = 1000, .burst = 100})
         .semaphore({.permits = 100});
     },
     0},
    {"under a fallback",
     [] { return stack{}.fallback({alternative::answer(-1)}); }, 0},
    {"under a deadline per attempt",
     [] {
       return stack{}
         .retrier({.max_attempts = 3,
                   .backoff = schedule::constant(1s),
                   .idempotent = true})
         .deadline({.timeout = 4s});
     },
     0},
  };
}

std::vector<mishap> mishaps() {
  return {
    {"nothing, for an hour", [](auto&, auto&, auto&) {}},
    {"the worker answers late",
     [](virtual_time& world, scripted_worker& w, const caf::actor&) {
       world.advance(31s);
       while (w.open() > 0)
         w.answer(1);
     }},
    {"the worker answers an error",
     [](virtual_time& world, scripted_worker& w, const caf::actor&) {
       for (int i = 0; i < 10; ++i) {
         while (w.open() > 0)
           w.fail(caf::make_error(caf::sec::end_of_stream));
         world.advance(2s);
       }
     }},
    {"the worker quits with the request taken",
     [](virtual_time&, scripted_worker& w, const caf::actor&) { w.quit(); }},
    {"the worker is killed", [](virtual_time& world, scripted_worker& w,
                                const caf::actor&) { world.kill(w.handle()); }},
    {"the gate is stopped",
     [](virtual_time& world, scripted_worker&, const caf::actor& g) {
       stop_gate(g);
       world.run_until_idle();
     }},
    {"the gate is killed", [](virtual_time& world, scripted_worker&,
                              const caf::actor& g) { world.kill(g); }},
    {"the gate is drained",
     [](virtual_time& world, scripted_worker& w, const caf::actor& g) {
       world.send(g, drain{});
       while (w.open() > 0)
         w.answer(1);
     }},
    {"the gate is drained and then stopped",
     [](virtual_time& world, scripted_worker&, const caf::actor& g) {
       world.send(g, drain{});
       world.advance(1s);
       stop_gate(g);
       world.run_until_idle();
     }},
    {"the layers are disabled",
     [](virtual_time& world, scripted_worker& w, const caf::actor& g) {
       world.request(g, command{operator_command::off});
       while (w.open() > 0)
         w.answer(1);
     }},
    {"the layers only observe",
     [](virtual_time& world, scripted_worker& w, const caf::actor& g) {
       world.request(g, command{operator_command::observe});
       while (w.open() > 0)
         w.answer(1);
     }},
    {"everything is reset",
     [](virtual_time& world, scripted_worker& w, const caf::actor& g) {
       world.request(g, command{operator_command::reset});
       while (w.open() > 0)
         w.answer(1);
     }},
    {"worker and gate die together",
     [](virtual_time& world, scripted_worker& w, const caf::actor& g) {
       stop_gate(w.handle());
       stop_gate(g);
       world.run_until_idle();
     }},
  };
}

class one_reply_test : public testing::TestWithParam<
                         std::tuple<situation, mishap, host_kind, int>> {
protected:
  one_reply_test()
    : seed(std::get<3>(GetParam())),
      world(seed == 0 ? std::optional<std::uint64_t>{}
                      : std::optional<std::uint64_t>(seed)) {}
  int seed;
  virtual_time world;
};

INSTANTIATE_TEST_SUITE_P(all, one_reply_test,
                         testing::Combine(testing::ValuesIn(situations()),
                                          testing::ValuesIn(mishaps()),
                                          testing::Values(host_kind::gate,
                                                          host_kind::local),
                                          testing::Range(0, 8)));

TEST_P(one_reply_test, every_request_gets_exactly_one_answer) {
  auto& [situation, mishap, host, order] = GetParam();
  scripted_worker w{world};
  auto g = spawn_host(host, world, w.handle(), situation.policies());
  world.run_until_idle();
  std::vector<pending_answer> answers;
  for (int i = 0; i <= situation.before; ++i)
    answers.push_back(world.request(g, i));
  world.send(g, 77); // A plain send must not disturb anybody.
  mishap.run(world, w, g);
  world.advance(1h);
  for (auto& a : answers)
    EXPECT_EQ(a.count(), 1u);
  if (!portable::is_down(g)) {
    // Nothing is left over: no call, no permit, no waiter.
    auto s = world.request(g, get_status{}).value<status>();
    EXPECT_EQ(s.metrics.at("in_progress"), 0);
    EXPECT_EQ(s.metrics.at("timers"), 0);
    for (auto& l : s.layers)
      for (auto name : {"in_use", "waiting", "outstanding", "running"})
        if (auto i = l.metrics.find(name); i != l.metrics.end()) {
          EXPECT_EQ(i->second, 0) << l.name << "." << name;
        }
  }
  world.kill(g);
  world.kill(w.handle());
  EXPECT_EQ(world.timers(), 0u);
  EXPECT_EQ(world.actors(), 0u);
}

class caller_test : public world_test {};
CAISSON_ALL_ORDERS(caller_test);

TEST_P(caller_test, a_dead_caller_leaves_nothing_behind) {
  for (auto& s : situations()) {
    auto w = make_worker();
    auto g = gate(w.handle(), s.policies());
    auto caller = world.make_probe();
    for (int i = 0; i <= s.before; ++i)
      caller.request(g, i);
    world.run_until_idle();
    world.kill(caller.handle());
    world.advance(1h);
    EXPECT_EQ(metric_of(g, "in_progress"), 0) << s.name;
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

TEST_P(caller_test, a_gate_that_nobody_knows_still_answers) {
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
