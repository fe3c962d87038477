// Tickets of a gate inside an actor.
#include "support/world.hpp"

#include <caisson/caf/ticket.hpp>
#include <caisson/local_gate.hpp>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

// What a holder saw.
struct holder_log {
  std::vector<std::string> seen;
  std::map<std::string, std::int64_t> gate;
};

// An actor with a gate inside. Texts say what to do; what came of it is written
// down.
class licensed final : public caf::event_based_actor {
public:
  licensed(caf::actor_config& cfg, stack s, std::shared_ptr<holder_log> d)
    : caf::event_based_actor(cfg), log_(std::move(d)),
      gate_(this, worker{}, s) {}

  caf::behavior make_behavior() override {
    return {[this](const std::string& what) {
      act(what);
      log_->gate = gate_.get_status().metrics;
    }};
  }

private:
  void act(const std::string& what) {
    auto note = [this](std::string text) {
      log_->seen.push_back(std::move(text));
    };
    auto refused = [note](const caf::error& e) {
      note(std::string{caisson::name_of(static_cast<errc>(e.code()))});
    };
    if (what == "acquire") {
      gate_.acquire(
        {.time_left = 5s},
        [this, note](ticket t) {
          note("lent");
          held_.push_back(std::move(t));
        },
        refused);
    } else if (what == "renew") {
      gate_.renew(
        held_.back(), 9s,
        [note](const permit& p) { note("renewed " + to_text(p.expires)); },
        refused);
    } else if (what == "drop") {
      held_.pop_back();
    } else if (what == "swap") {
      held_.pop_back();
      note("dropped");
    } else if (what == "stop") {
      gate_.stop();
    } else if (what == "quit") {
      quit();
    }
  }

  std::shared_ptr<holder_log> log_;
  // Ends after the gate, which it must tolerate.
  std::vector<ticket> held_;
  local_gate<> gate_;
};

class local_ticket_test : public world_test {
protected:
  caf::actor start(stack s) {
    return own(caf::actor_cast<caf::actor>(
      world.system().spawn<licensed>(std::move(s), d)));
  }
  void emit(const caf::actor& x, const std::string& what) {
    world.send(x, what);
  }

  std::shared_ptr<holder_log> d = std::make_shared<holder_log>();
};
CAISSON_ALL_ORDERS(local_ticket_test);

TEST_P(local_ticket_test, a_local_gate_lends_permits) {
  auto x = start(stack{}.semaphore({.permits = 1, .max_waiters = 1}));
  emit(x, "acquire");
  emit(x, "acquire");
  emit(x, "acquire");
  using strings = std::vector<std::string>;
  EXPECT_EQ(d->seen, (strings{"lent", "queue_full"}));
  emit(x, "drop");
  EXPECT_EQ(d->seen, (strings{"lent", "queue_full", "lent"}));
  EXPECT_EQ(d->gate.at("leases"), 1);
  EXPECT_EQ(d->gate.at("succeeded"), 1);
  emit(x, "drop");
  EXPECT_EQ(d->gate.at("leases"), 0);
  EXPECT_EQ(d->gate.at("no_such_permit"), 0);
}

TEST_P(local_ticket_test, the_end_of_one_runs_no_handler_at_once) {
  auto x = start(stack{}.semaphore({.permits = 1, .max_waiters = 1}));
  emit(x, "acquire");
  emit(x, "acquire");
  emit(x, "swap");
  using strings = std::vector<std::string>;
  EXPECT_EQ(d->seen, (strings{"lent", "dropped", "lent"}));
}

TEST_P(local_ticket_test, a_local_gate_renews_permits) {
  auto x = start(stack{}.semaphore({}));
  emit(x, "acquire");
  world.advance(4s);
  emit(x, "renew");
  EXPECT_EQ(d->seen.back(), "renewed 9s");
  world.advance(9s - 1ns);
  emit(x, "");
  EXPECT_EQ(d->gate.at("leases"), 1);
  world.advance(1ns);
  emit(x, "renew");
  EXPECT_EQ(d->seen.back(), "no_such_permit");
  EXPECT_EQ(d->gate.at("leases"), 0);
  emit(x, "drop");
  EXPECT_EQ(d->gate.at("no_such_permit"), 2);
}

TEST_P(local_ticket_test, tickets_outlast_a_gate_that_was_stopped) {
  auto x = start(stack{}.semaphore({}));
  emit(x, "acquire");
  emit(x, "stop");
  emit(x, "renew");
  EXPECT_EQ(d->seen.back(), "cancelled");
  emit(x, "acquire");
  EXPECT_EQ(d->seen.back(), "cancelled");
  emit(x, "drop");
}

TEST_P(local_ticket_test, tickets_outlast_their_actor) {
  auto x = start(stack{}.semaphore({}));
  emit(x, "acquire");
  emit(x, "quit");
}

} // namespace
} // namespace caisson::test
