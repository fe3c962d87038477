// The address of a gate for calls only.
#include <caisson/caf/call_handle.hpp>

#include "support/forged.hpp"
#include "support/world.hpp"

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

// Remembers who is named as the sender of an answer.
class asker final : public caf::event_based_actor {
public:
  asker(caf::actor_config& cfg, caf::actor target,
        std::vector<caf::strong_actor_ptr>* senders)
    : caf::event_based_actor(cfg), target_(std::move(target)),
      senders_(senders) {}

  caf::behavior make_behavior() override {
    auto note = [this] { senders_->push_back(current_sender()); };
    auto fail = [](caf::error& err) { ADD_FAILURE() << to_string(err); };
    portable::ask(this, target_, 1s, 21).then([=](int) { note(); }, fail);
    portable::ask(this, target_, 1s, get_status{})
      .then([=](const status&) { note(); }, fail);
    portable::ask(this, target_, 1s, acquire{})
      .then([=](const permit&) { note(); }, fail);
    // A number that no call of this actor has.
    portable::ask(this, target_, 1s, cancelled{99}).then([=] { note(); }, fail);
    return {[](bool) {}};
  }

private:
  caf::actor target_;
  std::vector<caf::strong_actor_ptr>* senders_;
};

// Links itself to an actor and fails.
class linked final : public caf::event_based_actor {
public:
  linked(caf::actor_config& cfg, const caf::actor& to)
    : caf::event_based_actor(cfg) {
    link_to(to);
  }
  caf::behavior make_behavior() override {
    return {[this](bool) { quit(caf::exit_reason::user_shutdown); }};
  }
};

class call_handle_test : public world_test {
protected:
  struct site {
    scripted_worker worker;
    caf::actor gate;
    caf::actor calls;
  };

  site make(scripted_worker::script run = doubles()) {
    auto w = make_worker(std::move(run));
    auto g = gate(worker{w.handle()}.takes_cancelled(),
                  stack{"far"}.breaker().semaphore());
    return {w, g, call_handle(g)};
  }

  static bool is_refused(const pending_answer& x) {
    auto error = x.error();
    auto* context = context_of(error);
    return x.is(errc::invalid_config) && context
           && context->policy == "call_handle" && !context->may_have_executed
           && context->text == "this handle is for calls only";
  }
};
CAISSON_ALL_ORDERS(call_handle_test);

TEST_P(call_handle_test, calls_permits_and_status_pass) {
  auto x = make();
  EXPECT_EQ(world.request(x.calls, 21).value<int>(), 42);
  EXPECT_EQ(world.request(x.calls, wrap(4).within(1s)).value<int>(), 8);
  auto lease = world.request(x.calls, acquire{}).value<permit>();
  EXPECT_EQ(metric_of(x.gate, "leases"), 1);
  EXPECT_TRUE(world.request(x.calls, release{lease.id}).ok());
  auto seen = world.request(x.calls, get_status{}).value<status>();
  EXPECT_EQ(seen.name, "far");
  EXPECT_EQ(seen.metrics, look(x.gate).metrics);
  world.send(x.calls, 1);
  EXPECT_EQ(metric_of(x.gate, "plain_sends"), 1);
  // A status that nobody asked for is not sent.
  world.send(x.calls, get_status{});
  EXPECT_TRUE(world.user().received().empty());
}

TEST_P(call_handle_test, nothing_that_operates_a_gate_passes) {
  auto x = make();
  auto spare = make_worker();
  auto before = look(x.gate);
  const caf::message denied[] = {
    caf::make_message(reconfigure{"breaker", {{"threshold", "1"}}}),
    caf::make_message(command{operator_command::force_open}),
    caf::make_message(subscribe{}),
    caf::make_message(unsubscribe{}),
    caf::make_message(drain{}),
    caf::make_message(detail::worker_made{spare.handle(), {}, 1}),
  };
  for (auto& message : denied) {
    auto asked = world.user().request_message(x.calls, message);
    world.user().send_message(x.calls, message);
    world.run_until_idle();
    EXPECT_TRUE(is_refused(asked)) << to_string(message);
  }
  auto after = look(x.gate);
  EXPECT_EQ(after.state, gate_state::accepting);
  EXPECT_EQ(after.metrics, before.metrics);
  for (std::size_t i = 0; i < before.layers.size(); ++i) {
    EXPECT_EQ(after.layers[i].state, before.layers[i].state);
    EXPECT_EQ(after.layers[i].config, before.layers[i].config);
  }
  EXPECT_EQ(world.request(x.calls, 21).value<int>(), 42);
}

TEST_P(call_handle_test, exit_messages_and_other_system_messages_do_nothing) {
  auto x = make();
  world.kill(x.calls);
  stop_gate(x.calls);
  world.send(x.calls, caf::make_error(caf::sec::runtime_error));
  auto gate = caf::actor_cast<caf::actor_addr>(x.gate);
  world.send(x.calls, caf::down_msg{gate, caf::exit_reason::kill});
  world.send(x.calls, caf::exit_msg{gate, caf::exit_reason::kill});
  auto asked = world.request(x.calls,
                             caf::exit_msg{gate, caf::exit_reason::kill});
  EXPECT_TRUE(is_refused(asked));
  auto bad = own(world.system().spawn<linked>(x.calls));
  world.send(bad, true);
  EXPECT_FALSE(portable::is_down(x.calls));
  EXPECT_EQ(world.request(x.calls, 21).value<int>(), 42);
}

TEST_P(call_handle_test, linking_to_it_reports_when_the_gate_ends) {
  auto x = make();
  auto follower = own(world.system().spawn<linked>(x.calls));
  world.kill(x.gate);
  EXPECT_TRUE(portable::is_down(follower));
}

TEST_P(call_handle_test, answers_that_nobody_asked_for_are_dropped) {
  auto x = make({});
  auto asked = world.request(x.calls, 21);
  ASSERT_EQ(x.worker.open(), 1u);
  // The worker knows under which number the gate waits for its answer.
  auto number = x.worker.open_message().number;
  auto forged = caf::message_id{number}.response_id().integer_value();
  forge(x.calls, nullptr, forged, caf::make_message(666));
  world.run_until_idle();
  EXPECT_FALSE(asked.ready());
  EXPECT_EQ(metric_of(x.gate, "late_results"), 0);
  x.worker.answer(42);
  EXPECT_EQ(asked.value<int>(), 42);
}

TEST_P(call_handle_test, an_id_of_another_category_does_not_reach_the_gate) {
  auto x = make();
  auto sender = caf::actor_cast<caf::strong_actor_ptr>(world.user().handle());
  for (std::uint64_t category : {2, 3})
    forge(x.calls, sender, category << caf::message_id::category_offset,
          caf::make_message(21));
  world.run_until_idle();
  EXPECT_EQ(x.worker.count(), 0u);
  EXPECT_EQ(world.request(x.calls, 21).value<int>(), 42);
}

TEST_P(call_handle_test, messages_without_a_sender_are_plain_sends) {
  auto x = make();
  for (auto id : {std::uint64_t{1}, std::uint64_t{1} << 60}) {
    forge(x.calls, nullptr, id, caf::make_message(21));
    forge(x.calls, nullptr, id, caf::make_message(get_status{}));
    forge(x.calls, nullptr, id, caf::make_message(cancelled{1}));
    forge(x.calls, nullptr, id, caf::make_message(acquire{}));
    forge(x.calls, nullptr, id, caf::make_message(subscribe{}));
    forge(x.calls, nullptr, id, caf::make_message(drain{}));
  }
  world.run_until_idle();
  EXPECT_EQ(metric_of(x.gate, "plain_sends"), 2);
  EXPECT_EQ(metric_of(x.gate, "leases"), 0);
  EXPECT_EQ(look(x.gate).state, gate_state::accepting);
}

TEST_P(call_handle_test, what_is_in_an_envelope_is_payload) {
  auto x = make({});
  call wrapped{caf::make_message(reconfigure{"breaker", {{"threshold", "1"}}}),
               {}};
  auto asked = world.request(x.calls, wrapped);
  ASSERT_EQ(x.worker.open(), 1u);
  EXPECT_TRUE(portable::holds<reconfigure>(x.worker.open_message().content));
  x.worker.answer(1);
  EXPECT_TRUE(asked.ok());
  EXPECT_EQ(look(x.gate).layers.at(0).config.at("threshold"), "5");
}

TEST_P(call_handle_test, envelopes_in_an_envelope_are_payload_however_many) {
  auto x = make({});
  call all{caf::make_message(reconfigure{"breaker", {{"threshold", "1"}}}), {}};
  for (int i = 0; i < 10'000; ++i)
    all = call{caf::make_message(std::move(all)), {}};
  auto asked = world.request(x.calls, all);
  ASSERT_EQ(x.worker.open(), 1u);
  EXPECT_TRUE(portable::holds<call>(x.worker.open_message().content));
  x.worker.answer(1);
  EXPECT_TRUE(asked.ok());
  EXPECT_EQ(look(x.gate).layers.at(0).config.at("threshold"), "5");
  // Nor are they taken for calls of a gate further in.
  auto outer = call_handle(gate(x.calls, stack{"outer"}.retrier()));
  world.request(outer, all);
  EXPECT_EQ(x.worker.open(), 1u);
  world.advance(30s);
}

TEST_P(call_handle_test, it_is_no_control_for_any_gate_further_in_either) {
  auto x = make({});
  auto middle = gate(x.calls, stack{"middle"}.breaker());
  auto outer = call_handle(gate(middle, stack{"outer"}));
  const caf::message denied[] = {
    caf::make_message(reconfigure{"breaker", {{"threshold", "1"}}}),
    caf::make_message(command{operator_command::force_open}),
    caf::make_message(drain{}),
    caf::make_message(subscribe{}),
  };
  for (auto& message : denied) {
    call once{message, {}};
    call twice{caf::make_message(once), {}};
    world.request(outer, once);
    world.request(outer, twice);
  }
  for (auto& g : {middle, x.gate}) {
    EXPECT_EQ(look(g).state, gate_state::accepting);
    EXPECT_EQ(look(g).metrics.at("subscribers"), 0);
    EXPECT_EQ(look(g).layers.at(0).state, "closed");
    EXPECT_EQ(look(g).layers.at(0).config.at("threshold"), "5");
  }
  EXPECT_EQ(x.worker.count(), 8u);
  world.advance(30s);
}

TEST_P(call_handle_test, a_gate_knows_a_gate_by_its_call_handle) {
  auto x = make({});
  auto near = gate(x.calls, stack{"near"}.deadline({.timeout = 2s}));
  auto asked = world.request(near, 21);
  ASSERT_EQ(x.worker.open(), 1u);
  // The far gate got the deadline with the call, and is notified when it is
  // over.
  EXPECT_EQ(x.worker.cancelled_count(), 0u);
  world.advance(2s);
  EXPECT_TRUE(asked.is(errc::deadline_exceeded));
  EXPECT_EQ(x.worker.cancelled_count(), 1u);
  EXPECT_EQ(metric_of(x.gate, "in_progress"), 0);
}

TEST_P(call_handle_test, a_gate_without_a_worker_answers_through_it) {
  auto g = gate(worker{caf::actor{}}, stack{});
  EXPECT_TRUE(world.request(call_handle(g), 1).is(errc::worker_down));
}

TEST_P(call_handle_test, no_answer_names_who_gave_it) {
  auto x = make();
  std::vector<caf::strong_actor_ptr> senders;
  own(world.system().spawn<asker>(x.calls, &senders));
  ASSERT_EQ(senders.size(), 4u);
  for (auto& sender : senders)
    EXPECT_EQ(sender, nullptr);
}

TEST_P(call_handle_test, it_is_down_when_the_gate_is) {
  auto x = make();
  // A supervised worker is watched: the near gate sees the far one's end.
  auto near = gate(x.calls, stack{"near"});
  EXPECT_EQ(look(near).worker, worker_state::up);
  world.kill(x.gate);
  EXPECT_TRUE(portable::is_down(x.calls));
  EXPECT_EQ(look(near).worker, worker_state::down);
  EXPECT_TRUE(world.request(x.calls, 21).error()
              == caf::sec::request_receiver_down);
  // One that is made later is down from the beginning.
  EXPECT_TRUE(portable::is_down(call_handle(x.gate)));
}

TEST_P(call_handle_test, it_keeps_the_gate_and_leaves_nothing_behind) {
  auto w = make_worker(doubles());
  auto calls = call_handle(spawn_gate(world, w.handle(), stack{}));
  world.run_until_idle();
  auto before = world.actors();
  EXPECT_EQ(world.request(calls, 21).value<int>(), 42);
  calls = {};
  world.run_until_idle();
  EXPECT_EQ(world.actors(), before - 1) << "the gate is still there";
}

TEST_P(call_handle_test, one_that_is_let_go_is_not_remembered_by_the_gate) {
  auto x = make();
  auto extra = call_handle(x.gate);
  EXPECT_NE(extra, x.calls);
  caf::default_attachable::observe_token watch{
    extra.address(), caf::default_attachable::monitor};
  extra = {};
  world.run_until_idle();
  EXPECT_EQ(caf::actor_cast<caf::abstract_actor*>(x.gate)->detach(watch), 0u);
}

TEST_P(call_handle_test, that_of_a_call_handle_is_that_handle) {
  auto x = make();
  EXPECT_EQ(call_handle(x.calls), x.calls);
  EXPECT_EQ(call_handle(caf::actor{}), caf::actor{});
  EXPECT_EQ(detail::behind_call_handle(x.calls), x.gate);
  EXPECT_EQ(detail::behind_call_handle(x.gate), x.gate);
  EXPECT_EQ(detail::behind_call_handle(caf::actor{}), caf::actor{});
}

// What is published is said by the type: a gate as a whole becomes its front by
// itself, but nothing becomes a gate as a whole unasked.
static_assert(std::is_convertible_v<control_handle, call_handle>);
static_assert(std::is_convertible_v<call_handle, caf::actor>);
static_assert(std::is_convertible_v<control_handle, caf::actor>);
static_assert(!std::is_convertible_v<call_handle, control_handle>);
static_assert(!std::is_convertible_v<caf::actor, control_handle>);
static_assert(!std::is_convertible_v<caf::actor, call_handle>);

TEST_P(call_handle_test, a_gate_has_two_handles_of_different_types) {
  auto w = make_worker(doubles());
  auto whole = own(spawn_breaker(world, w.handle()));
  static_assert(std::is_same_v<decltype(whole), control_handle>);
  auto front = whole.calls();
  EXPECT_EQ(world.request(whole, 4).value<int>(), 8);
  EXPECT_EQ(world.request(front, 5).value<int>(), 10);
  auto order = command{operator_command::force_open};
  EXPECT_FALSE(world.request(front, order).ok());
  EXPECT_TRUE(world.request(whole, order).ok());
}

} // namespace
} // namespace caisson::test
