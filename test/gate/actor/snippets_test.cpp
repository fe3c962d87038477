// The code that README.md and the pages in docs/ quote, but for tests.
#include "support/world.hpp"

#include <caisson/caf/inherit.hpp>
#include <caisson/caf/ticket.hpp>
#include <caisson/observe/event_log.hpp>
#include <caisson/observe/event_text.hpp>
#include <caisson/policy/stage_budget.hpp>
#include <caisson/stack/add.hpp>
#include <caisson/stack/layers/canary_layer.hpp>

#include <support/scratch.hpp>

#include <gmock/gmock.h>

#include <cstdint>
#include <functional>
#include <ostream>
#include <sstream>
#include <string>
#include <utility>

using namespace std::chrono_literals;

// The pages show requests as CAF 0.17 has them; 1.x has them too, deprecated.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace caisson::test {
namespace {

// -- workers ------------------------------------------------------------------

caf::behavior doubler() {
  return {
    [](std::int32_t x) { return 2 * x; },
  };
}

// [typed-worker]
using doubling = caf::typed_actor<portable::sig<std::int32_t(std::int32_t)>>;

doubling::behavior_type typed_doubler() {
  return {
    [](std::int32_t x) { return 2 * x; },
  };
}
// [/typed-worker]

// [informed-worker]
class patient_worker final : public caf::event_based_actor {
public:
  using caf::event_based_actor::event_based_actor;

  caf::behavior make_behavior() override {
    return {
      [this](const caisson::call& x) -> caf::result<std::string> {
        auto deadline = caisson::time_point{
          caisson::duration{x.options.deadline_ns}};
        auto left = caisson::time_until(deadline, clock().now());
        running_ = caisson::portable::current_call(this);
        return left < 1s ? "a rough answer" : "a good answer";
      },
      [this](const caisson::cancelled& x) {
        if (x.number == running_)
          ++stopped_; // Nobody waits for it any more: stop working.
      },
    };
  }

private:
  std::uint64_t running_ = 0;
  int stopped_ = 0;
};
// [/informed-worker]

class licensed_actor final : public caf::event_based_actor {
public:
  licensed_actor(caf::actor_config& cfg, caf::actor desk)
    : caf::event_based_actor(cfg), desk_(std::move(desk)) {}

  caf::behavior make_behavior() override {
    // [ticket]
    portable::ask(this, desk_, portable::no_timeout, caisson::acquire{})
      .then(caisson::with_ticket(
              desk_, [this](caisson::ticket t) { licence_ = std::move(t); }),
            [](const caf::error&) {});
    // [/ticket]
    return {[](int) {}};
  }

private:
  caf::actor desk_;
  caisson::ticket licence_;
};

class snippets_test : public world_test {
protected:
  caf::actor_system& system = world.system();
};
CAISSON_ALL_ORDERS(snippets_test);

TEST_P(snippets_test, policy_and_stack) {
  auto service = own(system.spawn(doubler));
  // [policy]
  auto guarded = caisson::spawn_breaker(
    system, service,
    {.threshold = 5, .open = caisson::schedule::constant(10s)});
  // [/policy]
  own(guarded);
  EXPECT_EQ(world.request(guarded, 1).value<std::int32_t>(), 2);
  // [stack]
  auto payments = caisson::spawn_gate(
    system, service,
    caisson::stack{"payments"}
      .deadline({.timeout = 2s})
      // Each payment has a number, and the service books a number once.
      .retrier({.max_attempts = 3, .idempotent = true})
      .breaker({.threshold = 5})
      .limiter({.rate = 100, .burst = 20})
      .semaphore({.permits = 20, .max_waiters = 50, .max_wait = 200ms}));
  // [/stack]
  own(payments);
  EXPECT_EQ(world.request(payments, 4).value<std::int32_t>(), 8);
}

TEST_P(snippets_test, typed) {
  // [typed]
  doubling service = system.spawn(typed_doubler);
  doubling guarded = caisson::spawn_guard(system, service,
                                          caisson::stack{}.deadline());
  // What is not in the interface needs the untyped handle.
  auto gate = caf::actor_cast<caf::actor>(guarded);
  auto answer = world.request(gate, caisson::get_status{});
  // [/typed]
  own(guarded);
  own(service);
  EXPECT_EQ(answer.value<status>().worker, worker_state::up);
  EXPECT_EQ(world.request(guarded, 21).value<std::int32_t>(), 42);
}

TEST_P(snippets_test, two_attempts_of_one_second_each) {
  auto mute = make_worker();
  // [two-deadlines]
  auto policies = caisson::stack{"search"}
                    .deadline({.name = "overall", .timeout = 3s})
                    .retrier({.max_attempts = 5,
                              .backoff = caisson::schedule::constant(100ms),
                              .idempotent = true})
                    .deadline({.name = "attempt", .timeout = 1s});
  // [/two-deadlines]
  auto g = gate(mute.handle(), policies);
  auto answer = world.request(g, 1);
  world.advance(3s);
  EXPECT_TRUE(answer.is(errc::deadline_exceeded));
  EXPECT_EQ(context_of(answer.error())->policy, "overall");
  EXPECT_EQ(mute.count(), 3u);
}

TEST_P(snippets_test, options_of_a_call) {
  auto service = own(system.spawn(doubler));
  auto gate = own(spawn_gate(world, service, stack{}));
  // [call]
  using caisson::wrap;
  auto a = world.request(gate, wrap(21).within(500ms).idempotent());
  auto b = world.request(gate, wrap(21).by(world.now() + 2s));
  auto c = world.request(gate, wrap(21).permits(3).key("tenant-7"));
  // [/call]
  EXPECT_TRUE(a.ok() && b.ok() && c.ok());
}

TEST_P(snippets_test, a_worker_that_wants_to_know) {
  auto service = own(system.spawn<patient_worker>());
  // [informed]
  auto gate = caisson::spawn_gate(
    system, caisson::worker{service}.takes_calls().takes_cancelled(),
    caisson::stack{});
  // [/informed]
  own(gate);
  EXPECT_EQ(world.request(gate, wrap(1).within(5s)).value<std::string>(),
            "a good answer");
  EXPECT_EQ(world.request(gate, wrap(1).within(5ms)).value<std::string>(),
            "a rough answer");
}

TEST_P(snippets_test, supervised) {
  // [supervised]
  auto make = [](caf::actor_system& sys) -> caf::expected<caf::actor> {
    return sys.spawn(doubler);
  };
  auto gate = caisson::spawn_gate(
    system,
    caisson::worker::supervised(
      make, {.restart = caisson::schedule::exponential(100ms).limit(5s),
             .max_restarts = 5,
             .period = 30s,
             .on_give_up = caisson::give_up_action::refuse}),
    caisson::stack{"doubling"}.retrier({.idempotent = true}));
  // [/supervised]
  own(gate);
  EXPECT_EQ(world.request(gate, 21).value<std::int32_t>(), 42);
}

TEST_P(snippets_test, permits) {
  // [permits]
  // No worker: this gate only hands out permits.
  auto licences = caisson::spawn_semaphore(system, caisson::worker{},
                                           {.permits = 2, .max_waiters = 10});
  auto asked = world.request(licences, caisson::acquire{.time_left = 1min});
  auto lease = asked.value<caisson::permit>();
  // ... use it, for at most lease.expires ...
  auto back = world.request(licences, caisson::release{lease.id});
  // [/permits]
  own(licences);
  EXPECT_EQ(lease.expires, 1min);
  EXPECT_TRUE(back.ok());
}

TEST_P(snippets_test, tickets) {
  auto desk = own(caisson::spawn_semaphore(world, caisson::worker{}, {}));
  auto actor = own(
    caf::actor_cast<caf::actor>(system.spawn<licensed_actor>(desk)));
  EXPECT_EQ(metric_of(desk, "leases"), 1);
  world.kill(actor);
  EXPECT_EQ(metric_of(desk, "leases"), 0);
}

TEST_P(snippets_test, stages) {
  auto service = own(system.spawn(doubler));
  auto gate = own(spawn_gate(world, service, stack{}));
  // [stages]
  caisson::stage_budget budget{
    {.total = 300ms,
     .stages = {{"dns", 20ms}, {"tls", 50ms}, {"api", 200ms}},
     .reserve = 30ms}};
  auto clock = budget.start(world.now());
  // ... look up, connect, and then:
  auto answer = world.request(gate,
                              wrap(21).by(clock.limit_of("api", world.now())));
  // [/stages]
  EXPECT_EQ(answer.value<std::int32_t>(), 42);
}

TEST_P(snippets_test, learned_limits) {
  auto service = own(system.spawn(doubler));
  auto policies =
    // [learned-limit]
    stack{"search"}
      .retrier({.max_attempts = 2, .idempotent = true})
      .deadline(
        {.timeout = 1s,
         .learned = {.on = true, .factor = 2, .deviations = 0, .most = 3s}});
  // [/learned-limit]
  auto gate = own(spawn_gate(world, service, policies));
  EXPECT_EQ(world.request(gate, 21).value<std::int32_t>(), 42);
  EXPECT_EQ(metric_of(gate, "deadline", "samples"), 1);
}

TEST_P(snippets_test, stages_of_a_canary) {
  auto service = own(system.spawn(doubler));
  auto next = own(system.spawn(doubler));
  // [canary_stages]
  auto policies = caisson::stack{"prices"}.add<caisson::canary>(
    {.stages = {0.01,
                {0.3, {.dwell = 1h, .min_calls = 1000, .max_p99 = 800ms}},
                1.0},
     .hand_over_after = 200ms,
     .max_described = 5},
    next, caisson::compares_values<std::int32_t>());
  // [/canary_stages]
  auto gate = own(spawn_gate(world, service, std::move(policies)));
  EXPECT_EQ(world.request(gate, 21).value<std::int32_t>(), 42);
  EXPECT_EQ(look(gate).layer("canary").config.at("stages"),
            "[0.01, { share = 0.3, dwell = \"1h\", min_calls = 1000, max_p99 = "
            "\"800ms\" }, 1]");
}

TEST_P(snippets_test, nested_calls) {
  auto rates = own(
    spawn_gate(world, own(system.spawn(doubler)), stack{"rates"}));
  auto journal = own(
    spawn_gate(world, own(system.spawn(doubler)), stack{"journal"}));
  auto service = own(
    system.spawn([=](caf::event_based_actor* self) -> caf::behavior {
      // [nested]
      auto convert = [=](const caisson::call& c) {
        auto promise = self->make_response_promise<std::int32_t>();
        portable::ask(self, rates, portable::no_timeout,
                      caisson::nested(c.options, self->clock().now(), 21))
          .then([promise](std::int32_t x) mutable { promise.deliver(x); },
                [promise](caf::error& e) mutable { promise.deliver(e); });
        portable::send(self, journal, caisson::detached(c.options, 1));
        return promise;
      };
      // [/nested]
      return {convert};
    }));
  auto gate = own(
    spawn_gate(world, worker{service}.takes_calls(), stack{"front"}));
  EXPECT_EQ(world.request(gate, 1).value<std::int32_t>(), 42);
  EXPECT_EQ(metric_of(journal, "succeeded"), 1);
}

TEST_P(snippets_test, batches) {
  using namespace caisson;
  // [batch-worker]
  auto writer = [](const batch& rows) {
    batch_reply reply;
    for (auto& row : rows.items)
      reply.results.push_back(
        portable::holds<std::string>(row)
          ? caf::make_message(std::string{"stored"})
          : caf::make_message(caf::make_error(caf::sec::invalid_argument)));
    return reply;
  };
  // [/batch-worker]
  auto service = own(
    system.spawn([writer]() -> caf::behavior { return {writer}; }));
  // [batch]
  auto table = caisson::spawn_batcher(system, service,
                                      {.max_items = 100, .max_delay = 10ms});
  // [/batch]
  own(table);
  auto good = world.request(table, std::string{"a row"});
  auto bad = world.request(table, 7);
  world.advance(10ms);
  EXPECT_EQ(good.value<std::string>(), "stored");
  EXPECT_EQ(bad.error(), caf::sec::invalid_argument);
}

TEST_P(snippets_test, operation_and_events) {
  auto service = own(system.spawn(doubler));
  auto gate = own(spawn_breaker(system, service));
  // [operate]
  using namespace caisson;
  auto changed = world.request(
    gate, reconfigure{"breaker", {{"threshold", "3"}, {"open.base", "2s"}}});
  auto forced = world.request(gate, command{operator_command::force_open});
  auto lifted = world.request(gate, command{operator_command::enable});
  auto now = world.request(gate, get_status{}).value<status>();
  auto& breaker = now.layers.at(0);
  auto opened = breaker.metrics.at("opened");
  // [/operate]
  EXPECT_TRUE(changed.ok()) << to_string(changed.content());
  EXPECT_EQ(forced.value<status>().layers[0].state, "forced_open");
  EXPECT_TRUE(lifted.ok() && breaker.state == "closed");
  EXPECT_EQ(opened, 0);
  auto watcher = world.make_probe();
  watcher.send(gate, caisson::subscribe{});
  world.request(gate, command{operator_command::force_open});
  auto events = watcher.received_as<caisson::event>();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].to, "forced_open");
}

// [event-printer]
class event_printer : public caf::event_based_actor {
public:
  event_printer(caf::actor_config& cfg, caisson::control_handle gate,
                std::ostream& out)
    : event_based_actor(cfg), gate_(std::move(gate)), out_(out) {}

  caf::behavior make_behavior() override {
    caisson::portable::send(this, gate_, caisson::subscribe{});
    return {
      [this](const caisson::event& x) {
        out_ << caisson::to_text(x) << std::endl;
      },
    };
  }

private:
  caisson::control_handle gate_;
  std::ostream& out_;
};
// [/event-printer]

TEST_P(snippets_test, events_of_a_gate_in_an_actor) {
  auto service = own(system.spawn(doubler));
  control_handle gate{own(caisson::spawn_gate(
    system, service, caisson::stack{"payments"}.breaker()))};
  std::ostringstream out;
  auto printer = own(system.spawn<event_printer>(gate, std::ref(out)));
  world.request(gate, command{operator_command::force_open});
  EXPECT_EQ(out.str(),
            "payments/breaker: state_changed closed -> forced_open (forced "
            "open)\n"
            "payments/breaker: reconfigured (force_open)\n");
  // It must not outlive what it writes to.
  caf::anon_send_exit(printer, caf::exit_reason::kill);
  world.advance(1ms);
}

TEST_P(snippets_test, events_in_a_log) {
  scratch_dir dir;
  auto path = (dir / "events.jsonl").string();
  auto service = own(system.spawn(doubler));
  control_handle payments{own(spawn_breaker(system, service))};
  {
    // [event-log]
    auto log = caisson::event_log::to_file(system, path);
    log.follow(payments);
    // [/event-log]
    world.request(payments, command{operator_command::force_open});
  }
  EXPECT_THAT(text_of(path), testing::HasSubstr("\"to\":\"forced_open\""));
}

TEST_P(snippets_test, a_traced_call) {
  auto service = make_worker(doubles());
  auto payments = gate(worker{service.handle()}.takes_calls(), stack{});
  const std::string header_of_request
    = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  auto charge = 21;
  // [traceparent]
  auto answer = world.request(
    payments, caisson::wrap(charge).traceparent(header_of_request));
  // [/traceparent]
  EXPECT_EQ(answer.value<int>(), 42);
  EXPECT_TRUE(service.received()[0].options().traceparent.starts_with(
    "00-4bf92f3577b34da6a3ce929d0e0e4736-"));
}

TEST_P(snippets_test, baggage_of_a_call) {
  auto service = make_worker(doubles());
  auto payments = gate(worker{service.handle()}.takes_calls(), stack{});
  const std::string header_of_request
    = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  auto charge = 21;
  // [baggage]
  auto answer = world.request(payments, caisson::wrap(charge)
                                          .traceparent(header_of_request)
                                          .tracestate("rojo=00f067aa0ba902b7")
                                          .baggage("tenant=blue,plan=free"));
  // [/baggage]
  EXPECT_EQ(answer.value<int>(), 42);
  EXPECT_EQ(service.received()[0].options().propagated.baggage(),
            "tenant=blue,plan=free");
}

TEST_P(snippets_test, draining) {
  auto service = make_worker();
  auto gate = own(spawn_gate(world, service.handle(), stack{}));
  auto call = world.request(gate, 1);
  // [drain]
  auto drained = world.request(gate, caisson::drain{});
  EXPECT_FALSE(drained.ready()); // A call is still in progress.
  service.answer(2);
  EXPECT_TRUE(drained.ready());
  caisson::stop_gate(gate);
  // [/drain]
  EXPECT_EQ(call.value<int>(), 2);
}

} // namespace
} // namespace caisson::test
