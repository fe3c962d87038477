// The worker that does what a test says.
#include "support/world.hpp"

#include <stdexcept>
#include <string>
#include <vector>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

using reply = scripted_worker::reply;

class scripted_worker_test : public world_test {
protected:
  // Sends itself requests to the worker and takes some of them back.
  class fickle final : public rt::interceptor<> {
  public:
    fickle(caf::actor_config& cfg, caf::actor to)
      : rt::interceptor<>(cfg), to_(std::move(to)) {}

  protected:
    caf::message_handler control() override {
      return caf::message_handler{[](const subscribe&) {}};
    }
    // A positive number asks under that number, a negative one takes it back.
    void on_message(rt::reply_to, caf::message x) override {
      auto n = x.get_as<int>(0);
      auto key = static_cast<std::uint64_t>(n < 0 ? -n : n);
      if (n > 0)
        forward(to_, key, std::move(x), false);
      else
        tell_from_return_address(
          to_, caf::make_message(cancelled{call_number(key)}));
    }
    void on_answer(std::uint64_t, caf::message) override {}
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
CAISSON_ALL_ORDERS(scripted_worker_test);

// -- open requests ------------------------------------------------------------

TEST_P(scripted_worker_test, a_request_stays_open_until_it_is_answered) {
  auto answer = world.request(w.handle(), 1);
  world.advance(1h);
  EXPECT_FALSE(answer.ready());
  EXPECT_EQ(w.open(), 1u);
  w.answer(std::string{"one"});
  EXPECT_EQ(answer.value<std::string>(), "one");
  EXPECT_EQ(answer.count(), 1u);
  EXPECT_EQ(w.open(), 0u);
  EXPECT_EQ(w.count(), 1u);
}

TEST_P(scripted_worker_test, the_oldest_or_a_chosen_one_is_answered) {
  std::vector<pending_answer> answers;
  for (int i = 0; i < 4; ++i)
    answers.push_back(world.request(w.handle(), i));
  w.answer_nth(2, 22);
  EXPECT_EQ(answers[2].value<int>(), 22);
  w.answer(20);
  EXPECT_EQ(answers[0].value<int>(), 20);
  w.fail_nth(1, caf::sec::runtime_error);
  EXPECT_EQ(answers[3].error(), caf::sec::runtime_error);
  EXPECT_EQ(w.open_as<int>(), 1);
  w.answer(21);
  EXPECT_EQ(answers[1].value<int>(), 21);
}

TEST_P(scripted_worker_test, errors_are_errors_and_messages_are_messages) {
  auto answer = [this](auto&&... xs) {
    auto asked = world.request(w.handle(), 1);
    w.answer(std::forward<decltype(xs)>(xs)...);
    return asked;
  };
  EXPECT_EQ(answer(caf::sec::end_of_stream).error(), caf::sec::end_of_stream);
  EXPECT_TRUE(answer(errc::shed).is(errc::shed));
  EXPECT_EQ(answer(caf::make_error(caf::sec::end_of_stream)).error(),
            caf::sec::end_of_stream);
  EXPECT_EQ(answer(caf::make_message(7)).value<int>(), 7);
  EXPECT_EQ(answer(7, std::string{"b"}).content().size(), 2u);
  EXPECT_EQ(answer().content().size(), 0u);
  auto failed = [this](caf::error why) {
    auto asked = world.request(w.handle(), 1);
    w.fail(std::move(why));
    return asked;
  };
  EXPECT_TRUE(failed(errc::rate_limited).is(errc::rate_limited));
  EXPECT_EQ(
    retry_after(failed(make_error(errc::rate_limited, {"db", 3s})).error()),
    3s);
}

TEST_P(scripted_worker_test, use_that_makes_no_sense_is_refused) {
  EXPECT_THROW(w.answer(1), std::logic_error);
  EXPECT_THROW(w.fail(errc::shed), std::logic_error);
  EXPECT_THROW(w.open_message(), std::logic_error);
  EXPECT_THROW(w.open_sender(), std::logic_error);
  auto answer = world.request(w.handle(), 1);
  EXPECT_THROW(w.answer_nth(1, 1), std::logic_error);
  EXPECT_THROW(w.open_as<std::string>(), std::logic_error);
  EXPECT_THROW(w.open_message().options(), std::logic_error);
  EXPECT_THROW(w.fail(caf::error{}), std::logic_error);
  EXPECT_THROW(reply::error(caf::error{}), std::logic_error);
  EXPECT_THROW(reply{}.after(1s), std::logic_error);
  EXPECT_THROW(reply::silence().after(1s), std::logic_error);
  EXPECT_THROW(reply::value(1).after(-1ns), std::logic_error);
  EXPECT_THROW(w.restart(), std::logic_error);
  EXPECT_THROW(w.quit(caf::error{}), std::logic_error);
  // None of it did anything.
  EXPECT_EQ(w.open(), 1u);
  EXPECT_TRUE(w.alive());
  EXPECT_FALSE(answer.ready());
}

TEST_P(scripted_worker_test, the_text_of_a_refusal_says_what_is_the_case) {
  auto text = [](auto f) -> std::string {
    try {
      f();
    } catch (const std::logic_error& err) {
      return err.what();
    }
    return {};
  };
  world.request(w.handle(), 7);
  EXPECT_EQ(text([&] { w.answer_nth(3, 1); }),
            "scripted_worker: there is no open message 3, there are 1");
  // The content looks different on CAF 1.x.
  EXPECT_EQ(text([&] { (void)w.open_as<std::string>(); }),
            "scripted_worker: the message is " + to_string(caf::make_message(7))
              + ", another type");
  w.kill();
  EXPECT_EQ(text([&] { w.answer(1); }),
            "scripted_worker: nothing is open, it has ended");
}

TEST_P(scripted_worker_test, plain_sends_count_and_are_not_open) {
  world.send(w.handle(), 1);
  EXPECT_EQ(w.count(), 1u);
  EXPECT_EQ(w.open(), 0u);
  EXPECT_EQ(w.received_as<int>(), std::vector<int>{1});
  EXPECT_EQ(w.received().back().number, 0u);
}

TEST_P(scripted_worker_test, it_knows_who_asked) {
  auto ann = world.make_probe();
  auto answer = ann.request_urgently(w.handle(), 1);
  world.run_until_idle();
  EXPECT_TRUE(w.open_message().urgent);
  world.send(caf::actor_cast<caf::actor>(w.open_sender()), 5);
  // A probe asks from an address that takes answers only.
  EXPECT_EQ(ann.received().size(), 0u);
  w.answer(2);
  EXPECT_EQ(answer.value<int>(), 2);
}

// -- scripts and plans --------------------------------------------------------

TEST_P(scripted_worker_test, a_script_answers_at_once) {
  w.become([](const caf::message& msg) -> std::optional<caf::message> {
    if (auto* x = rt::get_if<int>(msg); x && *x > 0)
      return caf::make_message(*x + 1);
    return std::nullopt;
  });
  EXPECT_EQ(world.request(w.handle(), 1).value<int>(), 2);
  auto none = world.request(w.handle(), -1);
  EXPECT_FALSE(none.ready());
  w.answer(0);
  EXPECT_TRUE(none.ok());
  w.become(scripted_worker::always(caf::sec::end_of_stream));
  EXPECT_EQ(world.request(w.handle(), 1).error(), caf::sec::end_of_stream);
  w.become({});
  EXPECT_FALSE(world.request(w.handle(), 1).ready());
}

TEST_P(scripted_worker_test, a_script_for_one_type_refuses_the_others) {
  w.become(scripted_worker::on<int>([](int x) -> reply {
    return x > 0 ? reply::value(x * 2) : reply::error(caf::sec::runtime_error);
  }));
  EXPECT_EQ(world.request(w.handle(), 2).value<int>(), 4);
  EXPECT_EQ(world.request(w.handle(), -2).error(), caf::sec::runtime_error);
  EXPECT_EQ(world.request(w.handle(), std::string{"2"}).error(),
            caf::sec::unexpected_message);
  EXPECT_EQ(world.request(w.handle(), 1, 2).error(),
            caf::sec::unexpected_message);
  call wrapped = wrap(3);
  EXPECT_EQ(world.request(w.handle(), wrapped).value<int>(), 6);
  auto heard = 0;
  w.become(scripted_worker::on<int>([&](int x) { heard = x; }));
  EXPECT_EQ(world.request(w.handle(), 5).content().size(), 0u);
  EXPECT_EQ(heard, 5);
}

TEST_P(scripted_worker_test, a_plan_comes_before_the_script) {
  w.become(doubles());
  w.plan(reply::error(caf::sec::runtime_error), 2).plan(reply::value(42));
  w.plan({}).plan(reply::value(0), 0);
  EXPECT_EQ(w.planned(), 4u);
  EXPECT_FALSE(world.request(w.handle(), 1).ok());
  EXPECT_EQ(world.request(w.handle(), 1).error(), caf::sec::runtime_error);
  EXPECT_EQ(world.request(w.handle(), 1).value<int>(), 42);
  auto waits = world.request(w.handle(), 1);
  EXPECT_FALSE(waits.ready());
  EXPECT_EQ(w.planned(), 0u);
  EXPECT_EQ(world.request(w.handle(), 3).value<int>(), 6);
  w.answer(9);
  EXPECT_EQ(waits.value<int>(), 9);
}

TEST_P(scripted_worker_test, replies_can_come_later) {
  auto start = world.now();
  w.plan(reply::value(1).after(30ms))
    .plan(reply::error(errc::shed).after(20ms))
    .plan(reply::value(3).after(30ms));
  std::vector<pending_answer> answers;
  for (int i = 0; i < 3; ++i)
    answers.push_back(world.request(w.handle(), i));
  EXPECT_EQ(w.open(), 0u);
  world.advance(20ms - 1ns);
  EXPECT_FALSE(answers[1].ready());
  world.advance(1ns);
  EXPECT_TRUE(answers[1].is(errc::shed));
  EXPECT_FALSE(answers[0].ready());
  world.advance(1s);
  EXPECT_EQ(answers[0].value<int>(), 1);
  EXPECT_EQ(answers[2].value<int>(), 3);
  EXPECT_EQ(answers[0].at() - start, 30ms);
  EXPECT_EQ(answers[2].at() - start, 30ms);
  EXPECT_EQ(world.timers(), 0u);
}

TEST_P(scripted_worker_test, silence_keeps_nothing) {
  w.become(scripted_worker::always_reply(reply::silence()));
  auto answer = world.request(w.handle(), 1);
  world.advance(1h);
  EXPECT_FALSE(answer.ready());
  EXPECT_EQ(w.open(), 0u);
  EXPECT_EQ(w.count(), 1u);
}

TEST_P(scripted_worker_test, a_script_that_throws_ends_the_worker) {
  w.become([](const caf::message&) -> reply {
    throw std::runtime_error{"not in the plan"};
  });
  EXPECT_EQ(world.request(w.handle(), 1).error(), caf::sec::runtime_error);
  EXPECT_FALSE(w.alive());
  w.restart();
  own(w.handle());
  // The next script is one that was asked without an exception.
  w.become(doubles());
  EXPECT_EQ(world.request(w.handle(), 1).value<int>(), 2);
}

TEST_P(scripted_worker_test, a_script_cannot_do_what_is_for_tests) {
  auto refused = 0;
  w.become([&](const caf::message&) -> reply {
    auto refuse = [&](auto f) {
      try {
        f();
      } catch (const std::logic_error&) {
        ++refused;
      }
    };
    refuse([&] { w.answer(1); });
    refuse([&] { w.kill(); });
    refuse([&] { w.restart(); });
    // This it can.
    w.become(doubles());
    return reply::value(refused);
  });
  EXPECT_EQ(world.request(w.handle(), 1).value<int>(), 3);
  EXPECT_EQ(world.request(w.handle(), 1).value<int>(), 2);
}

// -- life and death -----------------------------------------------------------

TEST_P(scripted_worker_test, it_ends_with_what_it_has_taken) {
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

TEST_P(scripted_worker_test, it_can_be_started_again) {
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

TEST_P(scripted_worker_test, a_reply_can_be_its_death) {
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
  EXPECT_TRUE(context_of(fatal.error())->reached);
}

TEST_P(scripted_worker_test, death_drops_what_is_due_at_the_same_instant) {
  w.plan(reply::death().after(1s)).plan(reply::value(1).after(1s));
  auto fatal = world.request(w.handle(), 1);
  auto behind = world.request(w.handle(), 2);
  world.advance(1s);
  EXPECT_FALSE(w.alive());
  EXPECT_FALSE(fatal.ready() || behind.ready());
}

TEST_P(scripted_worker_test, a_gate_supervises_it) {
  auto g = gate(
    worker::supervised(w.factory(), {.restart = schedule::constant(1s)}),
    stack{}.retry({.backoff = schedule::constant(10ms), .idempotent = true}));
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

TEST_P(scripted_worker_test, copies_speak_of_the_same_worker) {
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

TEST_P(scripted_worker_test, it_lives_as_long_as_somebody_has_it) {
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

TEST_P(scripted_worker_test, it_stands_in_for_a_typed_actor) {
  using typed = caf::typed_actor<rt::sig<int(int)>>;
  auto guarded = own(guard(world, w.as<typed>(), stack{}));
  auto answer = world.request(guarded, 4);
  w.answer(w.open_as<int>() * 2);
  EXPECT_EQ(answer.value<int>(), 8);
}

// -- what it saw --------------------------------------------------------------

TEST_P(scripted_worker_test, it_remembers_what_came_when) {
  auto start = world.now();
  auto g = gate(w.handle(),
                stack{}.retry({.max_attempts = 3,
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

TEST_P(scripted_worker_test, it_remembers_so_much_and_no_more) {
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

TEST_P(scripted_worker_test, it_sees_the_options_of_calls) {
  auto g = gate(worker{w.handle()}.takes_calls(), stack{});
  auto answer = world.request(g, wrap(7).within(2s).key("tenant-7").done());
  EXPECT_EQ(w.open_message().options().key, "tenant-7");
  EXPECT_EQ(w.open_as<int>(), 7);
  EXPECT_EQ(w.open_as<call>().options.attempt, 1u);
  EXPECT_TRUE(w.open_message().holds<int>());
  EXPECT_FALSE(w.open_message().holds<std::string>());
  w.answer(8);
  EXPECT_EQ(answer.value<int>(), 8);
}

TEST_P(scripted_worker_test, it_hears_that_nobody_waits_any_more) {
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

TEST_P(scripted_worker_test, forgotten_messages_can_be_cancelled) {
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
