// A worker that carries out each call once, behind retriers.
#include <caisson/gate/deduplicator.hpp>

#include "support/world.hpp"

#include <map>
#include <memory>
#include <string>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

// Takes 100 ms for each number, and adds it to an account: what must not
// happen twice.
class cashier final : public caf::event_based_actor {
public:
  using promise = caf::typed_response_promise<int>;

  cashier(caf::actor_config& cfg, int* account)
    : caf::event_based_actor(cfg), account_(account) {}

  caf::behavior make_behavior() override {
    return {
      [this](const call& c) -> caf::result<int> {
        const auto& key = c.options.idempotency_key;
        auto out = make_response_promise<int>();
        auto x = seen_.receive(key, out, clock().now());
        if (x.what == seen_.known)
          out.deliver(*x.answer);
        else if (x.what == seen_.full)
          out.deliver(make_error(errc::shed));
        else if (x.what == seen_.first)
          begin(key, *portable::get_if<int>(c.payload), out);
        return out;
      },
      [this](const std::string& key) {
        for (auto& other : seen_.finish(key, *account_, clock().now()))
          other.deliver(*account_);
        open_.at(key).deliver(*account_);
        open_.erase(key);
      },
    };
  }

  void on_exit() override {
    open_.clear();
    seen_ = {};
  }

private:
  void begin(const std::string& key, int amount, const promise& out) {
    *account_ += amount;
    open_.emplace(key, out);
    delayed_send(this, 100ms, key);
  }

  int* account_;
  std::map<std::string, promise> open_;
  deduplicator<int, promise> seen_;
};

class deduplicator_test : public world_test {
protected:
  // A gate that gives each attempt 30 ms.
  caf::actor hasty_gate() {
    auto w = own(
      caf::actor_cast<caf::actor>(world.system().spawn<cashier>(&account)));
    return gate(worker{w}.takes_calls(),
                stack{}
                  .retrier({.max_attempts = 0,
                            .backoff = schedule::constant(10ms),
                            .idempotent = true,
                            .idempotency_keys = true,
                            .budget = false})
                  .deadline({.timeout = 30ms}));
  }

  int account = 0;
};
CAISSON_ALL_ORDERS(deduplicator_test);

TEST_P(deduplicator_test, attempts_wait_for_the_one_in_flight) {
  auto g = hasty_gate();
  auto answer = world.request(g, 7);
  world.advance(99ms);
  EXPECT_FALSE(answer.ready());
  world.advance(1ms);
  EXPECT_EQ(answer.value<int>(), 7);
  EXPECT_EQ(account, 7);
  EXPECT_GE(metric_of(g, "attempts"), 3);
  // Another call is another key.
  auto second = world.request(g, 5);
  world.advance(200ms);
  EXPECT_EQ(second.value<int>(), 12);
  EXPECT_EQ(account, 12);
}

TEST_P(deduplicator_test, an_answer_that_came_too_late_is_given_again) {
  auto g = hasty_gate();
  auto first = world.request(g, wrap(7).idempotency_key("a").within(20ms));
  world.advance(200ms);
  EXPECT_TRUE(first.is(errc::deadline_exceeded));
  auto again = world.request(g, wrap(7).idempotency_key("a"));
  EXPECT_EQ(again.value<int>(), 7);
  EXPECT_EQ(account, 7);
}

} // namespace
} // namespace caisson::test
