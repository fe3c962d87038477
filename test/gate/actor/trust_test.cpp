// Tests that strangers in the same system can do nothing to a gate by messages
// that they were not given.
#include "support/world.hpp"

#include <set>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

class trust_test : public world_test {};
CAISSON_ALL_ORDERS(trust_test);

TEST_P(trust_test, permits_are_released_by_anyone_with_their_number) {
  auto g = gate(worker{}, stack{}.semaphore({.permits = 100}));
  std::set<std::uint64_t> ids;
  for (int i = 0; i < 100; ++i)
    ids.insert(world.request(g, acquire{.time_left = 1h}).value<permit>().id);
  EXPECT_EQ(ids.size(), 100u);
  auto stranger = world.make_probe();
  auto tried = 0;
  for (auto id : ids)
    for (std::uint64_t d = 1; d < 20; ++d)
      for (auto guess : {id + d, id - d, d, d << 24, id + (d << 24)})
        if (!ids.contains(guess)) {
          stranger.send(g, release{guess});
          ++tried;
        }
  world.run_until_idle();
  EXPECT_EQ(metric_of(g, "leases"), 100);
  EXPECT_EQ(metric_of(g, "no_such_permit"), tried);
  for (auto id : ids)
    EXPECT_TRUE(world.request(g, release{id}).ok());
  EXPECT_EQ(metric_of(g, "leases"), 0);
}

TEST_P(trust_test, only_the_factory_can_bring_a_worker) {
  auto up = true;
  auto w = make_worker();
  auto g = gate(worker::supervised(
                  [&](caf::actor_system& sys) -> caf::expected<caf::actor> {
                    if (!up)
                      return caf::make_error(caf::sec::runtime_error);
                    return w.factory()(sys);
                  },
                  {.restart = schedule::constant(1s), .max_restarts = 100}),
                stack{});
  auto waiting = world.request(g, 1);
  up = false;
  w.quit();
  auto thief = make_worker(doubles());
  for (std::uint32_t incarnation = 0; incarnation < 5; ++incarnation)
    world.send(g, detail::worker_made{thief.handle(), {}, incarnation});
  auto held = world.request(g, 2);
  EXPECT_EQ(thief.count(), 0u);
  EXPECT_EQ(look(g).worker, worker_state::restarting);
  auto asked = world.request(g, detail::worker_made{thief.handle(), {}, 2});
  EXPECT_FALSE(asked.value<bool>());
  world.kill(g);
}

TEST_P(trust_test, only_its_sender_takes_a_call_back) {
  auto w = make_worker();
  auto g = gate(w.handle(), stack{});
  auto answer = world.request(g, 1);
  auto stranger = world.make_probe();
  for (std::uint64_t n = 0; n < 100; ++n)
    stranger.send(g, cancelled{n});
  world.run_until_idle();
  EXPECT_EQ(metric_of(g, "cancelled"), 0);
  w.answer(3);
  EXPECT_EQ(answer.value<int>(), 3);
}

// Whatever a worker answers is the caller's, also if it looks like a message of
// CAF's or of the gate's own.
TEST_P(trust_test, an_answer_does_nothing_to_the_gate) {
  auto w = make_worker();
  auto g = gate(w.handle(), stack{}.semaphore({.name = "s"}));
  auto gate_address = caf::actor_cast<caf::actor_addr>(g);
  for (const auto& content :
       {caf::make_message(
          caf::exit_msg{gate_address, caf::exit_reason::user_shutdown}),
        caf::make_message(
          caf::down_msg{w.handle().address(), caf::exit_reason::user_shutdown}),
        caf::make_message(get_status{}),
        caf::make_message(command{operator_command::force_open, "s"}),
        caf::make_message(reconfigure{"permits = 1", {}}),
        caf::make_message(subscribe{}), caf::make_message(cancelled{1}),
        caf::message{}}) {
    auto answer = world.request(g, 1);
    w.answer(content);
    ASSERT_EQ(answer.count(), 1u);
    EXPECT_EQ(to_string(answer.content()), to_string(content));
  }
  auto s = look(g);
  EXPECT_EQ(s.state, gate_state::accepting);
  EXPECT_EQ(s.worker, worker_state::up);
  EXPECT_EQ(s.metrics.at("subscribers"), 0);
  EXPECT_EQ(s.metrics.at("succeeded"), 8);
}

#if !CAISSON_CAF_LEGACY
// As another node can: with any number, as if from where the gate's requests
// come from.
TEST_P(trust_test, a_forged_answer_is_none) {
  caf::strong_actor_ptr sender;
  auto spy = own(caf::actor_cast<caf::actor>(world.system().spawn(
    [&sender](caf::event_based_actor* self) -> caf::behavior {
      return {[self, &sender](int x) {
        sender = self->current_sender();
        return x;
      }};
    })));
  auto g = gate(spy, stack{});
  EXPECT_EQ(world.request(g, 7).value<int>(), 7);
  ASSERT_TRUE(sender);
  for (std::uint64_t number : {1, 2, 77}) {
    auto id = caf::make_message_id(number | std::uint64_t{1} << 59);
    id.mark_as_answered();
    for (const auto& content : {caf::make_message(std::uint64_t{1}),
                                caf::make_message(7, 8), caf::message{}})
      caf::actor_cast<caf::abstract_actor*>(g)->enqueue(
        caf::make_mailbox_element(sender, id, content), nullptr);
    // The same, straight to the address.
    sender->enqueue(caf::make_mailbox_element(nullptr, id.response_id(),
                                              caf::make_message(1)),
                    nullptr);
  }
  world.run_until_idle();
  EXPECT_EQ(metric_of(g, "late_results"), 0);
  EXPECT_EQ(world.request(g, 8).value<int>(), 8);
  EXPECT_EQ(look(g).state, gate_state::accepting);
  sender = nullptr;
}
#endif

TEST_P(trust_test, sizes_have_bounds) {
  auto w = make_worker(doubles());
  auto g = gate(w.handle(), stack{}.semaphore({.permits = 5}));
  auto too_long = std::string(max_key_length + 1, 'k');
  auto fits = std::string(max_key_length, 'k');
  EXPECT_TRUE(world.request(g, wrap(1).key(too_long)).is(errc::invalid_config));
  EXPECT_TRUE(
    world.request(g, acquire{.key = too_long}).is(errc::invalid_config));
  EXPECT_EQ(world.request(g, wrap(1).key(fits)).value<int>(), 2);
  EXPECT_TRUE(world.request(g, acquire{.key = fits}).ok());
  EXPECT_EQ(metric_of(g, "refused_invalid"), 2);

  auto huge = std::string(300'000, '.');
  EXPECT_TRUE(world.request(g, reconfigure{huge, {}}).is(errc::invalid_config));
  EXPECT_TRUE(
    world.request(g, reconfigure{{}, {{huge, "1"}}}).is(errc::invalid_config));
  EXPECT_TRUE(world.request(g, reconfigure{{}, {{"permits", huge}}})
                .is(errc::invalid_config));
  std::map<std::string, std::string> many;
  for (std::size_t i = 0; i <= max_settings; ++i)
    many.emplace("k" + std::to_string(i), "1");
  EXPECT_TRUE(world.request(g, reconfigure{{}, many}).is(errc::invalid_config));
  EXPECT_TRUE(world.request(g, command{operator_command::reset, huge})
                .is(errc::invalid_config));

  call deep{caf::make_message(1), {}};
  deep.options.path.assign(max_path_length, 1);
  EXPECT_TRUE(world.request(g, deep).is(errc::call_loop));
}

TEST_P(trust_test, one_subscriber_too_many_is_rejected) {
  auto g = gate(worker{}, stack{}.semaphore({}));
  for (std::size_t i = 0; i < max_subscribers; ++i)
    world.make_probe().send(g, subscribe{});
  auto late = world.make_probe();
  late.send(g, subscribe{});
  auto asked = late.request(g, subscribe{});
  world.run_until_idle();
  EXPECT_TRUE(asked.is(errc::invalid_config));
  ASSERT_EQ(late.received_as<event>().size(), 1u);
  EXPECT_EQ(late.received_as<event>().front().kind, event_kind::rejected);
  EXPECT_EQ(late.received_as<event>().front().detail,
            "the gate has 256 subscribers already");
  EXPECT_EQ(metric_of(g, "subscribers"),
            static_cast<std::int64_t>(max_subscribers));
}

TEST_P(trust_test, a_request_for_a_permit_passes_layers_of_content) {
  auto other = make_worker();
  auto g = gate(worker{}, stack{}
                            .fallback({alternative::ask(other.handle()),
                                       alternative::answer(7)})
                            .batcher({})
                            .semaphore({.permits = 1}));
  auto first = world.request(g, acquire{.time_left = 1h});
  auto second = world.request(g, acquire{.time_left = 1h});
  EXPECT_TRUE(first.ok());
  EXPECT_TRUE(second.is(errc::queue_full));
  EXPECT_EQ(other.count(), 0u);
}

} // namespace
} // namespace caisson::test
