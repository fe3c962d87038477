// Reloads on the real scheduler, under load.
#include <caisson/gate.hpp>

#include <support/real_gates.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

struct load_tally {
  std::atomic<bool> stop{false};
  std::atomic<std::int64_t> asked{0};
  std::atomic<std::int64_t> answered{0};
  std::atomic<std::int64_t> refused{0};
  std::atomic<int> clients{0};
  std::promise<void> done;
};

// Keeps requests in progress until it is asked to stop. Only at each tick are
// there more: CAF's workers prefer what they have started themselves, so actors
// that never have to wait for each other keep all others from running.
class steady_client final : public caf::event_based_actor {
public:
  steady_client(caf::actor_config& cfg, caf::actor to,
                std::shared_ptr<load_tally> t)
    : caf::event_based_actor(cfg), to_(std::move(to)), tally_(std::move(t)) {}

  caf::behavior make_behavior() override {
    tick();
    return {[this](int) { tick(); }};
  }

private:
  void tick() {
    if (tally_->stop) {
      if (open_ == 0)
        end();
      return;
    }
    while (open_ < 32)
      ask();
    portable::later(this, duration{1ms}, 0);
  }

  void ask() {
    ++tally_->asked;
    ++open_;
    ++last_;
    portable::ask(this, to_, portable::no_timeout,
                  wrap(last_).within(20s).idempotent().priority(last_ % 3).key(
                    std::to_string(last_ % 5)))
      .then([this](int) { answered(); },
            [this](caf::error&) {
              ++tally_->refused;
              answered();
            });
  }

  void answered() {
    ++tally_->answered;
    if (--open_ == 0 && tally_->stop)
      end();
  }

  void end() {
    if (std::exchange(ended_, true))
      return;
    if (--tally_->clients == 0)
      tally_->done.set_value();
    quit();
  }

  caf::actor to_;
  std::shared_ptr<load_tally> tally_;
  int open_ = 0;
  int last_ = 0;
  bool ended_ = false;
};

class reload_load : public real_gates {};

// -- under load ---------------------------------------------------------------

// The n-th file: other layers each time, every tenth is bad, gate `b` comes and
// goes.
std::string file_number(int n) {
  if (n % 10 == 9)
    return "[gates.a]\nworker = 'echo'\nlayer = [{ kind = 'breaker', "
           "threshold = 0 }]\n";
  std::string out = "[gates.a]\nworker = 'echo'\n";
  auto layer = [&](const std::string& text) {
    out += "[[gates.a.layer]]\n" + text + '\n';
  };
  if (n % 2 == 0)
    layer("kind = 'retrier'\nmax_attempts = 3\nbackoff = '1ms'");
  if (n % 3 != 0)
    layer("kind = 'breaker'\nthreshold = " + std::to_string(1000 + n));
  if (n % 5 < 3)
    layer("kind = 'limiter'\nrate = 1000000\nburst = 1000000");
  if (n % 7 != 6)
    layer("kind = 'semaphore'\npermits = " + std::to_string(1 + n % 40)
          + "\nmax_waiters = 100000");
  if (n % 4 == 3)
    out += "[gates.b]\nworker = 'echo'\n";
  return out;
}

TEST_F(reload_load, a_thousand_times_under_load_nothing_is_lost) {
  write(file_number(0));
  gates = spawn_gates(*sys, dir / "gates.toml", names);
  auto a = gates.find("a");
  auto t = std::make_shared<load_tally>();
  t->clients = 3;
  for (int i = 0; i < 3; ++i)
    sys->spawn<steady_client>(a, t);
  auto good = 0;
  auto bad = 0;
  auto again = 0;
  constexpr auto none = std::string::npos;
  for (int n = 1; n <= 1000; ++n) {
    write(file_number(n));
    auto report = load();
    // Calls of too many earlier files wait at a semaphore.
    while (!report.ok() && report.problems[0].find("still in flight") != none) {
      ++again;
      std::this_thread::sleep_for(1ms);
      report = load();
    }
    report.ok() ? ++good : ++bad;
    EXPECT_EQ(report.ok(), n % 10 != 9)
      << (report.ok() ? "" : report.problems[0]);
    EXPECT_EQ(gates.find("a"), a);
  }
  t->stop = true;
  ASSERT_EQ(t->done.get_future().wait_for(60s), std::future_status::ready)
    << "asked " << t->asked << ", answered " << t->answered;
  EXPECT_EQ(t->asked, t->answered);
  EXPECT_EQ(good, 900);
  EXPECT_EQ(bad, 100);
  // The last file again: nothing of the earlier ones is left.
  write(file_number(1010));
  EXPECT_TRUE(load().ok());
  auto s = look(a);
  EXPECT_EQ(s.metric("in_progress"), 0);
  EXPECT_EQ(s.metric("calls"), t->asked);
  EXPECT_EQ(s.metric("semaphore", "in_use"), 0);
  EXPECT_EQ(s.layers.size(), 4u);
  RecordProperty("calls", std::to_string(t->asked));
  RecordProperty("refused", std::to_string(t->refused));
  RecordProperty("again", again);
  gates = {};
}

// -- queues and limits --------------------------------------------------------

// The n-th file: another order each time, of a semaphore or an adaptive limit,
// with other limits, and what rejects calls comes and goes.
std::string queues_number(int n) {
  std::string out = "[gates.a]\nworker = 'echo'\n";
  auto layer = [&](const std::string& text) {
    out += "[[gates.a.layer]]\n" + text + '\n';
  };
  const char* orders[] = {"fifo",  "lifo",           "adaptive_lifo",
                          "codel", "deadline_first", "priority",
                          "fair"};
  auto queue = "\nmax_waiters = " + std::to_string(20 + n % 90) + "\norder = '"
               + orders[n % 7]
               + "'\nreject_hopeless = " + (n % 2 == 0 ? "true" : "false");
  if (n % 4 != 3)
    layer("kind = 'shedder'\nmax_memory = 0.0\nsample = '10ms'\nwindow = "
          "'10ms'\nmax_delay = '1ms'\nin_flight_factor = "
          + std::string{n % 3 == 0 ? "0.0" : "1.0"});
  if (n % 5 != 4)
    layer("kind = 'throttle'\nmultiplier = " + std::to_string(2 + n % 3)
          + ".0");
  if (n % 6 < 4)
    layer("kind = 'semaphore'\npermits = " + std::to_string(1 + n % 40)
          + queue);
  else
    layer("kind = 'adaptive_limit'\nalgorithm = '"
          + std::string{n % 6 == 4 ? "aimd" : "vegas"} + "'\ninitial_limit = "
          + std::to_string(3 + n % 20) + "\nwindow = '10ms'" + queue);
  return out;
}

TEST_F(reload_load, other_orders_and_limits_under_load_lose_nothing) {
  write(queues_number(0));
  gates = spawn_gates(*sys, dir / "gates.toml", names);
  auto a = gates.find("a");
  auto t = std::make_shared<load_tally>();
  t->clients = 4;
  for (int i = 0; i < 4; ++i)
    sys->spawn<steady_client>(a, t);
  for (int n = 1; n <= 300; ++n) {
    write(queues_number(n));
    auto report = load();
    while (!report.ok()
           && report.problems[0].find("still in flight") != std::string::npos) {
      std::this_thread::sleep_for(1ms);
      report = load();
    }
    ASSERT_TRUE(report.ok()) << "file " << n << ": " << report.problems[0];
  }
  t->stop = true;
  ASSERT_EQ(t->done.get_future().wait_for(60s), std::future_status::ready)
    << "asked " << t->asked << ", answered " << t->answered;
  EXPECT_EQ(t->asked, t->answered);
  EXPECT_LT(t->refused, t->asked);
  write("[gates.a]\nworker = 'echo'\n");
  EXPECT_TRUE(load().ok());
  EXPECT_EQ(look(a).metric("in_progress"), 0);
  write(queues_number(302));
  EXPECT_TRUE(load().ok());
  auto s = look(a);
  EXPECT_EQ(s.metric("calls"), t->asked);
  EXPECT_EQ(s.metric("semaphore", "in_use"), 0);
  EXPECT_EQ(s.metric("semaphore", "waiting"), 0);
  RecordProperty("calls", std::to_string(t->asked));
  RecordProperty("refused", std::to_string(t->refused));
  gates = {};
}

} // namespace
} // namespace caisson::test
