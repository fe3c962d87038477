// Calls in distributed traces: what workers get, and what events say.
#include "support/both_hosts.hpp"

#include <caisson/caf/inherit.hpp>
#include <caisson/policy/trace_context.hpp>
#include <caisson/stack/layers/cache_layer.hpp>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

const std::string from_outside
  = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const std::string unsampled
  = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00";
const std::string trace_from_outside = "4bf92f3577b34da6a3ce929d0e0e4736";
const std::string span_from_outside = "00f067aa0ba902b7";

std::string span_in(const call_options& o) {
  auto x = trace_context::parse(o.traceparent);
  EXPECT_TRUE(x) << o.traceparent;
  EXPECT_EQ(x.value_or(trace_context{}).trace_id(), trace_from_outside);
  return x ? span_text(x->span) : "";
}

class trace_test : public both_hosts {
protected:
  caf::actor traced_host(const scripted_worker& w, stack s) {
    auto g = host(worker{w.handle()}.takes_calls(), std::move(s));
    listen(g);
    return g;
  }

  void listen(const caf::actor& g) { world.send(g, subscribe{}); }

  std::vector<event> events() { return world.user().received_as<event>(); }

  std::vector<event> events(event_kind kind) {
    auto all = events();
    std::erase_if(all, [&](const event& x) { return x.kind != kind; });
    return all;
  }

  event only(event_kind kind) {
    auto found = events(kind);
    EXPECT_EQ(found.size(), 1u) << name_of(kind);
    return found.empty() ? event{} : found[0];
  }

  static stack retrying() {
    return stack{}.retrier({.max_attempts = 3,
                            .backoff = schedule::constant(1s),
                            .idempotent = true,
                            .budget = false});
  }
};
CAISSON_BOTH_HOSTS(trace_test, 4);

TEST_P(trace_test, each_attempt_has_a_span_below_that_of_the_gate) {
  auto w = make_worker();
  auto g = traced_host(w, retrying());
  auto answer = world.request(g, wrap(1).traceparent(from_outside));
  auto first = span_in(w.open_message().options());
  world.advance(10ms);
  w.fail(caf::make_error(caf::sec::end_of_stream));
  world.advance(1s);
  auto second = span_in(w.open_message().options());
  world.advance(20ms);
  w.answer(2);
  EXPECT_TRUE(answer.ok());

  auto ended = only(event_kind::call_ended);
  EXPECT_EQ(ended.trace_id, trace_from_outside);
  EXPECT_EQ(ended.parent_span_id, span_from_outside);
  EXPECT_EQ(ended.to, "ok");
  EXPECT_EQ(ended.delay, 1030ms);
  auto attempts = events(event_kind::attempt_ended);
  ASSERT_EQ(attempts.size(), 2u);
  for (const auto& x : attempts) {
    EXPECT_EQ(x.trace_id, trace_from_outside);
    EXPECT_EQ(x.parent_span_id, ended.span_id);
    EXPECT_EQ(x.detail, "worker");
    EXPECT_EQ(x.call, ended.call);
  }
  EXPECT_EQ(attempts[0].span_id, first);
  EXPECT_EQ(attempts[0].to, "error");
  EXPECT_EQ(attempts[0].delay, 10ms);
  EXPECT_EQ(attempts[1].span_id, second);
  EXPECT_EQ(attempts[1].to, "ok");
  EXPECT_EQ(attempts[1].delay, 20ms);
  EXPECT_EQ((std::set{first, second, ended.span_id, span_from_outside}.size()),
            4u);
  // The retrier's own event belongs to the call.
  auto retried = only(event_kind::retried);
  EXPECT_EQ(retried.trace_id, trace_from_outside);
  EXPECT_EQ(retried.span_id, ended.span_id);
  EXPECT_EQ(retried.parent_span_id, span_from_outside);
}

TEST_P(trace_test, gates_in_a_row_are_a_chain) {
  auto w = make_worker(doubles());
  auto inner = gate(worker{w.handle()}.takes_calls(), stack{"inner"});
  auto outer = host(worker{inner}, stack{"outer"});
  listen(inner);
  listen(outer);
  EXPECT_TRUE(world.request(outer, wrap(1).traceparent(from_outside)).ok());
  auto ended = events(event_kind::call_ended);
  auto attempts = events(event_kind::attempt_ended);
  ASSERT_EQ(ended.size(), 2u);
  ASSERT_EQ(attempts.size(), 2u);
  auto of = [](const std::vector<event>& xs, const std::string& name) {
    return *std::find_if(xs.begin(), xs.end(),
                         [&](auto& x) { return x.gate == name; });
  };
  EXPECT_EQ(of(ended, "outer").parent_span_id, span_from_outside);
  EXPECT_EQ(of(attempts, "outer").parent_span_id, of(ended, "outer").span_id);
  EXPECT_EQ(of(ended, "inner").parent_span_id, of(attempts, "outer").span_id);
  EXPECT_EQ(of(attempts, "inner").parent_span_id, of(ended, "inner").span_id);
  EXPECT_EQ(span_in(w.received().back().options()),
            of(attempts, "inner").span_id);
}

TEST_P(trace_test, gates_with_the_same_seed_draw_different_spans) {
  auto w = make_worker(doubles());
  auto inner = gate(worker{w.handle()}.takes_calls(),
                    stack{gate_config{.name = "inner", .seed = 5}});
  auto outer = host(worker{inner},
                    stack{gate_config{.name = "outer", .seed = 5}});
  listen(inner);
  listen(outer);
  EXPECT_TRUE(world.request(outer, wrap(1).traceparent(from_outside)).ok());
  std::set<std::string> spans;
  for (const auto& x : events())
    spans.insert(x.span_id);
  EXPECT_EQ(spans.size(), 4u);
}

TEST_P(trace_test, a_call_without_a_trace_has_none) {
  auto w = make_worker();
  auto g = traced_host(w, retrying());
  for (const char* text : {"", "00-what", "traceparent"}) {
    world.request(g, wrap(1).traceparent(text));
    EXPECT_EQ(w.open_message().options().traceparent, "");
    w.fail(caf::make_error(caf::sec::end_of_stream));
    world.advance(1s);
    w.answer(2);
  }
  // Much of nothing is refused by nobody and sent to nobody.
  world.request(g, wrap(1).traceparent(std::string(1'000'000, '0')));
  EXPECT_EQ(w.open_message().options().traceparent, "");
  w.answer(2);
  EXPECT_EQ(events().size(), 3u);
  for (const auto& x : events()) {
    EXPECT_EQ(x.kind, event_kind::retried);
    EXPECT_EQ(x.trace_id + x.span_id + x.parent_span_id, "");
  }
}

TEST_P(trace_test, that_is_not_sampled_goes_on_without_events_of_its_ends) {
  auto w = make_worker();
  auto g = traced_host(w, retrying());
  world.request(g, wrap(1).traceparent(unsampled));
  span_in(w.open_message().options());
  EXPECT_TRUE(w.open_message().options().traceparent.ends_with("-00"));
  w.fail(caf::make_error(caf::sec::end_of_stream));
  world.advance(1s);
  w.answer(2);
  ASSERT_EQ(events().size(), 1u);
  EXPECT_EQ(events()[0].kind, event_kind::retried);
  EXPECT_EQ(events()[0].trace_id, trace_from_outside);
}

TEST_P(trace_test, the_reason_to_cut_an_attempt_off_is_reported) {
  auto w = make_worker();
  auto g = traced_host(w, stack{});
  auto answer = world.request(g,
                              wrap(1).within(300ms).traceparent(from_outside));
  world.advance(300ms);
  EXPECT_TRUE(answer.is(errc::deadline_exceeded));
  EXPECT_EQ(only(event_kind::attempt_ended).to, "deadline_exceeded");
  EXPECT_EQ(only(event_kind::attempt_ended).delay, 300ms);
  EXPECT_EQ(only(event_kind::call_ended).to, "deadline_exceeded");
  EXPECT_EQ(only(event_kind::expired).trace_id, trace_from_outside);
}

TEST_P(trace_test, a_worker_that_dies_ends_the_attempt) {
  auto w = make_worker();
  auto g = traced_host(w, stack{});
  auto answer = world.request(g, wrap(1).traceparent(from_outside));
  w.kill();
  EXPECT_TRUE(answer.is(errc::worker_down));
  EXPECT_EQ(only(event_kind::attempt_ended).to, "worker_down");
  EXPECT_EQ(only(event_kind::call_ended).to, "worker_down");
}

TEST_P(trace_test, a_call_that_is_rejected_has_no_attempt) {
  auto w = make_worker();
  auto g = traced_host(w, stack{}.semaphore({.permits = 1, .max_waiters = 0}));
  world.request(g, 1);
  auto refused = world.request(g, wrap(1).traceparent(from_outside));
  EXPECT_FALSE(refused.ok());
  EXPECT_EQ(only(event_kind::call_ended).to, only(event_kind::rejected).to);
  EXPECT_EQ(only(event_kind::rejected).span_id,
            only(event_kind::call_ended).span_id);
  EXPECT_EQ(events(event_kind::attempt_ended).size(), 0u);
  w.answer(2);
}

TEST_P(trace_test, an_alternative_has_a_span_of_its_own) {
  auto w = make_worker(
    scripted_worker::always(caf::make_error(caf::sec::end_of_stream)));
  auto other = make_worker(doubles());
  auto g = traced_host(w, stack{}.fallback({alternative::ask(other.handle())}));
  EXPECT_TRUE(world.request(g, wrap(1).traceparent(from_outside)).ok());
  auto call = only(event_kind::call_ended);
  EXPECT_EQ(call.to, "ok");
  auto attempts = events(event_kind::attempt_ended);
  ASSERT_EQ(attempts.size(), 2u);
  EXPECT_EQ(attempts[0].detail + " " + attempts[0].to, "worker error");
  EXPECT_EQ(attempts[1].detail + " " + attempts[1].to, "target 1 ok");
  EXPECT_NE(attempts[0].span_id, attempts[1].span_id);
  for (const auto& x : attempts)
    EXPECT_EQ(x.parent_span_id, call.span_id);
}

TEST_P(trace_test, a_batch_belongs_to_the_first_traced_call_in_it) {
  auto w = make_worker(scripted_worker::always(2));
  auto g = traced_host(w, stack{}.batcher({.max_items = 3}));
  world.request(g, 1);
  world.request(g, wrap(1).traceparent(from_outside));
  world.request(g, wrap(1).traceparent(
                     "00-11111111111111111111111111111111-2222222222222222-"
                     "01"));
  ASSERT_EQ(w.count(), 1u);
  auto span = span_in(w.received()[0].options());
  auto attempt = only(event_kind::attempt_ended);
  EXPECT_EQ(attempt.span_id, span);
  auto ended = events(event_kind::call_ended);
  ASSERT_EQ(ended.size(), 2u);
  EXPECT_EQ(attempt.parent_span_id, ended[0].span_id);
  EXPECT_EQ(ended[0].trace_id, trace_from_outside);
  EXPECT_EQ(ended[1].trace_id, std::string(32, '1'));
}

TEST_P(trace_test, a_refresh_belongs_to_the_call_that_caused_it) {
  auto w = make_worker(scripted_worker::always(2));
  cache_forms forms{
    .key = [](const caf::message&) { return std::optional<std::string>{"k"}; }};
  auto g = traced_host(w, stack{}.cache({.ttl = 1s, .stale_while = 1h}, forms));
  world.request(g, 1);
  world.advance(2s);
  EXPECT_TRUE(world.request(g, wrap(1).traceparent(from_outside)).ok());
  ASSERT_EQ(w.count(), 2u);
  auto call = only(event_kind::call_ended);
  auto attempt = only(event_kind::attempt_ended);
  EXPECT_EQ(attempt.span_id, span_in(w.received()[1].options()));
  EXPECT_EQ(attempt.parent_span_id, call.span_id);
}

TEST_P(trace_test, an_expired_call_still_has_a_span) {
  auto w = make_worker();
  auto g = traced_host(w, stack{});
  auto refused = world.request(
    g, wrap(1).by(world.now()).traceparent(from_outside));
  EXPECT_TRUE(refused.is(errc::deadline_exceeded));
  EXPECT_EQ(only(event_kind::call_ended).to, "deadline_exceeded");
}

TEST_P(trace_test, takes_along_its_state_and_baggage) {
  auto w = make_worker();
  auto g = traced_host(w, retrying());
  world.request(g, wrap(1)
                     .traceparent(from_outside)
                     .tracestate("rojo=1, congo=2")
                     .baggage("user=7 , x"));
  for (auto attempt : {1, 2}) {
    auto o = w.open_message().options();
    span_in(o);
    EXPECT_EQ(o.propagated.tracestate(), "rojo=1,congo=2") << attempt;
    EXPECT_EQ(o.propagated.baggage(), "user=7");
    if (attempt == 1)
      w.fail(caf::make_error(caf::sec::end_of_stream));
    world.advance(1s);
  }
  w.answer(2);
  EXPECT_EQ(only(event_kind::call_ended).tracestate, "rojo=1,congo=2");
  ASSERT_EQ(events(event_kind::attempt_ended).size(), 2u);
  for (const auto& x : events())
    EXPECT_EQ(x.tracestate,
              x.kind == event_kind::retried ? "" : "rojo=1,congo=2");
}

TEST_P(trace_test, baggage_needs_no_trace_but_its_state_does) {
  auto w = make_worker();
  auto inner = host(worker{w.handle()}.takes_calls(), stack{"inner"});
  auto g = host(worker{inner}.is_gate(), stack{"outer"});
  listen(g);
  for (const char* traceparent : {"", "00-what"}) {
    world.request(
      g,
      wrap(1).traceparent(traceparent).tracestate("rojo=1").baggage("user=7"));
    auto o = w.open_message().options();
    EXPECT_EQ(o.traceparent, "");
    EXPECT_EQ(o.propagated.tracestate(), "");
    EXPECT_EQ(o.propagated.baggage(), "user=7");
    w.answer(2);
  }
  EXPECT_TRUE(events().empty());
  // Without either there is nothing.
  world.request(g, wrap(1).tracestate("rojo=1"));
  EXPECT_TRUE(w.open_message().options().propagated.empty());
  w.answer(2);
}

TEST_P(trace_test, a_batch_has_trace_and_baggage_of_the_same_call) {
  auto w = make_worker(scripted_worker::always(2));
  auto g = traced_host(w, stack{}.batcher({.max_items = 3}));
  world.request(g, wrap(1).baggage("user=1"));
  world.request(g, wrap(1).traceparent(from_outside).baggage("user=2"));
  world.request(g, wrap(1).baggage("user=3"));
  ASSERT_EQ(w.count(), 1u);
  auto o = w.received()[0].options();
  span_in(o);
  EXPECT_EQ(o.propagated.baggage(), "user=2");
  for (auto x : {"user=4", "user=5", "user=6"})
    world.request(g, wrap(1).baggage(x));
  ASSERT_EQ(w.count(), 2u);
  EXPECT_EQ(w.received()[1].options().traceparent, "");
  EXPECT_EQ(w.received()[1].options().propagated.baggage(), "user=4");
}

TEST_P(trace_test, a_refresh_has_the_baggage_of_the_call_that_caused_it) {
  auto w = make_worker(scripted_worker::always(2));
  cache_forms forms{
    .key = [](const caf::message&) { return std::optional<std::string>{"k"}; }};
  auto g = traced_host(w, stack{}.cache({.ttl = 1s, .stale_while = 1h}, forms));
  world.request(g, 1);
  world.advance(2s);
  EXPECT_TRUE(world.request(g, wrap(1).baggage("user=7")).ok());
  ASSERT_EQ(w.count(), 2u);
  EXPECT_EQ(w.received()[1].options().propagated.baggage(), "user=7");
}

TEST(traces, are_inherited_by_calls_of_the_worker) {
  call_options outer{.traceparent = from_outside};
  outer.propagated.set_tracestate("rojo=1");
  outer.propagated.set_baggage("user=7");
  for (const auto& inner : {inherit(outer, {}), nested(outer, {}, 1).options,
                            detached(outer, 1).options}) {
    EXPECT_EQ(inner.traceparent, from_outside);
    EXPECT_EQ(inner.propagated, outer.propagated);
  }
}

} // namespace
} // namespace caisson::test
