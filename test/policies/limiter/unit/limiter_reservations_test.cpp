// Turns that a limiter promises for later.
#include <policies/limiter/model/reserving_rig.hpp>

#include <gtest/gtest.h>

#include <vector>

namespace caisson::test {
namespace {

// One token each second.
reserving_rig slow_bucket(std::uint32_t burst = 1, duration max_wait = 1h) {
  return reserving_rig{some_limiter(1, 1s, burst, max_wait)};
}

// Goes at once, or is refused.
call_info hasty(const reserving_rig& h, std::uint32_t permits = 1) {
  auto f = due_at(h.now() + 1ns);
  f.permits = permits;
  return f;
}

TEST(limiter_reservations, say_when_each_turn_comes) {
  auto h = slow_bucket(2);
  for (auto turn : {0s, 0s, 1s, 2s, 3s})
    EXPECT_EQ(h.reserve().turn, turn);
  EXPECT_EQ(h.reserve({.permits = 2}).turn, 5s);
  EXPECT_EQ(h.count("passed"), 2);
  EXPECT_EQ(h.count("reserved"), 4);
  EXPECT_EQ(h.count("promised"), 4);
  EXPECT_EQ(h.count("tokens"), 0);
  // Nobody goes in between, and the next one after them.
  h.advance_to(3s);
  auto x = h.arrive(hasty(h));
  EXPECT_EQ(h.where(x), place::rejected);
  EXPECT_EQ(h.calls.at(x).retry_after, 3s);
  EXPECT_EQ(h.count("promised"), 1);
  h.advance_to(6s);
  EXPECT_EQ(h.where(h.arrive()), place::below);
  EXPECT_EQ(h.count("promised"), 0);
}

TEST(limiter_reservations, are_refused_if_their_turn_comes_too_late) {
  auto h = slow_bucket(2);
  h.reserve({.permits = 2});
  auto late = h.reserve({.max_wait = 1s - 1ns});
  EXPECT_FALSE(late.is_granted);
  EXPECT_EQ(late.code, errc::rate_limited);
  EXPECT_EQ(late.retry_after, 1s);
  EXPECT_EQ(h.count("rate_limited"), 1);
  auto at_deadline = h.reserve({.deadline = 1s});
  EXPECT_EQ(at_deadline.code, errc::rate_limited);
  EXPECT_EQ(at_deadline.retry_after, 1s);
  EXPECT_EQ(h.count("past_deadline"), 1);
  EXPECT_EQ(h.reserve({.permits = 3}).retry_after, 0s);
  EXPECT_EQ(h.count("too_heavy"), 1);
  // What was refused has taken nothing.
  EXPECT_EQ(h.reserve({.max_wait = 1s, .deadline = 1s + 1ns}).turn, 1s);
  EXPECT_FALSE(h.reserve({.max_wait = -1s}).is_granted);
  EXPECT_EQ(h.count("passed"), 1);
  // The token is there, but the caller does not want it any more.
  h.advance_to(10s);
  auto over = h.reserve({.max_wait = -1ns});
  EXPECT_EQ(over.code, errc::rate_limited);
  EXPECT_EQ(over.retry_after, 0s);
  EXPECT_EQ(h.count("passed"), 1);
  EXPECT_EQ(h.reserve({.max_wait = 0s}).turn, 10s);
}

TEST(limiter_reservations, take_places_of_those_who_wait) {
  reserving_rig h{some_limiter(1, 1s, 1, 1h, 2)};
  h.arrive();
  EXPECT_TRUE(h.reserve().is_granted);
  auto w = h.arrive();
  EXPECT_EQ(h.where(w), place::held);
  auto p = h.reserve();
  EXPECT_EQ(p.code, errc::queue_full);
  EXPECT_EQ(p.retry_after, 3s);
  EXPECT_EQ(h.calls.at(h.arrive()).code, errc::queue_full);
  h.abandon(w);
  EXPECT_EQ(h.reserve().turn, 2s);
  // One that goes at once needs none.
  h.advance_to(5s);
  EXPECT_EQ(h.reserve().turn, 5s);
}

TEST(limiter_reservations, come_behind_those_who_wait_and_before_later_ones) {
  auto h = slow_bucket(1, 1h);
  h.arrive();
  auto before = h.arrive();
  EXPECT_EQ(h.reserve().turn, 2s);
  auto after = h.arrive();
  h.advance_to(1s - 1ns);
  EXPECT_EQ(h.where(before), place::held);
  h.advance_to(1s);
  EXPECT_EQ(h.where(before), place::below);
  h.advance_to(3s - 1ns);
  EXPECT_EQ(h.where(after), place::held);
  h.advance_to(3s);
  EXPECT_EQ(h.where(after), place::below);
}

TEST(limiter_reservations, that_are_given_back_in_time_leave_room_for_others) {
  auto h = slow_bucket();
  h.arrive();
  auto first = h.reserve();
  auto second = h.reserve();
  auto third = h.reserve();
  EXPECT_EQ(third.turn, 3s);
  h.release(second);
  EXPECT_EQ(h.count("returned"), 1);
  EXPECT_EQ(h.count("finished"), 1);
  EXPECT_EQ(h.count("promised"), 2);
  // The gap has room for one, and the others keep their turns.
  EXPECT_EQ(h.reserve().turn, 2s);
  EXPECT_EQ(h.reserve().turn, 4s);
  h.abandon(first.id);
  EXPECT_EQ(h.count("returned"), 2);
  EXPECT_EQ(h.count("abandoned"), 1);
  // Two do not fit into the gap.
  EXPECT_EQ(h.reserve({.max_wait = 1s}).turn, 1s);
}

TEST(limiter_reservations, that_are_given_back_let_those_who_wait_move_up) {
  auto h = slow_bucket(1, 1h);
  h.arrive();
  auto p = h.reserve();
  auto w = h.arrive();
  h.advance_to(1s - 1ns);
  h.release(p);
  h.advance_to(1s);
  EXPECT_EQ(h.where(w), place::below);
  // At its very turn it is too late.
  auto q = h.reserve();
  auto v = h.arrive();
  h.advance_to(2s);
  h.release(q);
  EXPECT_EQ(h.count("returned"), 1);
  EXPECT_EQ(h.where(v), place::held);
  h.advance_to(3s);
  EXPECT_EQ(h.where(v), place::below);
}

TEST(limiter_reservations, that_are_given_back_at_once_are_looked_at_once) {
  auto h = slow_bucket(2);
  std::vector<reserving_rig::promise> lent;
  for (auto i = 0u; i < 3; ++i)
    lent.push_back(h.reserve({.permits = 2, .earliest = 1s}));
  auto w = h.arrive(heavy(2));
  EXPECT_EQ(h.where(w), place::held);
  EXPECT_GT(h.policy.wakeup(), h.e.now);
  for (auto i = 0u; i < 3; ++i) {
    i == 1 ? h.abandon(lent[1].id) : h.release(lent.at(i));
    EXPECT_EQ(h.policy.wakeup(), h.e.now);
    EXPECT_EQ(h.where(w), place::held);
  }
  EXPECT_EQ(h.count("promised"), 0);
  h.advance_to(0s);
  EXPECT_EQ(h.where(w), place::below);
  EXPECT_EQ(h.policy.wakeup(), never);
}

TEST(limiter_reservations, get_tokens_back_for_work_that_was_not_done) {
  auto h = slow_bucket(2);
  h.reserve({.permits = 2});
  auto p = h.reserve({.permits = 2});
  EXPECT_EQ(p.turn, 2s);
  h.advance_to(2s);
  h.policy.wake(h.e);
  EXPECT_EQ(h.count("tokens"), 0);
  h.fail(p.id, errc::queue_full, false);
  EXPECT_EQ(h.count("returned"), 1);
  EXPECT_EQ(h.count("tokens"), 2);
}

TEST(limiter_reservations, do_not_come_before_a_turn_further_out) {
  auto h = slow_bucket(2);
  auto p = h.reserve({.earliest = 5s});
  EXPECT_EQ(p.turn, 5s);
  EXPECT_EQ(h.count("reserved"), 1);
  // Enough is left for others until then, but not for it and them at once.
  EXPECT_EQ(h.reserve({.permits = 2}).turn, 0s);
  h.advance_to(4500ms);
  EXPECT_EQ(h.where(h.arrive(hasty(h, 2))), place::rejected);
  EXPECT_EQ(h.where(h.arrive(hasty(h))), place::below);
  EXPECT_EQ(h.where(h.arrive(hasty(h))), place::rejected);
  EXPECT_EQ(h.reserve().turn, 5500ms);
}

TEST(limiter_reservations, stay_through_changes_and_are_paid_afterwards) {
  auto h = slow_bucket(3);
  h.arrive(heavy(3));
  EXPECT_EQ(h.reserve({.permits = 3}).turn, 3s);
  // Half as fast, and lighter than what was promised.
  h.reconfigure(some_limiter(1, 2s, 2, 1h));
  EXPECT_EQ(h.count("outgrown"), 0);
  auto w = h.arrive();
  EXPECT_EQ(h.where(w), place::held);
  h.advance_to(3s);
  h.policy.wake(h.e);
  EXPECT_EQ(h.count("promised"), 0);
  // At 3 s there are 1.5 of 3 tokens: one is there again at 8 s.
  h.advance_to(8s - 1ns);
  EXPECT_EQ(h.where(w), place::held);
  EXPECT_EQ(h.count("tokens"), 0);
  h.advance_to(8s);
  EXPECT_EQ(h.where(w), place::below);
}

TEST(limiter_reservations, too_heavy_by_now_block_nobody_once_it_is_full) {
  reserving_rig h{some_limiter(10, 1s, 10, 1h)};
  EXPECT_EQ(h.reserve({.permits = 10, .earliest = 60s}).turn, 60s);
  h.advance_to(5s);
  h.reconfigure(some_limiter(10, 1s, 5, 1h));
  for (auto t : {10s, 20s, 59s}) {
    h.advance_to(t);
    EXPECT_EQ(h.where(h.arrive(hasty(h))), place::below);
    EXPECT_EQ(h.reserve({.permits = 4}).turn, t);
  }
  EXPECT_EQ(h.count("promised"), 1);
  // What it must leave full is missing from its turn on.
  h.advance_to(60s - 1ns);
  EXPECT_EQ(h.where(h.arrive(hasty(h))), place::rejected);
  EXPECT_EQ(h.reserve().turn, 60600ms);
}

TEST(limiter_reservations, stay_through_a_reset_of_the_limiter) {
  auto h = slow_bucket(2);
  h.arrive(heavy(2));
  EXPECT_EQ(h.reserve().turn, 1s);
  h.command(operator_command::reset);
  EXPECT_EQ(h.count("reserved"), 0);
  EXPECT_EQ(h.count("promised"), 1);
  // The full bucket is enough for one now and for the promise.
  EXPECT_EQ(h.where(h.arrive(hasty(h, 2))), place::below);
  EXPECT_EQ(h.where(h.arrive(hasty(h))), place::rejected);
  h.advance_to(1s);
  EXPECT_EQ(h.where(h.arrive(hasty(h))), place::rejected);
  EXPECT_EQ(h.count("promised"), 0);
}

TEST(limiter_reservations, stay_through_a_drain_and_are_paid_afterwards) {
  auto h = slow_bucket(1, 1h);
  auto running = h.arrive();
  EXPECT_EQ(h.reserve().turn, 1s);
  h.finish(running, error_of_worker(5s));
  EXPECT_EQ(h.count("drained"), 1);
  auto w = h.arrive();
  // The promise takes the token that comes at 6 s.
  h.advance_to(7s - 1ns);
  EXPECT_EQ(h.where(w), place::held);
  h.advance_to(7s);
  EXPECT_EQ(h.where(w), place::below);
}

TEST(limiter_reservations, give_the_exact_turn_of_those_who_come_later) {
  auto h = slow_bucket(3, 10s);
  h.arrive(heavy(3));
  auto returned_lease = h.reserve({.permits = 2});
  EXPECT_EQ(h.reserve({.permits = 3}).turn, 5s);
  auto light = h.arrive();
  EXPECT_EQ(h.where(light), place::held);
  h.release(returned_lease);
  // A heavy one does not overtake the light one, which has moved up.
  auto heavy_one = h.arrive(heavy(3));
  h.advance_to(1s);
  EXPECT_EQ(h.where(light), place::below);
  h.advance_to(8s - 1ns);
  EXPECT_EQ(h.where(heavy_one), place::held);
  h.advance_to(8s);
  EXPECT_EQ(h.where(heavy_one), place::below);
}

TEST(limiter_reservations, give_up_a_call_whose_time_is_over_among_promises) {
  auto h = slow_bucket(1, 2s);
  auto running = h.arrive();
  h.reserve();
  auto w = h.arrive();
  EXPECT_EQ(h.where(w), place::held);
  h.finish(running, error_of_worker(3s));
  h.advance_to(2s);
  EXPECT_EQ(h.where(w), place::rejected);
  EXPECT_EQ(h.calls.at(w).code, errc::wait_timeout);
  EXPECT_EQ(h.calls.at(w).retry_after, 3s);
}

TEST(limiter_reservations, keep_a_limiter_from_being_idle) {
  auto h = slow_bucket(2);
  h.reserve({.earliest = 5s});
  EXPECT_FALSE(h.policy.is_idle(limiter_rig::start()));
  h.advance_to(5s);
  h.policy.wake(h.e);
  EXPECT_FALSE(h.policy.is_idle(limiter_rig::start() + 5s));
  EXPECT_TRUE(h.policy.is_idle(limiter_rig::start() + 6s));
}

TEST(limiter_reservations, are_not_shaken_by_a_clock_that_steps_back) {
  auto h = slow_bucket();
  h.advance_to(10s);
  h.arrive();
  auto p = h.reserve();
  EXPECT_EQ(p.turn, 11s);
  h.set_clock(2s);
  EXPECT_EQ(h.reserve().turn, 12s);
  h.release(p);
  EXPECT_EQ(h.count("returned"), 1);
  EXPECT_EQ(h.reserve().turn, 11s);
}

TEST(limiter_reservations, go_by_each_algorithm) {
  struct row {
    rate_algorithm algorithm;
    std::vector<duration> turns;
  };
  using enum rate_algorithm;
  // Two tokens each second; calls of weight 1, 2, 1, 1. With windows, the
  // third one fits before the second, which keeps its turn.
  const std::vector<row> rows = {
    {fixed_window, {0s, 1s, 0s, 2s}},
    {sliding_window, {0s, 2s, 0s, 3500ms}},
    {leaky_bucket, {0s, 500ms, 1500ms, 2s}},
  };
  for (auto& x : rows) {
    reserving_rig h{
      limiter_config{.rate = 2, .algorithm = x.algorithm, .max_wait = 1h}};
    std::vector<duration> turns;
    for (auto weight : {1u, 2u, 1u, 1u})
      turns.push_back(h.reserve({.permits = weight}).turn);
    EXPECT_EQ(turns, x.turns) << static_cast<int>(x.algorithm);
  }
}

reserving_rig warming() {
  return reserving_rig{limiter_config{.rate = 10,
                                      .algorithm = rate_algorithm::warm_up,
                                      .warm_up_time = 4s,
                                      .max_wait = 1h}};
}

TEST(limiter_reservations, warm_up_if_they_are_given_back_or_not) {
  auto as_promised = warming();
  auto h = warming();
  std::vector<reserving_rig::promise> lent;
  for (auto turn : {0ms, 295ms, 580ms, 855ms}) {
    as_promised.reserve();
    lent.push_back(h.reserve());
    EXPECT_EQ(lent.back().turn, turn);
  }
  // Without them it would be colder than those after them were promised.
  h.release(lent[1]);
  h.release(lent[2]);
  EXPECT_EQ(h.count("returned"), 2);
  EXPECT_EQ(h.count("promised"), 3);
  auto last = h.reserve();
  EXPECT_EQ(last.turn, as_promised.reserve().turn);
  // Nobody comes after the last one.
  h.release(last);
  EXPECT_EQ(h.reserve().turn, last.turn);
}

TEST(limiter_reservations, that_are_given_back_do_not_keep_it_from_idleness) {
  auto h = warming();
  h.reserve();
  auto lent = h.reserve();
  h.reserve();
  h.release(lent);
  EXPECT_EQ(h.count("promised"), 2);
  auto idle_from = [&] {
    auto t = 0ms;
    while (t < 1min && !h.policy.is_idle(limiter_rig::start() + t))
      t += 1ms;
    return t;
  };
  // As if they had been paid, though nobody has looked since.
  auto from = idle_from();
  h.advance_to(1s);
  h.policy.wake(h.e);
  EXPECT_EQ(h.count("promised"), 0);
  EXPECT_EQ(from, idle_from());
  EXPECT_LT(from, 10s);
}

TEST(limiter_reservations, wait_no_longer_than_calls_may) {
  auto h = slow_bucket(1, 2s);
  for (auto turn : {0s, 1s, 2s})
    EXPECT_EQ(h.reserve().turn, turn);
  auto late = h.reserve();
  EXPECT_EQ(late.code, errc::rate_limited);
  EXPECT_EQ(late.retry_after, 3s);
  EXPECT_EQ(h.count("rate_limited"), 1);
  // It would wait from 1 s on for its turn at 3 s.
  EXPECT_EQ(h.reserve({.earliest = 1s}).turn, 3s);
  // Without waiting, those alone that go at once.
  auto g = slow_bucket(1, 0s);
  EXPECT_EQ(g.reserve().turn, 0s);
  EXPECT_EQ(g.reserve().retry_after, 1s);
  EXPECT_EQ(g.reserve({.earliest = 1s}).turn, 1s);
  EXPECT_EQ(g.reserve({.earliest = 1s}).code, errc::rate_limited);
}

TEST(limiter_reservations, that_break_a_rate_are_paid_in_all_windows_after) {
  using enum rate_algorithm;
  limiter_config c{.rate = 6, .max_wait = 1h};
  auto after_promise = [&](rate_algorithm x, duration turn) {
    c.algorithm = x;
    reserving_rig h{c};
    h.arrive(heavy(6));
    EXPECT_EQ(h.reserve({.permits = 6}).turn, turn);
    auto slower = c;
    slower.rate = 2;
    h.reconfigure(slower);
    return h.reserve({.permits = 2}).turn;
  };
  // Six tokens are those of three windows.
  EXPECT_EQ(after_promise(fixed_window, 1s), 4s);
  EXPECT_EQ(after_promise(sliding_window, 2s), 6s);
}

TEST(limiter_reservations, are_paid_before_what_comes_after_a_drain) {
  auto h = slow_bucket(3);
  auto running = h.arrive(heavy(3));
  EXPECT_EQ(h.reserve({.permits = 3}).turn, 3s);
  h.reconfigure(some_limiter(1, 3s, 3, 1h));
  // One of three tokens has come.
  h.advance_to(3s);
  h.policy.wake(h.e);
  h.finish(running, error_of_worker(1s));
  // Two are missing when the drain ends, and one is wanted.
  EXPECT_EQ(h.reserve().turn, 13s);
}

} // namespace
} // namespace caisson::test
