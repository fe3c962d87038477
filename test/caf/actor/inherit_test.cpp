// Calls that workers make on behalf of the call that they work on.
#include "support/world.hpp"

#include <caisson/caf/inherit.hpp>
#include <caisson/local_gate.hpp>

#include <functional>
#include <memory>
#include <optional>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

constexpr auto noon = time_point{} + 12h;

std::int64_t ns(time_point t) {
  return t.time_since_epoch().count();
}

// -- the options --------------------------------------------------------------

TEST(inherit, makes_an_instant_of_every_deadline) {
  struct row {
    duration time_left;
    std::int64_t deadline_ns;
    std::int64_t pinned;   // the instant, 0: none
    duration left_at_once; // what a nested call has left
  };
  for (const auto& x :
       std::vector<row>{{0s, 0, 0, 0s},
                        {5s, 0, ns(noon + 5s), 5s},
                        {0s, ns(noon + 5s), ns(noon + 5s), 5s},
                        {3s, ns(noon + 5s), ns(noon + 3s), 3s},
                        {7s, ns(noon + 5s), ns(noon + 5s), 5s},
                        {unlimited, 0, 0, unlimited},
                        {unlimited, ns(noon + 5s), ns(noon + 5s), 5s},
                        // Over, but not "not set".
                        {-1s, 0, ns(noon), -1ns},
                        {0s, ns(noon), ns(noon), -1ns},
                        {0s, ns(noon - 1h), ns(noon - 1h), -1ns}}) {
    call_options outer{.time_left = x.time_left, .deadline_ns = x.deadline_ns};
    auto inner_options = inherit(outer, noon);
    EXPECT_EQ(inner_options.deadline_ns, x.pinned);
    EXPECT_EQ(inner_options.time_left,
              x.time_left == unlimited && x.deadline_ns == 0 ? unlimited : 0s);
    auto at_once = nested(outer, noon, 7).options;
    EXPECT_EQ(at_once.deadline_ns, 0);
    EXPECT_EQ(at_once.time_left, x.left_at_once);
    EXPECT_EQ(nested(inner_options, noon, 7).options.time_left, x.left_at_once);
  }
}

TEST(inherit, an_instant_that_was_kept_does_not_move) {
  auto inner_options = inherit({.time_left = 100ms}, noon);
  EXPECT_EQ(nested(inner_options, noon + 30ms, 7).options.time_left, 70ms);
  EXPECT_EQ(nested(inner_options, noon + 100ms, 7).options.time_left, -1ns);
  EXPECT_EQ(nested(inner_options, noon + 1h, 7).options.time_left, -1ns);
}

TEST(inherit, the_epoch_is_a_deadline_like_any_other) {
  auto inner_options = inherit({.time_left = -1s}, time_point{});
  EXPECT_EQ(inner_options.deadline_ns, 0);
  EXPECT_EQ(inner_options.time_left, -1ns);
}

TEST(inherit, takes_what_belongs_to_the_whole_and_not_the_attempt) {
  call_options outer{.time_left = 1s,
                     .priority = -3,
                     .permits = 7,
                     .idempotent = idempotence::no,
                     .attempt = 4,
                     .key = "tenant",
                     .path = {1, 2, 3},
                     .user_priority = 9,
                     .stands_for = 10};
  for (const auto& o : {inherit(outer, noon), nested(outer, noon, 7).options}) {
    EXPECT_EQ(o.priority, -3);
    EXPECT_EQ(o.permits, 1u);
    EXPECT_EQ(o.idempotent, idempotence::no);
    EXPECT_EQ(o.attempt, 1u);
    EXPECT_EQ(o.key, "tenant");
    EXPECT_EQ(o.path, outer.path);
    EXPECT_EQ(o.user_priority, 9);
    EXPECT_EQ(o.stands_for, 0);
  }
  auto free = detached(outer, 7).options;
  EXPECT_EQ(free.time_left, 0s);
  EXPECT_EQ(free.deadline_ns, 0);
  EXPECT_EQ(free.priority, 0);
  EXPECT_EQ(free.user_priority, 0);
  EXPECT_EQ(free.idempotent, idempotence::unmarked);
  EXPECT_EQ(free.key, "");
  EXPECT_EQ(free.path, outer.path);
}

// -- in a worker --------------------------------------------------------------

class inherit_test : public world_test {
protected:
  using promise_of_int = caf::typed_response_promise<int>;
  using handler = std::function<void(caf::event_based_actor*, const call&,
                                     promise_of_int)>;

  // A worker that takes calls.
  caf::actor informed(handler f) {
    return own(
      world.system().spawn([f](caf::event_based_actor* self) -> caf::behavior {
        return {[=](const call& c) {
          auto promise = self->make_response_promise<int>();
          f(self, c, promise);
          return promise;
        }};
      }));
  }

  // Hands the answer to `x` on.
  template <class Call>
  static void pass_on(caf::event_based_actor* self, const caf::actor& to,
                      Call x, promise_of_int promise) {
    portable::ask(self, to, portable::no_timeout, std::move(x))
      .then([promise](int y) mutable { promise.deliver(y); },
            [promise](caf::error& e) mutable { promise.deliver(e); });
  }

  caf::actor front(const caf::actor& w, std::string name = "front") {
    return gate(worker{w}.takes_calls(), stack{std::move(name)});
  }

  // Calls `f` in `self` after a while.
  static void after(caf::event_based_actor* self, duration d,
                    std::function<void()> f) {
    auto clerk = self->spawn(
      [](caf::event_based_actor* actor) -> caf::behavior {
        return {[actor](std::int64_t wait) {
          auto promise = actor->make_response_promise<int>();
          actor->become([promise, actor](int) mutable {
            promise.deliver(1);
            actor->quit();
          });
          portable::later(actor, duration{wait}, 0);
          return promise;
        }};
      });
    portable::ask(self, clerk, portable::no_timeout,
                  static_cast<std::int64_t>(d.count()))
      .then([f](int) { f(); }, [](const caf::error&) {});
  }
};
CAISSON_ALL_ORDERS(inherit_test);

TEST_P(inherit_test,
       a_nested_call_gets_what_is_left_and_a_detached_one_goes_on) {
  auto mute = make_worker();
  auto inner = gate(worker{mute.handle()}.takes_calls(), stack{"inner"});
  auto slow = make_worker();
  auto background = gate(worker{slow.handle()}.takes_calls(),
                         stack{"background"});
  auto w = informed(
    [=](caf::event_based_actor* self, const call& c, promise_of_int promise) {
      auto inner_options = inherit(c.options, self->clock().now());
      portable::send(self, background, detached(c.options, 1));
      after(self, 30ms, [=] {
        pass_on(self, inner, nested(inner_options, self->clock().now(), 2),
                promise);
      });
    });
  auto start = world.now();
  auto answer = world.request(
    front(w), wrap(1).within(100ms).key("k").priority(5).idempotent());
  world.advance(30ms);
  auto o = mute.open_message().options();
  EXPECT_EQ(o.deadline_ns, ns(start + 100ms));
  EXPECT_EQ(o.key, "k");
  EXPECT_EQ(o.priority, 5);
  EXPECT_EQ(o.idempotent, idempotence::yes);
  EXPECT_EQ(o.path.size(), 2u);
  world.advance(70ms - 1ns);
  EXPECT_FALSE(answer.ready());
  EXPECT_EQ(metric_of(inner, "in_flight"), 1);
  world.advance(1ns);
  EXPECT_TRUE(answer.is(errc::deadline_exceeded));
  EXPECT_EQ(metric_of(inner, "expired"), 1);
  // The work in the background has the time of its own gate.
  world.advance(50ms);
  EXPECT_EQ(metric_of(background, "in_flight"), 1);
  EXPECT_EQ(slow.received().back().options().deadline_ns, ns(start + 30s));
  world.advance(30s);
  EXPECT_EQ(metric_of(background, "expired"), 1);
}

TEST_P(inherit_test, an_answer_comes_back_through_both) {
  auto last = make_worker(doubles());
  auto inner = gate(last.handle(), stack{"inner"});
  auto w = informed(
    [=](caf::event_based_actor* self, const call& c, promise_of_int promise) {
      pass_on(self, inner, nested(c.options, self->clock().now(), 21), promise);
    });
  EXPECT_EQ(world.request(front(w), 1).value<int>(), 42);
}

TEST_P(inherit_test, what_comes_too_late_is_refused_before_any_work) {
  auto last = make_worker(doubles());
  auto inner = gate(last.handle(), stack{"inner"});
  auto w = informed(
    [=](caf::event_based_actor* self, const call& c, promise_of_int promise) {
      auto inner_options = inherit(c.options, self->clock().now());
      after(self, 100ms, [=] {
        pass_on(self, inner, nested(inner_options, self->clock().now(), 2),
                promise);
      });
    });
  auto answer = world.request(front(w), wrap(1).within(100ms));
  world.advance(1s);
  EXPECT_TRUE(answer.is(errc::deadline_exceeded));
  EXPECT_EQ(last.count(), 0u);
  EXPECT_EQ(metric_of(inner, "expired_on_arrival"), 1);
}

TEST_P(inherit_test, without_a_deadline_outside_there_is_none_inside) {
  auto mute = make_worker();
  auto inner = gate(worker{mute.handle()}.takes_calls(), stack{"inner"});
  auto w = informed(
    [=](caf::event_based_actor* self, const call& c, promise_of_int promise) {
      pass_on(self, inner, nested(c.options, self->clock().now(), 2), promise);
    });
  auto answer = world.request(front(w), wrap(1).within(unlimited));
  world.advance(1h);
  EXPECT_FALSE(answer.ready());
  EXPECT_EQ(mute.open_message().options().time_left, unlimited);
  mute.answer(3);
  EXPECT_EQ(answer.value<int>(), 3);
}

TEST_P(inherit_test, a_circle_is_found) {
  for (bool background : {false, true}) {
    auto first = std::make_shared<caf::actor>();
    auto w = informed(
      [=](caf::event_based_actor* self, const call& c, promise_of_int promise) {
        pass_on(self, *first,
                background ? detached(c.options, 1)
                           : nested(c.options, self->clock().now(), 1),
                promise);
      });
    *first = front(w);
    EXPECT_TRUE(world.request(*first, 1).is(errc::call_loop));
    *first = nullptr;
  }
}

TEST_P(inherit_test, a_local_gate_takes_nested_calls) {
  auto mute = make_worker();
  auto inner = std::make_shared<std::optional<local_gate<>>>();
  auto w = informed(
    [=](caf::event_based_actor* self, const call& c, promise_of_int promise) {
      inner->emplace(self, worker{mute.handle()}.takes_calls(), stack{"inner"});
      (*inner)
        ->request(nested(c.options, self->clock().now(), 2))
        .then([promise](int x) mutable { promise.deliver(x); },
              [promise](caf::error& e) mutable { promise.deliver(e); });
    });
  auto start = world.now();
  auto answer = world.request(front(w), wrap(1).within(100ms));
  EXPECT_EQ(mute.open_message().options().deadline_ns, ns(start + 100ms));
  world.advance(100ms);
  EXPECT_TRUE(answer.is(errc::deadline_exceeded));
}

} // namespace
} // namespace caisson::test
