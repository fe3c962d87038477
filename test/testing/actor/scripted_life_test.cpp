// The worker that does what a test says: its life, and what it saw.
#include "support/world.hpp"

#include <stdexcept>
#include <string>
#include <vector>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

using reply = scripted_worker::reply;

class scripted_life_test : public world_test {
protected:
  // Sends requests to the worker, and takes some of them back.
  class fickle final : public portable::interceptor<> {
  public:
    fickle(caf::actor_config& cfg, caf::actor to)
      : portable::interceptor<>(cfg), to_(std::move(to)) {}

  protected:
    caf::message_handler control() override {
      return caf::message_handler{[](const subscribe&) {}};
    }
    // A positive number asks under that number, a negative one takes it back.
    void on_message(portable::reply_to, caf::message&& x) override {
      auto n = x.get_as<int>(0);
      auto key = static_cast<std::uint64_t>(n < 0 ? -n : n);
      if (n > 0)
        forward(to_, key, std::move(x), false);
      else
        send_from_return_address(
          to_, caf::make_message(cancelled{call_number(key)}));
    }
    void on_answer(std::uint64_t, caf::message&&) override {}
    void on_timer() override {}
    void on_down(const caf::actor_addr&, const caf::error&) override {}

  private:
    caf::actor to_;
  };

  caf::actor make_fickle(const caf::actor& to) {
    return own(caf::actor_cast<caf::actor>(world.system().spawn<fickle>(to)));
  }

  scripted_worker w = make_worker();
};
CAISSON_ALL_ORDERS(scripted_life_test);

// -- life and death -----------------------------------------------------------

TEST_P(scripted_life_test, it_ends_with_what_it_has_taken) {
  auto open = world.request(w.handle(), 1);
  w.plan(reply::value(1).after(1s));
  auto later = world.request(w.handle(), 2);
  w.quit();
  EXPECT_FALSE(w.alive());
  EXPECT_EQ(w.open(), 0u);
  EXPECT_EQ(world.timers(), 0u);
  EXPECT_THROW(w.answer(1), std::logic_error);
  EXPECT_EQ(world.request(w.handle(), 3).error(),
            caf::sec::request_receiver_down);
  world.advance(2s);
  EXPECT_FALSE(open.ready() || later.ready());
  // Once more changes nothing.
  w.kill();
  EXPECT_EQ(w.incarnations(), 1u);
}

TEST_P(scripted_life_test, it_can_be_started_again) {
  world.request(w.handle(), 1);
  w.plan(reply::value(7));
  auto first = w.handle();
  w.kill();
  w.restart();
  own(w.handle());
  EXPECT_NE(w.handle(), first);
  EXPECT_TRUE(w.alive());
  EXPECT_EQ(w.incarnations(), 2u);
  EXPECT_EQ(world.request(w.handle(), 2).value<int>(), 7);
  EXPECT_EQ(w.count(), 2u);
  EXPECT_EQ(w.received()[0].incarnation, 1u);
  EXPECT_EQ(w.received()[1].incarnation, 2u);
}

TEST_P(scripted_life_test, a_reply_can_be_its_death) {
  auto g = gate(w.handle(), stack{});
  w.plan(reply::value(1).after(2s)).plan(reply::death().after(1s));
  auto first = world.request(g, 1);
  auto fatal = world.request(g, 2);
  world.advance(1s - 1ns);
  EXPECT_TRUE(w.alive());
  world.advance(1ns);
  EXPECT_FALSE(w.alive());
  EXPECT_TRUE(first.is(errc::worker_down));
  EXPECT_TRUE(fatal.is(errc::worker_down));
  EXPECT_TRUE(context_of(fatal.error())->may_have_executed);
}

TEST_P(scripted_life_test, death_drops_what_is_due_at_the_same_instant) {
  w.plan(reply::death().after(1s)).plan(reply::value(1).after(1s));
  auto fatal = world.request(w.handle(), 1);
  auto behind = world.request(w.handle(), 2);
  world.advance(1s);
  EXPECT_FALSE(w.alive());
  EXPECT_FALSE(fatal.ready() || behind.ready());
}

TEST_P(scripted_life_test, a_gate_supervises_it) {
  auto g = gate(
    worker::supervised(w.factory(), {.restart = schedule::constant(1s)}),
    stack{}.retrier({.backoff = schedule::constant(10ms), .idempotent = true}));
  // The gate takes the one that is alive.
  EXPECT_EQ(w.incarnations(), 1u);
  w.plan(reply::death(), 2).plan(reply::value(42));
  auto answer = world.request(g, 21);
  world.advance(10s);
  EXPECT_EQ(answer.value<int>(), 42);
  EXPECT_EQ(answer.count(), 1u);
  EXPECT_EQ(w.incarnations(), 3u);
  auto lives = std::vector<std::size_t>{};
  for (auto& x : w.received())
    lives.push_back(x.incarnation);
  EXPECT_EQ(lives, (std::vector<std::size_t>{1, 2, 3}));
  w.kill();
  EXPECT_FALSE(w.alive());
  world.advance(10s);
  EXPECT_TRUE(w.alive());
  world.kill(g);
  EXPECT_FALSE(w.alive());
}

TEST_P(scripted_life_test, copies_speak_of_the_same_worker) {
  auto copy = w;
  auto answer = world.request(copy.handle(), 1);
  w.answer(2);
  EXPECT_EQ(copy.open(), 0u);
  EXPECT_EQ(answer.value<int>(), 2);
  copy.kill();
  copy.restart();
  own(w.handle());
  EXPECT_EQ(w.handle(), copy.handle());
}

TEST_P(scripted_life_test, it_lives_as_long_as_somebody_has_it) {
  caf::actor gate_of_it;
  {
    scripted_worker other{world, doubles()};
    gate_of_it = gate(other.handle(), stack{});
    EXPECT_EQ(world.actors(), 3u);
  }
  EXPECT_EQ(world.request(gate_of_it, 4).value<int>(), 8);
  {
    scripted_worker unused{world};
    EXPECT_EQ(world.actors(), 4u);
    world.request(unused.handle(), 1);
  }
  world.run_until_idle();
  EXPECT_EQ(world.actors(), 3u);
}

TEST_P(scripted_life_test, it_stands_in_for_a_typed_actor) {
  using typed = caf::typed_actor<portable::sig<int(int)>>;
  auto guarded = own(spawn_guard(world, w.as<typed>(), stack{}));
  auto answer = world.request(guarded, 4);
  w.answer(w.open_as<int>() * 2);
  EXPECT_EQ(answer.value<int>(), 8);
}

// -- what it saw --------------------------------------------------------------

TEST_P(scripted_life_test, it_remembers_what_came_when) {
  auto start = world.now();
  auto g = gate(w.handle(),
                stack{}.retrier({.max_attempts = 3,
                                 .backoff = schedule::linear(100ms, 100ms),
                                 .idempotent = true}));
  w.become(scripted_worker::always(caf::sec::runtime_error));
  world.request(g, 5);
  world.advance(1s);
  ASSERT_EQ(w.received().size(), 3u);
  EXPECT_EQ(w.received()[0].at - start, 0ms);
  EXPECT_EQ(w.received()[1].at - start, 100ms);
  EXPECT_EQ(w.received()[2].at - start, 300ms);
  EXPECT_EQ(w.received_as<int>(), (std::vector<int>{5, 5, 5}));
  EXPECT_TRUE(w.received_as<std::string>().empty());
  w.forget_received();
  EXPECT_EQ(w.received().size(), 0u);
  EXPECT_EQ(w.count(), 3u);
}

TEST_P(scripted_life_test, it_remembers_so_much_and_no_more) {
  w.become(doubles());
  constexpr int n = 1500;
  for (int i = 0; i < n; ++i)
    world.user().send(w.handle(), i);
  world.run_until_idle();
  EXPECT_EQ(w.count(), 1500u);
  ASSERT_EQ(w.received().size(), scripted_worker::max_received);
  EXPECT_EQ(w.received().front().as<int>(), 1500 - 1024);
  EXPECT_EQ(w.received().back().as<int>(), n - 1);
}

TEST_P(scripted_life_test, it_sees_the_options_of_calls) {
  auto g = gate(worker{w.handle()}.takes_calls(), stack{});
  auto answer = world.request(g, wrap(7).within(2s).key("tenant-7"));
  EXPECT_EQ(w.open_message().options().key, "tenant-7");
  EXPECT_EQ(w.open_as<int>(), 7);
  EXPECT_EQ(w.open_as<call>().options.attempt, 1u);
  EXPECT_TRUE(w.open_message().holds<int>());
  EXPECT_FALSE(w.open_message().holds<std::string>());
  w.answer(8);
  EXPECT_EQ(answer.value<int>(), 8);
}

TEST_P(scripted_life_test, it_is_notified_when_nobody_waits_any_more) {
  auto ann = make_fickle(w.handle());
  auto bob = make_fickle(w.handle());
  for (int n : {1, 2}) {
    world.send(ann, n);
    world.send(bob, n);
  }
  ASSERT_EQ(w.open(), 4u);
  world.send(bob, -2);
  EXPECT_EQ(w.cancelled_count(), 1u);
  EXPECT_EQ(w.count(), 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(w.open_message(i).cancelled, i == 3) << i;
    EXPECT_EQ(w.received()[i].cancelled, i == 3) << i;
  }
  // It may answer all the same.
  w.answer_nth(3, 1);
  // One that it answers later by itself.
  w.plan(reply::value(1).after(1s));
  world.send(ann, 3);
  world.send(ann, -3);
  EXPECT_TRUE(w.received().back().cancelled);
  // And one that it does not have.
  world.send(ann, -7);
  EXPECT_EQ(w.cancelled_count(), 3u);
  world.advance(1s);
}

TEST_P(scripted_life_test, forgotten_messages_can_be_cancelled) {
  auto ann = make_fickle(w.handle());
  world.send(ann, 1);
  w.forget_received();
  world.send(ann, 2);
  world.send(ann, -1);
  EXPECT_TRUE(w.open_message(0).cancelled);
  EXPECT_FALSE(w.open_message(1).cancelled);
  EXPECT_FALSE(w.received()[0].cancelled);
}

} // namespace
} // namespace caisson::test
