// Attempts that calls needed, and shares of their time limits.
#include "support/both_hosts.hpp"

#include <caisson/stack/layers/batcher_layer.hpp>
#include <caisson/stack/layers/fallback_layer.hpp>

#include <cstdint>
#include <map>
#include <vector>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

using counts = std::map<std::uint32_t, std::uint64_t>;

class tallies_test : public both_hosts {
protected:
  // How many in which bucket, named by its bound; without empty ones.
  counts of(const caf::actor& g, tallied what, bool ok) {
    auto x = look(g).tally_of(what, ok);
    counts out;
    for (std::size_t i = 0; i < x.counts.size(); ++i)
      if (x.counts[i] > 0)
        out[bounds_of(what)[i]] = x.counts[i];
    return out;
  }

  static retrier_config patient(std::uint32_t attempts = 3) {
    return {.max_attempts = attempts,
            .backoff = schedule::constant(50ms),
            .idempotent = true,
            .budget = false};
  }

  // Sends a call with so much time, which the worker answers after `takes`.
  void answered_after(const caf::actor& g, scripted_worker& w, duration takes,
                      duration limit) {
    auto answer = world.user().request(g, wrap(1).within(limit));
    world.advance(takes);
    w.answer(2);
    world.run_until_idle();
    EXPECT_TRUE(answer.ok());
  }
};
CAISSON_BOTH_HOSTS(tallies_test, 4);

TEST_P(tallies_test, no_tallies_before_a_call) {
  auto w = make_worker(doubles());
  auto g = host(w.handle(), stack{});
  EXPECT_TRUE(look(g).tallies.empty());
  EXPECT_EQ(look(g).tally_of(tallied::attempts, true).count, 0u);
}

TEST_P(tallies_test, a_call_counts_with_all_its_attempts) {
  auto w = make_worker();
  auto g = host(w.handle(), stack{}.retrier(patient()));
  auto answer = world.user().request(g, 1);
  for (int i = 0; i < 2; ++i) {
    world.run_until_idle();
    w.fail(caf::make_error(caf::sec::runtime_error));
    world.advance(50ms);
  }
  w.answer(2);
  world.run_until_idle();
  EXPECT_TRUE(answer.ok());
  EXPECT_EQ(of(g, tallied::attempts, true), (counts{{3, 1}}));
  EXPECT_EQ(of(g, tallied::attempts, false), counts{});
  w.become(scripted_worker::always(caf::sec::runtime_error));
  auto bad = world.user().request(g, 1);
  world.advance(1s);
  EXPECT_FALSE(bad.ok());
  EXPECT_EQ(of(g, tallied::attempts, false), (counts{{3, 1}}));
  EXPECT_EQ(look(g).tally_of(tallied::attempts, false).sum, 3u);
}

TEST_P(tallies_test, a_call_that_was_never_sent_needed_none) {
  auto w = make_worker();
  auto g = host(w.handle(), stack{}.semaphore({.permits = 1}));
  world.send(g, 1);
  EXPECT_TRUE(world.request(g, 2).is(errc::queue_full));
  EXPECT_EQ(of(g, tallied::attempts, false), (counts{{0, 1}}));
}

TEST_P(tallies_test, each_item_counts_with_the_message_of_its_batch) {
  auto w = make_worker();
  auto g = host(w.handle(), stack{}.batcher({.max_items = 2}));
  world.send(g, 1);
  world.send(g, 2);
  world.run_until_idle();
  w.answer(batch_reply{{caf::make_message(1), caf::make_message(2)}});
  world.run_until_idle();
  EXPECT_EQ(of(g, tallied::attempts, true), (counts{{1, 2}}));
}

TEST_P(tallies_test, an_alternative_counts_as_another_attempt) {
  auto w = make_worker(scripted_worker::always(caf::sec::runtime_error));
  auto spare = make_worker(doubles());
  auto g = host(w.handle(),
                stack{}.fallback({alternative::ask(spare.handle())}));
  EXPECT_TRUE(world.request(g, 1).ok());
  EXPECT_EQ(of(g, tallied::attempts, true), (counts{{2, 1}}));
}

TEST_P(tallies_test, requests_for_permits_do_not_count) {
  auto g = gate(worker{}, stack{}.semaphore({.permits = 1}));
  auto held = world.request(g, acquire{});
  world.request(g, release{held.value<permit>().id});
  EXPECT_EQ(look(g).metric("succeeded"), 1);
  EXPECT_TRUE(look(g).tallies.empty());
}

TEST_P(tallies_test, the_limit_is_the_callers) {
  auto w = make_worker();
  auto g = host(w.handle(), stack{}.default_deadline(10s));
  answered_after(g, w, 100ms, 1s);
  answered_after(g, w, 101ms, 1s);
  answered_after(g, w, 999ms, 1s);
  EXPECT_EQ(of(g, tallied::limit_used, true),
            (counts{{100, 1}, {200, 1}, {1000, 1}}));
  auto late = world.user().request(g, wrap(1).within(1s));
  world.advance(1s);
  EXPECT_TRUE(late.is(errc::deadline_exceeded));
  EXPECT_EQ(of(g, tallied::limit_used, false), (counts{{1000, 1}}));
}

TEST_P(tallies_test, the_limit_is_the_default_without_a_limit_of_the_call) {
  auto w = make_worker();
  auto g = host(w.handle(), stack{}.default_deadline(1s));
  world.send(g, 1);
  world.advance(250ms);
  w.answer(1);
  world.run_until_idle();
  EXPECT_EQ(of(g, tallied::limit_used, true), (counts{{300, 1}}));
}

TEST_P(tallies_test, a_call_without_a_limit_uses_nothing_of_it) {
  auto w = make_worker();
  auto g = host(w.handle(), stack{}.default_deadline(unlimited));
  world.send(g, 1);
  world.advance(250ms);
  w.answer(1);
  world.run_until_idle();
  EXPECT_EQ(of(g, tallied::attempts, true), (counts{{1, 1}}));
  EXPECT_EQ(of(g, tallied::limit_used, true), counts{});
}

TEST_P(tallies_test, the_limit_is_that_of_a_layer_for_the_whole_call) {
  struct row {
    duration overall;
    duration attempt;
    duration limit;
    std::uint32_t bound;
  };
  // After 200 ms. A layer takes the place of the default, whether earlier or
  // later, but can only make the caller's limit earlier. What limits a single
  // attempt does not count.
  for (const auto& x : {
         row{1s, 300ms, 0s, 200},
         row{20s, 300ms, 0s, 100},
         row{1s, 300ms, 400ms, 500},
         row{250ms, 300ms, 400ms, 800},
       }) {
    auto w = make_worker();
    auto g = host(w.handle(),
                  stack{}
                    .default_deadline(5s)
                    .deadline({.timeout = x.overall})
                    .retrier(patient())
                    .deadline({.name = "attempt", .timeout = x.attempt}));
    if (x.limit > 0s)
      world.send(g, wrap(1).within(x.limit));
    else
      world.send(g, 1);
    world.advance(200ms);
    w.answer(1);
    world.run_until_idle();
    EXPECT_EQ(of(g, tallied::limit_used, true), (counts{{x.bound, 1}}));
  }
}

TEST_P(tallies_test, waits_and_backoffs_use_the_limit_too) {
  auto w = make_worker();
  auto g = host(w.handle(), stack{}.retrier(patient()));
  world.send(g, wrap(1).within(1s));
  world.advance(200ms);
  w.fail(caf::make_error(caf::sec::runtime_error));
  world.advance(250ms);
  w.answer(1);
  world.run_until_idle();
  EXPECT_EQ(of(g, tallied::limit_used, true), (counts{{500, 1}}));
}

TEST_P(tallies_test, a_call_that_came_too_late_has_used_all) {
  auto w = make_worker(doubles());
  auto g = host(w.handle(), stack{});
  auto late = wrap(1);
  late.options.deadline_ns = 1;
  EXPECT_TRUE(world.request(g, late).is(errc::deadline_exceeded));
  EXPECT_EQ(of(g, tallied::limit_used, false), (counts{{1000, 1}}));
}

TEST_P(tallies_test, a_reset_clears_tallies) {
  auto w = make_worker(doubles());
  auto g = host(w.handle(), stack{});
  EXPECT_TRUE(world.request(g, 1).ok());
  EXPECT_FALSE(look(g).tallies.empty());
  world.request(g, command{operator_command::reset});
  EXPECT_TRUE(look(g).tallies.empty());
}

} // namespace
} // namespace caisson::test
