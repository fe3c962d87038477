// The worker that does what a test says: what becomes of messages.
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
  EXPECT_THROW(static_cast<void>(w.open_message()), std::logic_error);
  EXPECT_THROW(static_cast<void>(w.open_sender()), std::logic_error);
  auto answer = world.request(w.handle(), 1);
  EXPECT_THROW(w.answer_nth(1, 1), std::logic_error);
  EXPECT_THROW(static_cast<void>(w.open_as<std::string>()), std::logic_error);
  EXPECT_THROW(static_cast<void>(w.open_message().options()), std::logic_error);
  EXPECT_THROW(w.fail(caf::error{}), std::logic_error);
  EXPECT_THROW(reply::error(caf::error{}), std::logic_error);
  EXPECT_THROW(static_cast<void>(reply{}.after(1s)), std::logic_error);
  EXPECT_THROW(static_cast<void>(reply::silence().after(1s)), std::logic_error);
  EXPECT_THROW(static_cast<void>(reply::value(1).after(-1ns)),
               std::logic_error);
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
    if (auto* x = portable::get_if<int>(msg); x && *x > 0)
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
  auto received = 0;
  w.become(scripted_worker::on<int>([&](int x) { received = x; }));
  EXPECT_EQ(world.request(w.handle(), 5).content().size(), 0u);
  EXPECT_EQ(received, 5);
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

} // namespace
} // namespace caisson::test
