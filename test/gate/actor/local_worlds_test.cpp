// Random worlds of local gates that are asked, moved, replaced, stopped,
// drained and destroyed at any moment, in handlers as well: whoever asked has
// one answer while gate and actor live, never two, and none after their end.
#include "support/world.hpp"

#include <caisson/local_gate.hpp>

#include <array>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

/// One gate of the model; it may move from variable to variable.
struct gate_notes {
  bool is_gone = false;
};

/// A request, or a drain.
struct wish_notes {
  std::shared_ptr<gate_notes> to;
  int answers = 0;
};

struct world_notes {
  std::vector<std::shared_ptr<wish_notes>> wishes;
  bool actor_gone = false;
  int too_late = 0;
};

class gate_owner final : public caf::event_based_actor {
public:
  gate_owner(caf::actor_config& cfg, caf::actor w, std::uint64_t seed,
             std::shared_ptr<world_notes> log)
    : caf::event_based_actor(cfg), worker_(std::move(w)), random_(seed),
      log_(std::move(log)) {
    for (std::size_t i = 0; i < gates_.size(); ++i)
      make(i);
  }

  caf::behavior make_behavior() override {
    return {[this](int) { act(0); }, [this](bool) { end(); }};
  }

private:
  struct owned_gate {
    std::optional<local_gate<>> gate;
    std::shared_ptr<gate_notes> notes;
  };

  std::size_t pick(std::size_t n) { return random_() % n; }

  stack some_layers() {
    stack s{"random"};
    s.default_deadline(2s);
    if (pick(2) == 0)
      s.retrier({.max_attempts = 3,
                 .backoff = schedule::constant(100ms),
                 .idempotent = true});
    if (pick(2) == 0)
      s.breaker({.threshold = 3, .open = schedule::constant(1s)});
    if (pick(2) == 0)
      s.semaphore({.permits = 2, .max_waiters = 5, .max_wait = 500ms});
    if (pick(3) == 0)
      s.limiter({.rate = 50,
                 .burst = 3,
                 .max_wait = 200ms,
                 .max_waiters = 10,
                 .retry_after_cap = 1s});
    if (pick(3) == 0)
      s.cache({.ttl = 300ms});
    return s;
  }

  void make(std::size_t i) {
    lose(i);
    gates_[i].notes = std::make_shared<gate_notes>();
    gates_[i].gate.emplace(this, worker_, some_layers());
  }

  // The gate in this variable is about to end.
  void lose(std::size_t i) {
    if (gates_[i].notes)
      gates_[i].notes->is_gone = true;
    gates_[i].notes = nullptr;
    gates_[i].gate.reset();
  }

  void act(int depth) {
    if (log_->actor_gone)
      return;
    auto i = pick(gates_.size());
    auto& x = gates_[i];
    if (!x.gate)
      make(i);
    switch (pick(20)) {
      case 0:
        return lose(i);
      case 1:
        return replace(i);
      case 2:
        return move(i, pick(gates_.size()));
      case 3:
        return x.gate->stop();
      case 4:
        return wait_for_drain(x);
      case 5:
        if (pick(8) == 0)
          end();
        return;
      default:
        return ask(x, depth);
    }
  }

  void replace(std::size_t i) {
    auto next = std::make_shared<gate_notes>();
    gates_[i].notes->is_gone = true;
    gates_[i].notes = next;
    *gates_[i].gate = local_gate<>{this, worker_, some_layers()};
  }

  void move(std::size_t from, std::size_t to) {
    if (from == to)
      return;
    auto moved = std::move(*gates_[from].gate);
    auto notes = std::move(gates_[from].notes);
    gates_[from].gate.reset();
    lose(to);
    gates_[to].notes = std::move(notes);
    gates_[to].gate.emplace(std::move(moved));
  }

  void end() {
    log_->actor_gone = true;
    quit();
  }

  std::shared_ptr<wish_notes> note(const owned_gate& x) {
    auto notes = std::make_shared<wish_notes>();
    notes->to = x.notes;
    log_->wishes.push_back(notes);
    return notes;
  }

  void answered(wish_notes& x, int depth) {
    ++x.answers;
    log_->too_late += log_->actor_gone || x.to->is_gone;
    if (depth < 4 && pick(3) == 0)
      act(depth + 1);
  }

  void ask(owned_gate& x, int depth) {
    auto wish = note(x);
    auto value = [this, wish, depth](int) { answered(*wish, depth); };
    auto error = [this, wish, depth](caf::error&) { answered(*wish, depth); };
    auto r = x.gate->request(static_cast<int>(pick(3)))
               .within(50ms * static_cast<int>(1 + pick(40)))
               .key(std::to_string(pick(3)));
    if (pick(6) == 0)
      std::move(r).await(value, error);
    else
      std::move(r).then(value, error);
  }

  void wait_for_drain(owned_gate& x) {
    auto wish = note(x);
    x.gate->drain([this, wish] { answered(*wish, 4); });
  }

  const caf::actor worker_;
  std::mt19937_64 random_;
  const std::shared_ptr<world_notes> log_;
  std::array<owned_gate, 3> gates_;
};

class local_worlds_test : public testing::TestWithParam<int> {};

// Each of them a few dozen worlds.
INSTANTIATE_TEST_SUITE_P(seeds, local_worlds_test, testing::Range(0, 10));

// Returns how many answers there were.
int play_local_world(std::uint64_t seed) {
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  virtual_time world{seed % 3 == 0 ? std::optional<std::uint64_t>{}
                                   : std::optional<std::uint64_t>{seed}};
  std::mt19937_64 random{seed};
  scripted_worker w{world};
  w.become([&random](const caf::message&) -> scripted_worker::reply {
    switch (random() % 5) {
      case 0:
        return scripted_worker::reply::silence();
      case 1:
        return scripted_worker::reply::error(caf::sec::runtime_error);
      default:
        return scripted_worker::reply::value(1);
    }
  });
  auto log = std::make_shared<world_notes>();
  auto owner = caf::actor_cast<caf::actor>(
    world.system().spawn<gate_owner>(w.handle(), seed, log));
  for (int i = 0; i < 80; ++i) {
    world.send(owner, 1);
    if (random() % 2 == 0)
      world.advance(10ms * static_cast<int>(random() % 30));
  }
  world.advance(1min);
  EXPECT_EQ(log->too_late, 0) << "a handler ran after the end";
  EXPECT_EQ(portable::is_down(owner), log->actor_gone);
  auto answers = 0;
  for (const auto& x : log->wishes) {
    answers += x->answers;
    EXPECT_LE(x->answers, 1);
    if (!log->actor_gone && !x->to->is_gone) {
      EXPECT_EQ(x->answers, 1);
    }
  }
  world.send(owner, true);
  owner = nullptr;
  world.kill(w.handle());
  world.run_until_idle();
  EXPECT_EQ(world.timers(), 0u);
  EXPECT_EQ(world.actors(), 0u);
  return answers;
}

TEST_P(local_worlds_test, each_request_has_its_answer) {
  auto answers = 0;
  for (std::uint64_t i = 0; i < 40; ++i)
    answers += play_local_world(static_cast<std::uint64_t>(GetParam()) * 40
                                + i);
  EXPECT_GT(answers, 1'000) << "they end too early";
}

} // namespace
} // namespace caisson::test
