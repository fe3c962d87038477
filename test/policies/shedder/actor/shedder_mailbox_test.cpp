// Gates that are too busy to get to their messages, and shed some of them.
#include "policies/shedder/model/shedder_rig.hpp"
#include "support/local_proxy.hpp"
#include "support/world.hpp"

#include <caisson/gate/guard.hpp>
#include <caisson/stack/add.hpp>
#include <caisson/stack/layers/shedder_layer.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

class congested_gate : public world_test {
protected:
  // Each answer keeps the gate busy for that long.
  worker busy_behind() {
    auto doubling = make_worker(scripted_worker::on<int>([this](int x) {
      if (before_answer)
        before_answer();
      return x * 2;
    }));
    return worker{doubling.handle()}.classified_by(
      [this](const caf::message&) -> std::optional<answer_info> {
        portable::stepper clock{world};
        clock.set_now(clock.now() + work);
        return std::nullopt;
      });
  }

  caf::actor host(bool local, shedder_config c) {
    auto policies = stack{}.add<shedder>(std::move(c));
    if (local)
      return own(local_proxy::spawn(world.system(), busy_behind(), policies));
    return gate(busy_behind(), policies);
  }

  // So many calls at once, some times.
  void burst(const caf::actor& g, int n, int times) {
    auto self = world.make_probe();
    for (; times > 0; --times) {
      std::vector<pending_answer> all;
      for (int i = 0; i < n; ++i)
        all.push_back(self.request(g, i));
      world.run_until_idle();
      for (auto& x : all)
        ASSERT_EQ(x.count(), 1u);
    }
    world.kill(self.handle());
  }

  duration work = 2ms;
  // What the worker does first.
  std::function<void()> before_answer;
};
CAISSON_ALL_ORDERS(congested_gate);

TEST_P(congested_gate, sheds_until_messages_wait_no_longer_than_they_may) {
  for (auto local : {false, true}) {
    auto g = host(local, by_mailbox(20ms));
    burst(g, 200, 20);
    EXPECT_EQ(state_of(g, "shedder"), "shedding");
    EXPECT_GT(metric_of(g, "shedder", "shed_mailbox"), 0);
    EXPECT_GT(metric_of(g, "shedder", "mailbox_delay_us"), 20'000);
    EXPECT_LT(metric_of(g, "shedder", "mailbox_delay_us"), 400'000)
      << "no longer than all that waits takes";
    EXPECT_EQ(metric_of(g, "shedder", "unread"), 0);
    world.advance(10min);
    EXPECT_EQ(state_of(g, "shedder"), "passing");
  }
}

TEST_P(congested_gate, shows_all_its_shedders_how_long_messages_wait) {
  auto outer = by_mailbox(20ms);
  outer.name = "outer";
  outer.mode = mode::observe;
  auto inner = by_mailbox(20ms);
  inner.name = "inner";
  auto g = gate(busy_behind(), stack{}.add<shedder>(outer).add<shedder>(inner));
  burst(g, 200, 20);
  EXPECT_GT(metric_of(g, "outer", "mailbox_delay_us"), 20'000);
  EXPECT_GT(metric_of(g, "inner", "mailbox_delay_us"), 20'000);
  EXPECT_EQ(state_of(g, "inner"), "shedding");
}

// Whoever could answer for it would hide that messages wait.
TEST_P(congested_gate, believes_no_message_but_its_own) {
  for (auto local : {false, true}) {
    auto g = host(local, by_mailbox(20ms));
    auto forge = [&](caf::message_id id, caf::message content) {
      portable::relay::send_on(g, nullptr, id, std::move(content), nullptr);
    };
    auto response = [](std::uint64_t number) {
      return caf::message_id{number}.with_normal_priority().response_id();
    };
    // Each of them comes soon, as the answer to a call comes after it.
    before_answer = [&] {
      forge(response((std::uint64_t{1} << 60) - 2), {});
      // As what a gate sends itself, and as what a local gate does.
      forge(caf::make_message_id(), {});
      forge(response(1), caf::make_message(std::uint64_t{3}, std::uint64_t{0},
                                           caf::message{}));
    };
    burst(g, 200, 20);
    before_answer = {};
    EXPECT_EQ(state_of(g, "shedder"), "shedding") << local;
    EXPECT_GT(metric_of(g, "shedder", "mailbox_delay_us"), 20'000) << local;
  }
}

TEST_P(congested_gate, a_gate_that_is_quick_enough_sheds_nothing) {
  for (auto local : {false, true}) {
    auto g = host(local, by_mailbox(1us));
    for (int i = 0; i < 100; ++i) {
      EXPECT_TRUE(world.request(g, i).ok());
      world.advance(50ms);
    }
    EXPECT_EQ(state_of(g, "shedder"), "passing");
    EXPECT_EQ(metric_of(g, "shedder", "mailbox_delay_us"), 0);
  }
}

TEST_P(congested_gate, sends_itself_nothing_while_idle_or_if_it_is_no_signal) {
  for (auto local : {false, true})
    for (auto on : {false, true}) {
      auto g = host(local, by_mailbox(on ? duration{1s} : duration::zero()));
      world.advance(1h);
      auto before = world.handled();
      EXPECT_TRUE(world.request(g, 1).ok());
      world.advance(5s);
      auto first = world.handled() - before;
      before = world.handled();
      world.advance(1h);
      EXPECT_EQ(world.handled(), before);
      EXPECT_EQ(world.timers(), 0u);
      EXPECT_TRUE(world.request(g, 2).ok());
      world.advance(5s);
      EXPECT_EQ(world.handled() - before, first);
      world.kill(g);
    }
}

// A message to itself is on its way when it ends.
TEST_P(congested_gate, ends_at_any_time) {
  for (auto local : {false, true}) {
    auto g = host(local, by_mailbox(1us));
    auto self = world.make_probe();
    auto answer = self.request(g, 1);
    caf::anon_send_exit(g, caf::exit_reason::user_shutdown);
    world.run_until_idle();
    world.advance(1h);
    EXPECT_EQ(answer.count(), 1u);
    world.kill(self.handle());
  }
}

TEST(shedder_in_a_guard, knows_of_no_mailbox) {
  guard g{stack{}.add<shedder>(by_mailbox(1ns))};
  EXPECT_TRUE(g.run([] { return 1; }));
  EXPECT_EQ(g.get_status().metric("shedder", "unread"), 1);
  EXPECT_EQ(g.get_status().metric("shedder", "mailbox_delay_us"), 0);
}

} // namespace
} // namespace caisson::test
