// The event that a call begins to wait, wherever it waits.
#include "support/both_hosts.hpp"
#include "support/stack_texts.hpp"

#include <caisson/observe/event_text.hpp>
#include <caisson/policies.hpp>
#include <caisson/policies/keyed/keyed.hpp>

#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <vector>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

using testing::ElementsAre;

class waiting_test : public both_hosts {
protected:
  caf::actor subscribed_gate(worker behind, stack s) {
    auto g = host(std::move(behind), std::move(s));
    world.send(g, subscribe{});
    world.run_until_idle();
    return g;
  }

  // "layer: detail" of each.
  std::vector<std::string> reports() {
    std::vector<std::string> out;
    for (const auto& x : world.user().received_as<event>())
      if (x.kind == event_kind::waiting)
        out.push_back(x.layer + ": " + x.detail);
    return out;
  }

  static semaphore_config one_permit() {
    semaphore_config c;
    c.permits = 1;
    c.max_waiters = 5;
    return c;
  }
};
CAISSON_BOTH_HOSTS(waiting_test, 4);

TEST_P(waiting_test, is_not_reported_unless_configured) {
  auto w = make_worker();
  auto g = subscribed_gate(w.handle(), stack{}.semaphore(one_permit()));
  for (int x = 0; x < 3; ++x)
    world.send(g, x);
  world.run_until_idle();
  EXPECT_EQ(metric_of(g, "semaphore", "waiting"), 2);
  EXPECT_TRUE(world.user().received_as<event>().empty());
}

TEST_P(waiting_test, is_reported_by_each_layer_with_a_queue) {
  auto w = make_worker();
  limiter_config slow;
  slow.rate = 1;
  slow.burst = 2;
  slow.max_wait = 1min;
  auto g = subscribed_gate(
    w.handle(), stack{"s"}.emit_waits().limiter(slow).semaphore(one_permit()));
  for (int x = 0; x < 4; ++x)
    world.send(g, x);
  world.run_until_idle();
  EXPECT_THAT(reports(), ElementsAre("semaphore: 1 running, 1 waiting",
                                     "limiter: 2 running, 1 waiting",
                                     "limiter: 2 running, 2 waiting"));
}

TEST_P(waiting_test, is_reported_for_a_call_that_waits_for_the_worker) {
  auto w = make_worker(scripted_worker::on<int>([](int x) { return x; }));
  auto g = subscribed_gate(
    worker::supervised(w.factory(), {.restart = schedule::constant(1s)}),
    stack{"s"}.emit_waits());
  w.kill();
  world.run_until_idle();
  auto a = world.user().request(g, 1);
  auto b = world.user().request(g, 2);
  world.run_until_idle();
  EXPECT_THAT(reports(),
              ElementsAre(": 0 running, 1 waiting", ": 0 running, 2 waiting"));
  world.advance(2s);
  EXPECT_TRUE(a.ok());
  EXPECT_TRUE(b.ok());
  EXPECT_EQ(reports().size(), 2u);
}

TEST_P(waiting_test, names_the_call_and_its_key) {
  auto w = make_worker();
  auto g = subscribed_gate(w.handle(),
                           stack{"s"}.emit_waits().add<keyed<semaphore>>(
                             keyed_config<semaphore>{one_permit()}));
  for (const auto* key : {"a", "b", "b"})
    world.send(g, wrap(1).key(key));
  world.run_until_idle();
  auto all = world.user().received_as<event>();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].kind, event_kind::waiting);
  EXPECT_EQ(all[0].detail, "key b: 1 running, 1 waiting");
  EXPECT_NE(all[0].call, 0u);
  auto granted = all[0].call;
  w.answer(1);
  w.answer(1);
  world.run_until_idle();
  all = world.user().received_as<event>();
  ASSERT_FALSE(all.empty());
  EXPECT_EQ(all.back().kind, event_kind::granted);
  EXPECT_EQ(all.back().call, granted);
}

TEST_P(waiting_test, is_reported_for_would_be_waits_in_observe_mode) {
  auto w = make_worker();
  auto c = one_permit();
  c.mode = mode::observe;
  auto g = subscribed_gate(w.handle(), stack{"s"}.emit_waits().semaphore(c));
  world.send(g, 1);
  world.send(g, 2);
  world.run_until_idle();
  EXPECT_EQ(w.count(), 2u);
  EXPECT_THAT(reports(), ElementsAre("semaphore: 1 running, 1 waiting"));
}

TEST_P(waiting_test, is_asked_for_in_toml) {
  auto w = make_worker();
  auto g = subscribed_gate(w.handle(),
                           only_stack("[stack.s]\nemit_waits = true\n"
                                      "[[stack.s.layer]]\nkind = 'semaphore'\n"
                                      "permits = 1\nmax_waiters = 5\n")
                             .policies);
  world.send(g, 1);
  world.send(g, 2);
  world.run_until_idle();
  EXPECT_THAT(reports(), ElementsAre("semaphore: 1 running, 1 waiting"));
}

TEST_P(waiting_test, reads_well_as_a_line) {
  event x;
  x.gate = "payments";
  x.layer = "semaphore";
  x.kind = event_kind::waiting;
  x.detail = "10 running, 3 waiting";
  x.call = 7;
  EXPECT_EQ(to_text(x), "payments/semaphore: waiting (10 running, 3 waiting), "
                        "call 7");
  EXPECT_NE(to_json(x, {}).find(R"("kind":"waiting")"), std::string::npos);
}

} // namespace
} // namespace caisson::test
