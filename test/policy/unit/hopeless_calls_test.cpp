// Calls that wait although they cannot be answered in time.
#include <caisson/policies/semaphore.hpp>

#include <support/rig.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

semaphore_config hopeful(std::uint32_t permits = 1,
                         wait_order order = wait_order::fifo) {
  semaphore_config c;
  c.permits = permits;
  c.max_waiters = 100;
  c.order = order;
  c.queue.reject_hopeless = true;
  return c;
}

struct hope_rig : rig<semaphore> {
  using rig::rig;

  call_id with(duration time_left, std::string key = {}) {
    return arrive_with(time_left, of_key(std::move(key)));
  }

  // Calls take 100 ms each, as long as a permit is needed to know.
  void measure(int n = 10) {
    for (int i = 0; i < n; ++i) {
      auto id = arrive();
      advance(100ms);
      finish(id);
    }
  }
};

TEST(hopeless_calls, are_known_only_after_ten_permits_came_back) {
  hope_rig h{hopeful()};
  h.measure(9);
  auto a = h.arrive();
  EXPECT_EQ(h.where(h.with(1ms)), place::held);
  h.finish(a);
  EXPECT_EQ(h.count("hopeless"), 0);
}

TEST(hopeless_calls, are_refused_on_arrival) {
  hope_rig h{hopeful()};
  h.measure();
  h.arrive();
  // A permit comes free after 100 ms, and the call itself takes as long.
  auto late = h.with(200ms);
  EXPECT_EQ(h.where(late), place::rejected);
  EXPECT_EQ(h.calls.at(late).code, errc::shed);
  auto in_time = h.with(200ms + 1ns);
  EXPECT_EQ(h.where(in_time), place::held);
  EXPECT_EQ(h.where(h.with(300ms)), place::rejected) << "one waits before it";
  EXPECT_EQ(h.where(h.with(300ms + 1ns)), place::held);
  EXPECT_EQ(h.where(h.arrive()), place::held) << "it has no deadline";
  EXPECT_EQ(h.count("hopeless"), 2);
  EXPECT_EQ(h.count("queued"), 3);
}

TEST(hopeless_calls, get_a_free_permit_all_the_same) {
  hope_rig h{hopeful()};
  h.measure();
  EXPECT_EQ(h.where(h.with(1ms)), place::below);
}

TEST(hopeless_calls, do_not_wait_for_those_behind_them) {
  hope_rig h{hopeful(1, wait_order::lifo)};
  h.measure();
  h.arrive();
  h.arrive();
  h.arrive();
  EXPECT_EQ(h.where(h.with(200ms)), place::rejected);
  EXPECT_EQ(h.where(h.with(201ms)), place::held);
}

TEST(hopeless_calls, count_the_other_keys_before_them) {
  hope_rig h{hopeful(1, wait_order::fair)};
  h.measure();
  h.arrive();
  for (int i = 0; i < 5; ++i)
    h.with(1h, "greedy");
  EXPECT_EQ(h.where(h.with(300ms, "modest")), place::rejected);
  EXPECT_EQ(h.where(h.with(301ms, "modest")), place::held);
  EXPECT_EQ(h.where(h.with(800ms, "greedy")), place::rejected);
  EXPECT_EQ(h.where(h.with(801ms, "greedy")), place::held);
}

TEST(hopeless_calls, take_shares_of_the_permits) {
  hope_rig h{hopeful(4)};
  h.measure();
  h.arrive(heavy(2));
  h.arrive();
  // It weighs 2, one is free, and another comes free after 25 ms.
  auto call = heavy(2);
  call.deadline = h.e.now + 125ms;
  EXPECT_EQ(h.where(h.arrive(call)), place::rejected);
  call.deadline += 1ns;
  EXPECT_EQ(h.where(h.arrive(call)), place::held);
}

TEST(hopeless_calls, leave_the_queue_when_their_time_is_over) {
  hope_rig h{hopeful()};
  h.measure();
  auto running = h.arrive();
  auto a = h.with(250ms);
  h.advance(149ms);
  EXPECT_EQ(h.where(a), place::held);
  // By Little's law the mean has grown: the call below has taken 149 ms so far.
  h.advance(1ms);
  EXPECT_EQ(h.where(a), place::rejected);
  EXPECT_EQ(h.calls.at(a).code, errc::shed);
  EXPECT_EQ(h.count("out_of_time"), 1);
  EXPECT_EQ(h.e.details.back(), "waited 150ms");
  h.finish(running);
  EXPECT_EQ(h.count("waiting"), 0);
}

TEST(hopeless_calls, stay_if_calls_have_become_faster) {
  auto c = hopeful(1);
  hope_rig h{c};
  h.measure();
  h.arrive();
  auto a = h.with(5s);
  EXPECT_EQ(h.calls.at(a).until, h.e.now + 4'900ms);
  auto last = h.with(6s);
  h.finish(1 + 10);
  // Now the first has the permit and comes back at once, a hundred times.
  h.finish(a);
  for (int i = 0; i < 100; ++i)
    h.finish(h.arrive());
  EXPECT_EQ(h.where(last), place::below);
}

TEST(hopeless_calls, are_rejected_when_their_turn_comes) {
  hope_rig h{hopeful()};
  h.measure();
  auto running = h.arrive();
  auto a = h.with(301ms);
  auto b = h.with(10s);
  // The hold of `a` ends in time for the mean as it was.
  h.advance(150ms);
  h.finish(running);
  EXPECT_EQ(h.where(a), place::below);
  // It takes so long that the mean rises to 3 s and more.
  h.advance(20s);
  EXPECT_EQ(h.where(b), place::rejected);
  EXPECT_EQ(h.count("out_of_time"), 1);
}

TEST(hopeless_calls, are_left_to_the_host_if_calls_take_no_time) {
  hope_rig h{hopeful()};
  for (int i = 0; i < 10; ++i)
    h.finish(h.arrive());
  h.arrive();
  auto a = h.with(100ms);
  EXPECT_EQ(h.where(a), place::held);
  EXPECT_EQ(h.calls.at(a).until, never);
}

TEST(hopeless_calls, may_wait_no_longer_than_max_wait) {
  auto c = hopeful();
  c.max_wait = 50ms;
  hope_rig h{c};
  h.measure();
  h.arrive();
  auto a = h.with(1s);
  h.advance(50ms);
  EXPECT_EQ(h.where(a), place::rejected);
  EXPECT_EQ(h.calls.at(a).code, errc::wait_timeout);
  EXPECT_EQ(h.count("timed_out"), 1);
}

TEST(hopeless_calls, wait_on_once_nobody_asks_any_more) {
  auto c = hopeful();
  hope_rig h{c};
  h.measure();
  auto running = h.arrive();
  auto a = h.with(250ms);
  c.queue.reject_hopeless = false;
  h.reconfigure(c);
  h.advance(200ms);
  EXPECT_EQ(h.where(a), place::held);
  EXPECT_EQ(h.calls.at(a).until, never);
  c.queue.reject_hopeless = true;
  h.reconfigure(c);
  EXPECT_EQ(h.where(h.with(1ms)), place::held) << "nothing is known yet";
  h.finish(running);
  EXPECT_EQ(h.where(a), place::below);
}

TEST(hopeless_calls, are_not_known_after_a_reset) {
  hope_rig h{hopeful()};
  h.measure();
  h.command(operator_command::reset);
  h.arrive();
  EXPECT_EQ(h.where(h.with(1ms)), place::held);
}

TEST(hopeless_calls, are_rejected_at_their_turn_if_it_is_known_only_then) {
  hope_rig h{hopeful()};
  h.measure(9);
  auto running = h.arrive();
  auto a = h.with(150ms);
  auto b = h.with(1h);
  h.advance(100ms);
  h.finish(running);
  EXPECT_EQ(h.where(a), place::rejected);
  EXPECT_EQ(h.where(b), place::below);
  EXPECT_EQ(h.count("out_of_time"), 1);
}

TEST(hopeless_calls, are_seen_while_calls_below_take_longer) {
  hope_rig h{hopeful()};
  h.measure();
  h.arrive();
  h.advance(1s);
  // Of eleven calls, that is 200 ms for each that came back.
  EXPECT_EQ(h.where(h.with(400ms)), place::rejected);
  EXPECT_EQ(h.where(h.with(401ms)), place::held);
}

TEST(hopeless_calls, forget_how_long_calls_took_long_ago) {
  hope_rig h{hopeful()};
  h.measure(200);
  for (int i = 0; i < 1'000; ++i) {
    auto id = h.arrive();
    h.advance(10ms);
    h.finish(id);
  }
  h.arrive();
  EXPECT_EQ(h.where(h.with(22ms)), place::held);
}

// What is lent has not come back yet: it says little of how long that takes.
TEST(hopeless_calls, are_not_seen_in_calls_that_have_only_begun) {
  for (std::uint32_t permits : {10u, 100u, 1000u}) {
    auto c = hopeful(permits);
    c.max_waiters = 1000;
    hope_rig h{c};
    std::vector<call_id> running, waiting;
    for (std::uint32_t i = 0; i < permits; ++i)
      running.push_back(h.arrive());
    for (std::uint32_t i = 0; i < permits / 2; ++i)
      waiting.push_back(h.with(5s));
    h.advance(1s);
    for (auto id : running)
      h.finish(id);
    for (auto id : waiting)
      EXPECT_EQ(h.where(id), place::below) << permits;
    EXPECT_EQ(h.count("out_of_time"), 0) << permits;
  }
}

TEST(hopeless_calls, are_not_seen_in_a_burst) {
  hope_rig h{hopeful(1000)};
  for (int i = 0; i < 200; ++i) {
    auto id = h.arrive();
    h.advance(100ms);
    h.finish(id);
  }
  for (int i = 0; i < 1000; ++i)
    h.arrive();
  h.advance(99ms);
  EXPECT_EQ(h.where(h.with(400ms)), place::held);
}

TEST(hopeless_calls, follow_what_calls_take_now) {
  hope_rig h{hopeful()};
  h.measure();
  for (int i = 0; i < 2'000; ++i) {
    auto id = h.arrive();
    h.advance(10ms);
    h.finish(id);
  }
  h.arrive();
  EXPECT_EQ(h.where(h.with(19ms)), place::rejected);
  EXPECT_EQ(h.where(h.with(22ms)), place::held);
}

} // namespace
} // namespace caisson::test
