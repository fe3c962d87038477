// The code about tests that README.md and the pages in docs/ quote.
#include "support/world.hpp"

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

using namespace std::chrono_literals;

// The pages show requests as CAF 0.17 has them; 1.x has them too, deprecated.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace caisson::test {
namespace {

// [callers-errors]
class client final : public caf::event_based_actor {
public:
  client(caf::actor_config& cfg, caf::actor service, std::string* reply)
    : caf::event_based_actor(cfg), service_(std::move(service)), reply_(reply) {
  }

  caf::behavior make_behavior() override {
    return {
      [this](std::int32_t x) {
        request(service_, caf::infinite, x)
          .then([this](std::int32_t y) { *reply_ = std::to_string(y); },
                [this](const caf::error& err) { *reply_ = explain(err); });
      },
    };
  }

private:
  static std::string explain(const caf::error& err) {
    if (err == caisson::errc::breaker_open)
      return "come back in " + caisson::rounded_text(caisson::retry_after(err));
    if (auto* context = caisson::context_of(err))
      return context->may_have_executed ? "perhaps it was done, perhaps not"
                                        : "nothing was done";
    return "the service's own error";
  }

  caf::actor service_;
  std::string* reply_;
};
// [/callers-errors]

// [virtual-test]
TEST(payments, are_probed_ten_seconds_after_the_breaker_opened) {
  caisson::virtual_time world;
  caisson::scripted_worker service{world};
  auto guarded = caisson::spawn_breaker(
    world, service.handle(),
    {.threshold = 2, .open = caisson::schedule::constant(10s)});

  for (int i = 0; i < 2; ++i) {
    world.request(guarded, 1);
    service.fail(caf::sec::runtime_error);
  }
  auto refused = world.request(guarded, 2);
  EXPECT_TRUE(refused.is(caisson::errc::breaker_open));
  EXPECT_EQ(caisson::retry_after(refused.error()), 10s);

  world.advance(10s);
  auto probe = world.request(guarded, 21);
  service.answer(42);
  EXPECT_EQ(probe.value<std::int32_t>(), 42);
}
// [/virtual-test]

class test_snippets_test : public world_test {
protected:
  caf::actor_system& system = world.system();
};
CAISSON_ALL_ORDERS(test_snippets_test);

TEST_P(test_snippets_test, what_a_caller_makes_of_errors) {
  std::string reply;
  auto service = make_worker(scripted_worker::always(caf::sec::runtime_error));
  auto gate = own(
    spawn_breaker(system, service.handle(),
                  {.threshold = 1, .open = schedule::constant(4s)}));
  auto caller = own(system.spawn<client>(gate, &reply));
  world.send(caller, 1);
  EXPECT_EQ(reply, "the service's own error");
  world.send(caller, 1);
  EXPECT_EQ(reply, "come back in 4 s");
  service.kill();
  world.advance(4s);
  world.send(caller, 1);
  EXPECT_EQ(reply, "nothing was done");
}

TEST_P(test_snippets_test, a_client_and_a_service_that_misbehaves) {
  std::string reply;
  // [scripted]
  caisson::scripted_worker service{world};
  auto caller = world.system().spawn<client>(service.handle(), &reply);

  world.send(caller, 7);
  EXPECT_EQ(service.open_as<std::int32_t>(), 7); // It waits for its answer.
  service.fail(caf::sec::runtime_error);
  EXPECT_EQ(reply, "the service's own error");

  world.send(caller, 8);
  world.send(caller, 9);
  service.answer_nth(1, 90); // The second first.
  EXPECT_EQ(reply, "90");
  service.kill(); // Now the first is never answered.
  EXPECT_THROW(service.answer(80), std::logic_error);
  // [/scripted]
  own(caller);
  own(service.handle());
}

TEST_P(test_snippets_test, replies_by_plan_and_by_script) {
  // [scripted-plan]
  using caisson::scripted_worker;
  using reply = scripted_worker::reply;
  scripted_worker service{world};
  auto gate = caisson::spawn_retrier(
    world, service.handle(),
    {.backoff = caisson::schedule::constant(100ms), .idempotent = true});

  service.plan(reply::error(caf::sec::runtime_error), 2)
    .plan(reply::value(42).after(20ms));
  auto answer = world.request(gate, 21);
  world.advance(1s);
  EXPECT_EQ(answer.value<std::int32_t>(), 42);
  EXPECT_EQ(service.count(), 3u);
  EXPECT_EQ(service.received()[2].at - service.received()[1].at, 100ms);

  // From now on, by what is asked.
  service.become(scripted_worker::on<std::int32_t>([](std::int32_t x) {
    return x > 0 ? reply::value(2 * x) : reply::error(caf::sec::runtime_error);
  }));
  EXPECT_EQ(world.request(gate, 5).value<std::int32_t>(), 10);
  // [/scripted-plan]
  own(gate);
  own(service.handle());
}

TEST_P(test_snippets_test, a_service_that_dies_and_comes_back) {
  // [scripted-supervised]
  caisson::scripted_worker service{world};
  auto gate = caisson::spawn_gate(
    world, caisson::worker::supervised(service.factory()).takes_calls(),
    caisson::stack{}.retrier({.idempotent = true}));

  service.plan(caisson::scripted_worker::reply::death());
  auto answer = world.request(gate, 21);
  world.advance(1s);
  EXPECT_EQ(service.incarnations(), 2u);
  EXPECT_EQ(service.open_as<std::int32_t>(), 21);
  EXPECT_EQ(service.open_message().options().attempt, 2u);
  service.answer(42);
  EXPECT_EQ(answer.value<std::int32_t>(), 42);
  // [/scripted-supervised]
  own(gate);
}

TEST_P(test_snippets_test, two_probes) {
  auto service = make_worker(doubles());
  auto limited = own(spawn_limiter(world, service.handle(),
                                   {.rate = 1, .burst = 1, .max_wait = 5s}));
  // [probes]
  auto ann = world.make_probe();
  auto bob = world.make_probe();
  auto first = ann.request(limited, 1);
  auto second = bob.request(limited, 2);
  world.run_until_idle(); // A probe's own request does not run the actors.
  world.advance(1s);
  EXPECT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(world.timers(), 0u);
  // [/probes]
}

// [all-orders]
class in_any_order : public testing::TestWithParam<int> {};

TEST_P(in_any_order, nobody_waits_for_ever) {
  auto seed = GetParam();
  caisson::virtual_time world{seed == 0 ? std::nullopt
                                        : std::optional<std::uint64_t>(seed)};
  caisson::scripted_worker service{world, caisson::scripted_worker::always(1)};
  auto gate = caisson::spawn_gate(world, service.handle(), caisson::stack{});
  std::vector<caisson::pending_answer> answers;
  for (int i = 0; i < 10; ++i)
    answers.push_back(world.user().request(gate, i));
  world.run_until_idle();
  for (auto& x : answers)
    EXPECT_EQ(x.count(), 1u);
}

INSTANTIATE_TEST_SUITE_P(orders, in_any_order, testing::Range(0, 8));
// [/all-orders]

} // namespace
} // namespace caisson::test
