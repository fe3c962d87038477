// Each handler of a local gate's user runs at most once, exactly once if the
// actor and the gate live on, and nothing is left, whatever runs it and what it
// does.
#include <caisson/caf/error.hpp>
#include <caisson/local_gate.hpp>
#include <caisson/policies/deadline/deadline.hpp>

#include <support/world.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

// -- the table ----------------------------------------------------------------

/// What runs the handler that acts.
enum class cause {
  answer,
  deadline,
  timer,
  death,
  restart,
  listener,
  drain,
  reload,
  refusal,
  stop
};
constexpr std::string_view causes[] = {"answer",  "deadline", "timer", "death",
                                       "restart", "listener", "drain", "reload",
                                       "refusal", "stop"};

/// What it does.
enum class deed { quit, throws, destroy, replace, move, stop, ask, spawn };
constexpr std::string_view deeds[] = {"quit", "throws", "destroy", "replace",
                                      "move", "stop",   "ask",     "spawn"};

struct life_case {
  cause by;
  deed what;
  bool awaited;
};

/// What became of the calls.
struct life_notes {
  int alive = 0;
  int acts = 0;
  /// Over all calls; and when the act began.
  int runs = 0;
  int runs_before = 0;
  /// By call.
  std::map<int, int> handled;
};

// -- the actor ----------------------------------------------------------------

class living_client final : public caf::event_based_actor {
public:
  /// The call whose handler acts.
  static constexpr int acting = 1;

  living_client(caf::actor_config& cfg, life_case c, worker behind, stack s,
                std::shared_ptr<life_notes> log)
    : caf::event_based_actor(cfg), case_(c), behind_(std::move(behind)),
      log_(std::move(log)) {
    ++log_->alive;
    gate_.emplace(this, behind_, s);
  }

  ~living_client() override { --log_->alive; }

  caf::behavior make_behavior() override {
    // As CAF's own, but says nothing.
    set_exception_handler([](std::exception_ptr&) -> caf::error {
      return caf::sec::runtime_error;
    });
    return {[this](int) { go(); }};
  }

private:
  void go() {
    if (case_.by == cause::listener || case_.by == cause::reload)
      gate_->on_event([this, alive = std::make_shared<int>(1)](const event&) {
        auto watch = std::weak_ptr{alive};
        act();
        EXPECT_FALSE(watch.expired()) << "destroyed while it runs";
      });
    for (int i = 0; i < 3; ++i)
      try_to([this, i] { ask(i); });
    try_to([this] {
      if (case_.by == cause::drain)
        gate_->drain([this] { act(); });
      else if (case_.by == cause::reload)
        (void)gate_->reconfigure({"semaphore", {{"permits", "90"}}});
      else if (case_.by == cause::stop)
        gate_->stop();
    });
  }

  /// What throws within this actor's own handler is caught by it.
  void try_to(const std::function<void()>& f) {
    auto replaced = case_.what == deed::replace && log_->acts > 0;
    if (!gate_ || replaced)
      return;
    try {
      f();
    } catch (const std::runtime_error&) {
    }
  }

  void ask(int x) {
    log_->handled[x];
    auto is_acting = x == acting && case_.by != cause::listener
                     && case_.by != cause::reload && case_.by != cause::drain;
    auto done = [this, log = log_, x, is_acting] {
      ++log->handled[x];
      ++log->runs;
      if (is_acting)
        act();
    };
    auto value = [done](int) { done(); };
    auto error = [done](caf::error&) { done(); };
    auto short_time = x == acting && case_.by == cause::deadline;
    auto r = gate_->request(x).within(short_time ? 50ms : 1h);
    case_.awaited ? std::move(r).await(value, error)
                  : std::move(r).then(value, error);
  }

  void act() {
    if (log_->acts++ > 0)
      return;
    log_->runs_before = log_->runs;
    switch (case_.what) {
      case deed::quit:
        return quit();
      case deed::throws:
        throw std::runtime_error{"thrown by a handler"};
      case deed::destroy:
        return gate_.reset();
      case deed::replace:
        *gate_ = local_gate<>{this, behind_, stack{}};
        return;
      case deed::move: {
        auto x = std::move(*gate_);
        gate_.reset();
        gate_.emplace(std::move(x));
        return;
      }
      case deed::stop:
        return gate_->stop();
      case deed::ask:
        ask(3);
        return ask(4);
      case deed::spawn:
        return spawn_others();
    }
  }

  /// Another gate in this actor, and one in another.
  void spawn_others() {
    log_->handled[5];
    auto add_run = [log = log_] {
      ++log->handled[5];
      ++log->runs;
    };
    second_.emplace(this, behind_, stack{});
    second_->request(5).then([add_run](int) { add_run(); },
                             [add_run](caf::error&) { add_run(); });
    log_->handled[6];
    home_system().spawn(
      [log = log_, behind = behind_](caf::event_based_actor* self) {
        auto g = std::make_shared<local_gate<>>(self, behind, stack{});
        auto add_other_run = [log, g] {
          ++log->handled[6];
          ++log->runs;
        };
        g->request(6).within(1h).then(
          [add_other_run](int) { add_other_run(); },
          [add_other_run](caf::error&) { add_other_run(); });
      });
  }

  const life_case case_;
  const worker behind_;
  const std::shared_ptr<life_notes> log_;
  std::optional<local_gate<>> gate_;
  std::optional<local_gate<>> second_;
};

// -- the frame ----------------------------------------------------------------

class local_life_test
  : protected ordered_world,
    public testing::TestWithParam<std::tuple<int, int, bool, int>> {
protected:
  local_life_test()
    : ordered_world(std::get<3>(GetParam())), case_{static_cast<cause>(
                                                      std::get<0>(GetParam())),
                                                    static_cast<deed>(
                                                      std::get<1>(GetParam())),
                                                    std::get<2>(GetParam())} {}

  void TearDown() override { clean_up(); }

  stack layers() const {
    stack s{"life"};
    if (case_.by == cause::timer)
      s.retrier({.max_attempts = 2,
                 .backoff = schedule::constant(1s),
                 .idempotent = true});
    if (case_.by == cause::timer || case_.by == cause::listener)
      s.breaker({.threshold = 1});
    return s.semaphore({.permits = 100});
  }

  worker behind(scripted_worker& w) const {
    if (case_.by == cause::refusal)
      return worker{caf::actor{}};
    if (case_.by == cause::restart)
      return worker::supervised(w.factory(),
                                {.restart = schedule::constant(1s)});
    return worker{w.handle()}.takes_cancelled();
  }

  /// Fails the call that acts.
  void fail_acting(scripted_worker& w) {
    for (std::size_t k = 0; k < w.open(); ++k)
      if (w.open_as<int>(k) == living_client::acting)
        return w.answer_nth(k, caf::make_error(caf::sec::runtime_error));
  }

  void bring_about(scripted_worker& w) {
    switch (case_.by) {
      case cause::answer:
        for (std::size_t k = 0; k < w.open(); ++k)
          if (w.open_as<int>(k) == living_client::acting)
            return w.answer_nth(k, 1);
        return;
      case cause::deadline:
        return world.advance(50ms);
      case cause::timer:
        fail_acting(w);
        return world.advance(1s);
      case cause::listener:
        return fail_acting(w);
      case cause::death:
      case cause::restart:
        return w.quit();
      case cause::drain:
        while (w.open() > 0)
          w.answer(1);
        return;
      default:
        return; // The actor does it.
    }
  }

  /// Whatever is asked for is answered, until nothing is left to do.
  void finish(scripted_worker& w) {
    for (int i = 0; i < 3; ++i) {
      while (w.open() > 0)
        w.answer(1);
      world.advance(1min);
    }
    world.advance(2h);
  }

  /// Whether the actor ends by what it does.
  [[nodiscard]] bool ends() const {
    auto caught = case_.by == cause::refusal || case_.by == cause::reload
                  || case_.by == cause::stop;
    return case_.what == deed::quit || (case_.what == deed::throws && !caught);
  }

  [[nodiscard]] bool ends_gate() const {
    return case_.what == deed::destroy || case_.what == deed::replace;
  }

  const life_case case_;
  std::shared_ptr<life_notes> log = std::make_shared<life_notes>();
};

std::string
name_of_life(const testing::TestParamInfo<std::tuple<int, int, bool, int>>& x) {
  auto [by, what, awaited, order] = x.param;
  return std::string{causes[by]} + '_' + std::string{deeds[what]}
         + (awaited ? "_awaited_" : "_") + std::to_string(order);
}

// FIFO and two random orders.
INSTANTIATE_TEST_SUITE_P(
  all, local_life_test,
  testing::Combine(testing::Range(0, static_cast<int>(std::size(causes))),
                   testing::Range(0, static_cast<int>(std::size(deeds))),
                   testing::Bool(), testing::Range(0, 3)),
  name_of_life);

TEST_P(local_life_test, each_handler_runs_once) {
  auto w = make_worker();
  auto c = caf::actor_cast<caf::actor>(
    world.system().spawn<living_client>(case_, behind(w), layers(), log));
  world.send(c, 0);
  bring_about(w);
  auto ended = portable::is_down(c);
  finish(w);
  EXPECT_EQ(ended, ends()) << "at once, not when its calls end";
  EXPECT_GE(log->acts, 1);
  auto lives = !ends() && !ends_gate();
  EXPECT_TRUE(!lives || log->handled.count(2) == 1);
  for (auto [call, times] : log->handled) {
    EXPECT_LE(times, 1) << call;
    EXPECT_TRUE(!lives || times == 1) << call;
  }
  EXPECT_TRUE(lives || log->runs == log->runs_before)
    << "a handler ran after the end";
  if (!ended)
    world.kill(c);
  c = nullptr;
  world.run_until_idle();
  EXPECT_EQ(log->alive, 0);
}

} // namespace
} // namespace caisson::test
