// Two proxies of the same actor of another node: what CAF has while a
// connection was lost and made again, and the end of the first one is not yet
// known. Their addresses are equal.
#include "support/forged.hpp"
#include "support/world.hpp"

namespace caisson::test {
namespace {

// Counts what it gets.
class proxy final : public portable::relay {
public:
  using portable::relay::relay;
  int received = 0;

protected:
  bool receive(caf::mailbox_element_ptr, portable::run_context*) override {
    ++received;
    return true;
  }
};

class equal_addresses : public world_test {
protected:
  // All of them have the same number.
  caf::strong_actor_ptr make() {
    return portable::make_relay<proxy>(world.system(), 4711);
  }

  static proxy& of(const caf::strong_actor_ptr& x) {
    return *static_cast<proxy*>(x->get());
  }

  caf::actor permits() {
    return gate(worker{}, stack{}.semaphore({.permits = 2}));
  }

  caf::strong_actor_ptr before = make();
  caf::strong_actor_ptr after = make();
};
CAISSON_ALL_ORDERS(equal_addresses);

TEST_P(equal_addresses, each_of_them_gives_back_what_it_held) {
  auto g = permits();
  ASSERT_EQ(caf::actor_cast<caf::actor_addr>(before),
            caf::actor_cast<caf::actor_addr>(after));
  forge(g, before, 1, caf::make_message(acquire{}));
  forge(g, after, 2, caf::make_message(acquire{}));
  world.run_until_idle();
  ASSERT_EQ(metric_of(g, "leases"), 2);
  of(before).close();
  world.run_until_idle();
  EXPECT_EQ(metric_of(g, "leases"), 1);
  of(after).close();
  world.run_until_idle();
  EXPECT_EQ(metric_of(g, "leases"), 0);
}

TEST_P(equal_addresses, the_end_of_the_first_is_not_that_of_the_second) {
  auto g = permits();
  forge(g, before, 0, caf::make_message(subscribe{}));
  forge(g, after, 0, caf::make_message(subscribe{}));
  world.run_until_idle();
  of(before).close();
  world.run_until_idle();
  auto count = of(after).received;
  world.request(g, command{operator_command::reset, "semaphore"});
  EXPECT_GT(of(after).received, count);
  of(after).close();
}

} // namespace
} // namespace caisson::test
