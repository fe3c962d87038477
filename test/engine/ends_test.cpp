// Callers who give up or die, permits, drains, stops.
#include <support/engine_world.hpp>
#include <support/puppet.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>
#include <utility>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

struct ends : testing::Test {
  engine_world& start(world_setup s = {}) {
    return world.emplace(std::move(stack), std::move(s));
  }

  void hold_all() {
    b.on_admit = [this](call_info& c, auto&, auto&) {
      held.push_back(c.id);
      return decision::hold();
    };
  }

  puppets stack;
  puppet_layer& outer = stack.add("outer");
  puppet_layer& inner = stack.add("inner");
  puppet& a = outer.machine();
  puppet& b = inner.machine();
  std::vector<call_id> held;
  std::optional<engine_world> world;
};

// -- callers ------------------------------------------------------------------

TEST_F(ends, a_request_is_taken_back_by_its_sender_and_number) {
  auto& w = start({.worker = {.takes_cancelled = true}});
  w.call("x", {}, 5, 77);
  w.call("y", {}, 6, 77);
  w.cancel(6, 78);
  w.cancel(7, 77);
  EXPECT_EQ(w.unanswered(), 2u);
  w.cancel(5, 77);
  w.cancel(5, 77);
  EXPECT_EQ(w.take(),
            (lines{"0s worker <- x #0", "0s worker <- y #1", "0s #0 cancelled",
                   "0s call 0 = cancelled by gate, executed"}));
  w.answer(1, "z");
  EXPECT_EQ(w.metric("cancelled"), 1);
  EXPECT_EQ(b.take(),
            (lines{"admit", "admit", "abandon cancelled, executed, in flight",
                   "complete ok"}));
}

TEST_F(ends, all_requests_of_one_number_are_taken_back) {
  hold_all();
  auto& w = start();
  w.call("x", {}, 5, 77);
  w.call("y", {}, 5, 77);
  w.cancel(5, 77);
  EXPECT_EQ(w.answer_to(0), "cancelled by gate");
  EXPECT_EQ(w.answer_to(1), "cancelled by gate");
  EXPECT_EQ(b.take(), (lines{"admit", "admit", "abandon cancelled",
                             "abandon cancelled"}));
}

TEST_F(ends, a_call_rejected_meanwhile_is_not_abandoned_too) {
  hold_all();
  b.on_abandon = [this](auto&, auto&, env& e) {
    if (held.size() == 3)
      e.reject(held[1], errc::shed);
  };
  auto& w = start();
  w.call("x", {}, 5, 77);
  w.call("y", {}, 5, 78);
  w.call("z", {}, 6, 79);
  w.caller_down(5);
  EXPECT_EQ(w.answer_to(1), "cancelled by gate");
  EXPECT_EQ(b.take(), (lines{"admit", "admit", "admit", "abandon cancelled"}));
  EXPECT_EQ(a.take(),
            (lines{"admit", "admit", "admit", "abandon cancelled, in flight",
                   "abandon cancelled, in flight"}));
  w.caller_down(6);
}

TEST_F(ends, an_answered_request_cannot_be_taken_back) {
  auto& w = start();
  w.call("x", {}, 5, 77);
  w.answer(0, "y");
  w.cancel(5, 77);
  EXPECT_EQ(w.metric("cancelled"), 0);
}

TEST_F(ends, callers_are_watched_while_their_calls_wait) {
  auto& w = start();
  w.call("x", {}, 5);
  EXPECT_EQ(w.watched(), (std::set<std::uint64_t>{}));
  w.answer(0, "y");
  hold_all();
  w.call("y", {}, 6);
  w.call("z", {}, 6);
  EXPECT_EQ(w.watched(), (std::set<std::uint64_t>{6}));
  w.caller_down(6);
  EXPECT_EQ(w.answer_to(1), "cancelled by gate");
  EXPECT_EQ(w.answer_to(2), "cancelled by gate");
}

TEST_F(ends, the_death_of_one_is_not_that_of_another) {
  hold_all();
  auto& w = start();
  w.call("x", {}, 5);
  w.call("y", {}, 6);
  w.caller_down(5);
  EXPECT_EQ(w.unanswered(), 1u);
  w.caller_down(4711);
  w.caller_down(6);
}

TEST_F(ends, a_call_that_was_held_is_taken_from_the_worker_too) {
  b.on_admit = [](auto&, auto&, env& e) { return decision::hold(e.now); };
  auto& w = start({.worker = {.takes_cancelled = true}});
  w.call("x", {}, 5);
  w.caller_down(5);
  EXPECT_EQ(w.take(), (lines{"0s worker <- x #0", "0s #0 cancelled",
                             "0s call 0 = cancelled by gate, executed"}));
}

TEST_F(ends, idle_callers_are_forgotten_beyond_a_bound) {
  b.on_admit = [](auto&, auto&, env& e) { return decision::hold(e.now); };
  auto& w = start();
  auto most = detail::caller_watch::max_idle;
  for (std::uint64_t caller = 1; caller <= most + 3; ++caller) {
    w.call("x", {}, caller);
    w.answer(caller - 1, "y");
  }
  EXPECT_EQ(w.watched().size(), most);
  EXPECT_EQ(w.watched().count(3), 0u);
  EXPECT_EQ(w.watched().count(4), 1u);
  w.caller_down(4);
  w.caller_down(most);
  w.call("x", {}, 2);
  EXPECT_EQ(w.watched().size(), most - 1);
  w.answer(most + 3, "y");
}

// -- permits ------------------------------------------------------------------

TEST_F(ends, a_permit_is_given_and_released) {
  auto& w = start({.start = behind::nothing});
  auto p = w.acquire_permit({.permits = 3, .priority = 2, .key = "k"});
  EXPECT_EQ(w.answer_to(p), "permit");
  EXPECT_EQ(w.metric("leases"), 1);
  w.release_permit(w.permit_of(p));
  EXPECT_EQ(a.take(), (lines{"admit", "complete ok"}));
  w.release_permit(w.permit_of(p));
  EXPECT_EQ(w.answer_to(2), "no_such_permit by gate");
  EXPECT_EQ(w.metric("no_such_permit"), 1);
}

TEST_F(ends, a_holder_may_report_that_its_work_failed) {
  auto& w = start({.start = behind::nothing});
  auto p = w.acquire_permit();
  w.release_permit(w.permit_of(p), true);
  EXPECT_EQ(a.take(), (lines{"admit", "complete failed, executed"}));
}

TEST_F(ends, a_permit_ends_with_its_time_or_its_holder) {
  auto& w = start({.start = behind::nothing, .listens = true});
  auto p = w.acquire_permit({.time_left = 5ms}, 4);
  w.acquire_permit({}, 5);
  w.take();
  w.at(5ms);
  w.caller_down(5);
  EXPECT_EQ(w.take(), (lines{"5ms gate: expired",
                             "5ms gate: lease_ended (deadline_exceeded)",
                             "5ms gate: lease_ended (cancelled)"}));
  EXPECT_EQ(w.metric("leases"), 0);
  w.release_permit(w.permit_of(p));
  EXPECT_EQ(w.answer_to(2), "no_such_permit by gate");
}

// A layer's own deadline is lifted when it does not enforce any more.
TEST_F(ends, a_permit_lasts_no_longer_than_max_lease) {
  a.on_admit = [](call_info& c, slot&, env& e) {
    c.deadline = std::min(c.deadline, e.now + 4s);
    return decision::pass();
  };
  a.on_deadline = [](auto&, auto&, auto&) { return decision::pass(); };
  auto& w = start(
    {.config = {.name = "gate", .max_lease = 5s}, .start = behind::nothing});
  auto by_default = w.acquire_permit();
  auto own = w.acquire_permit({.time_left = 60s});
  w.at(4s);
  EXPECT_EQ(w.metric("leases"), 2);
  w.at(5s - 1ns);
  EXPECT_EQ(w.metric("leases"), 2);
  w.at(5s);
  EXPECT_EQ(w.metric("leases"), 0);
  w.release_permit(w.permit_of(by_default));
  EXPECT_EQ(w.answer_to(2), "no_such_permit by gate");
  w.release_permit(w.permit_of(own));
  EXPECT_EQ(w.answer_to(3), "no_such_permit by gate");
}

TEST_F(ends, a_permit_passes_layers_that_work_on_content) {
  outer.has_content = true;
  hold_all();
  auto& w = start({.start = behind::nothing});
  auto p = w.acquire_permit({.time_left = 9ms});
  EXPECT_EQ(w.unanswered(), 1u);
  EXPECT_TRUE(a.take().empty());
  b.on_command = [this](auto, env& e) {
    e.resume(held[0]);
    return true;
  };
  w.command(operator_command::reset, "inner");
  EXPECT_EQ(w.answer_to(p), "permit");
  w.at(9ms);
}

TEST_F(ends, a_permit_is_not_given_twice) {
  a.on_complete = [](auto&, auto&, auto&, auto&) { return decision::hold(); };
  auto& w = start({.start = behind::nothing});
  auto p = w.acquire_permit();
  w.release_permit(w.permit_of(p), true);
  EXPECT_EQ(a.take(), (lines{"admit", "complete failed, executed",
                             "abandon failed, executed"}));
}

TEST_F(ends, an_acquire_without_a_reply_gets_no_permit) {
  auto& w = start({.start = behind::nothing});
  w.step([](auto& e, auto now) { e.on_acquire({}, acquire{}, now); });
  EXPECT_EQ(w.metric("leases"), 0);
  EXPECT_EQ(w.metric("acquires"), 1);
}

// -- drain and stop -----------------------------------------------------------

TEST_F(ends, a_drain_waits_for_all_that_is_held) {
  hold_all();
  auto& w = start({.listens = true});
  w.call("x", {.time_left = 5ms});
  w.drain();
  w.drain();
  w.call("y");
  w.acquire_permit();
  w.at(5ms);
  w.drain();
  EXPECT_EQ(
    w.take(),
    (lines{"0s gate: state_changed accepting>draining",
           "0s call 3 = draining by gate", "0s call 4 = draining by gate",
           "5ms gate: expired", "5ms call 0 = deadline_exceeded by gate",
           "5ms call 1 = ()", "5ms call 2 = ()", "5ms call 5 = ()"}));
  EXPECT_EQ(a.take(),
            (lines{"admit", "drain", "abandon deadline_exceeded, in flight"}));
  EXPECT_EQ(w.metric("refused_draining"), 2);
}

TEST_F(ends, so_many_may_wait_for_a_drain) {
  auto& w = start();
  w.call("x");
  for (std::size_t i = 0; i < max_drains; ++i)
    w.drain();
  auto last = w.drain();
  EXPECT_EQ(w.answer_to(last), "invalid_config by gate: too many pending drain "
                               "requests (max 256)");
  w.answer(0, "y");
}

TEST_F(ends, stopping_answers_all_callers) {
  b.on_admit = [](call_info& c, auto&, auto&) {
    return c.priority == 1 ? decision::hold() : decision::pass();
  };
  auto& w = start({.worker = {.takes_cancelled = true}});
  w.call("x", {.time_left = 5ms});
  w.call("y", {.priority = 1});
  w.drain();
  w.stop();
  EXPECT_EQ(w.take(),
            (lines{"0s worker <- x #0", "0s #0 cancelled",
                   "0s call 0 = cancelled by gate, executed",
                   "0s call 1 = cancelled by gate", "0s call 2 = ()"}));
}

} // namespace
} // namespace caisson::test
