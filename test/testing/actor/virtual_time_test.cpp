// The watch on a world: who looks on may end what would go on for ever.
#include "support/world.hpp"

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

class watch_test : public world_test {
protected:
  // Sends itself a number for ever, once it got one.
  caf::actor make_endless() {
    return own(caf::actor_cast<caf::actor>(
      world.system().spawn([](caf::event_based_actor* self) -> caf::behavior {
        return {
          [self](std::int32_t x) {
            portable::send(self, caf::actor{self}, x + 1);
          },
        };
      })));
  }

  // Sets a timer for the next nanosecond for ever.
  class ticking final : public portable::interceptor<drain> {
  public:
    using portable::interceptor<drain>::interceptor;

  protected:
    caf::message_handler control() override {
      return {[this](const drain&) { on_timer(); }};
    }
    void on_message(portable::reply_to, caf::message&&) override {}
    void on_answer(std::uint64_t, caf::message&&) override {}
    void on_timer() override { set_timer(clock().now() + 1ns); }
    void on_down(const caf::actor_addr&, const caf::error&) override {}
  };
};
CAISSON_ALL_ORDERS(watch_test);

TEST_P(watch_test, ends_what_never_becomes_idle) {
  auto x = make_endless();
  int asked = 0;
  world.watch([&] { return ++asked < 10; });
  world.user().send(x, std::int32_t{0});
  // Asked before each 256th message, and the last time it said no.
  EXPECT_EQ(world.run_until_idle(), 2559u);
  EXPECT_EQ(asked, 10);
  EXPECT_TRUE(world.stopped());
  // What is stopped stays so.
  EXPECT_EQ(world.run_until_idle(), 0u);
  EXPECT_EQ(asked, 10);
  world.kill(x);
  world.watch({});
  EXPECT_FALSE(world.stopped());
  world.run_until_idle();
}

TEST_P(watch_test, leaves_the_clock_where_it_was_stopped) {
  auto x = own(caf::actor_cast<caf::actor>(world.system().spawn<ticking>()));
  world.send(x, drain{});
  world.watch([&] { return world.elapsed() < 1us; });
  world.advance(1h);
  EXPECT_TRUE(world.stopped());
  EXPECT_GE(world.elapsed(), 1us);
  EXPECT_LT(world.elapsed(), 2us);
  world.run_all_timers();
  EXPECT_LT(world.elapsed(), 2us);
  world.watch({});
  world.advance(1us);
  EXPECT_GE(world.elapsed(), 2us);
  world.kill(x);
}

TEST_P(watch_test, changes_nothing_if_it_says_yes) {
  world.watch([] { return true; });
  auto service = own(caf::actor_cast<caf::actor>(
    world.system().spawn([](caf::event_based_actor*) -> caf::behavior {
      return {[](std::int32_t x) { return 2 * x; }};
    })));
  EXPECT_EQ(world.request(service, std::int32_t{21}).value<std::int32_t>(), 42);
  world.advance(1s);
  EXPECT_EQ(world.elapsed(), 1s);
  EXPECT_FALSE(world.stopped());
}

TEST_P(watch_test, an_answer_can_be_waited_for_in_a_world_that_never_rests) {
  // In FIFO order an actor that always has mail leaves no turn to others.
  if (GetParam() == 0)
    return;
  auto x = make_endless();
  auto service = own(caf::actor_cast<caf::actor>(
    world.system().spawn([](caf::event_based_actor*) -> caf::behavior {
      return {[](std::int32_t n) { return 2 * n; }};
    })));
  world.user().send(x, std::int32_t{0});
  std::vector<pending_answer> answers{
    world.user().request(service, std::int32_t{21})};
  EXPECT_LT(world.run_until_ready(answers), 1000u);
  EXPECT_EQ(answers[0].value<std::int32_t>(), 42);
  world.watch([] { return false; });
  world.kill(x);
  world.watch({});
  world.run_until_idle();
}

} // namespace
} // namespace caisson::test
