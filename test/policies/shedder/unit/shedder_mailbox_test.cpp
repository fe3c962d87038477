// The delay in a gate's mailbox as a signal of a shedder.
#include <policies/shedder/model/shedder_rig.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

TEST(shedder_mailbox, sheds_while_messages_wait_too_long_in_the_mailbox) {
  shedder_rig h{by_mailbox(20ms)};
  h.e.mailbox = 20ms;
  h.offer_over(10s, 1'000);
  EXPECT_EQ(h.policy.state(), "passing") << "20 ms is not more than 20 ms";
  EXPECT_EQ(h.count("mailbox_delay_us"), 20'000);
  h.e.mailbox = 20ms + 1ns;
  h.offer_over(10s, 1'000);
  EXPECT_EQ(h.policy.state(), "shedding");
  EXPECT_GT(h.count("shed_mailbox"), 0);
  EXPECT_EQ(h.all_shed(), h.count("shed_mailbox"));
  EXPECT_EQ(std::count(h.e.details.begin(), h.e.details.end(),
                       "delay in the mailbox 20.0 ms"),
            1);
  h.e.mailbox = 0ns;
  h.advance(10min);
  EXPECT_EQ(h.policy.state(), "passing");
  EXPECT_EQ(h.count("mailbox_delay_us"), 0);
}

TEST(shedder_mailbox, takes_the_mean_of_what_it_reads_of_the_mailbox) {
  shedder_rig h{by_mailbox(50ms)};
  h.e.mailbox = 1h; // Of long before.
  h.offer();
  for (auto x : {20ms, 30ms, 90ms, 100ms}) {
    h.e.mailbox = x;
    for (int i = 0; i < 20; ++i)
      h.offer();
    h.advance(250ms);
  }
  EXPECT_EQ(h.count("mailbox_delay_us"), 60'000);
  EXPECT_EQ(h.policy.state(), "shedding");
}

TEST(shedder_mailbox, asks_for_the_mailbox_once_a_sample_while_calls_come) {
  auto c = by_mailbox(20ms);
  c.sample = 200ms;
  shedder_rig h{c};
  h.e.mailbox = 1s;
  h.advance(1h);
  EXPECT_EQ(h.e.probes, 0);
  h.offer_over(10s, 1'000);
  EXPECT_EQ(h.e.probes, 51);
  EXPECT_EQ(h.policy.state(), "shedding");
  auto before = h.e.probes;
  h.advance(1h);
  EXPECT_EQ(h.e.probes - before, 0) << "it comes back by itself";
}

// As a host that is late has it.
TEST(shedder_mailbox, asks_for_a_call_that_comes_before_the_wakeup) {
  shedder_rig h{by_mailbox(20ms)};
  h.e.mailbox = 1s;
  h.offer_over(10s, 1'000);
  ASSERT_EQ(h.policy.state(), "shedding");
  h.advance(2s);
  auto before = h.e.probes;
  h.e.now += 1s;
  h.offer();
  EXPECT_EQ(h.e.probes, before + 1);
}

// If the call that ended an idle window came late, it was asked for, too.
TEST(shedder_mailbox, does_not_read_what_came_before_an_idle_time) {
  shedder_rig h{by_mailbox(20ms)};
  h.e.mailbox = 1ms;
  h.offer_over(1s, 100);
  h.advance(500ms);
  h.e.now += 1h;
  h.offer();
  h.e.mailbox = 1h;
  h.offer();
  h.e.mailbox = 1ms;
  h.offer_over(2s, 200);
  EXPECT_EQ(h.count("mailbox_delay_us"), 1'000);
  EXPECT_EQ(h.policy.state(), "passing");
}

TEST(shedder_mailbox, does_not_take_an_old_delay_of_the_mailbox_for_a_new_one) {
  auto c = by_mailbox(20ms);
  c.decrease = 0.9;
  shedder_rig h{c};
  h.e.mailbox = 1s;
  h.offer_over(10s, 1'000);
  // Still shedding, and nothing has been asked for a while.
  h.advance(5s);
  EXPECT_EQ(h.policy.state(), "shedding");
  auto before = h.count("tightened");
  h.offer();
  h.advance(100ms);
  h.e.mailbox = 0ns;
  h.offer_over(5s, 100);
  EXPECT_EQ(h.count("tightened"), before);
}

TEST(shedder_mailbox, knows_nothing_of_a_mailbox_that_is_not_there) {
  shedder_rig h{by_mailbox(1ns)};
  h.offer_over(10s, 1'000);
  EXPECT_EQ(h.policy.state(), "passing");
  EXPECT_EQ(h.count("unread"), h.e.probes);
  EXPECT_GT(h.count("unread"), 10);
}

TEST(shedder_mailbox, counts_a_reading_once_whatever_is_unknown_in_it) {
  auto c = by_mailbox(1ns);
  c.max_cpu = 0.9;
  shedder_rig h{c};
  h.load->value = {};
  h.offer_over(10s, 1'000);
  EXPECT_EQ(h.count("unread"), h.load->reads);
  EXPECT_EQ(h.e.probes, h.load->reads);
  h.e.mailbox = 0ns;
  h.offer_over(1s, 100);
  EXPECT_EQ(h.count("unread"), h.load->reads) << "the load still is unknown";
}

TEST(shedder_mailbox, asks_for_what_has_come_since_there_are_calls_again) {
  shedder_rig h{by_mailbox(20ms)};
  h.e.mailbox = 0ns;
  for (int i = 0; i < 3; ++i) {
    h.advance(1h);
    auto begun = h.e.now;
    h.offer_over(10s, 1'000);
    EXPECT_EQ(h.e.asked_since, begun);
  }
}

TEST(shedder_mailbox, leaves_the_mailbox_alone_if_it_is_no_signal) {
  shedder_rig h;
  h.e.mailbox = 1h;
  h.offer_over(10s, 1'000);
  EXPECT_EQ(h.e.probes, 0);
  EXPECT_EQ(h.policy.state(), "passing");
  EXPECT_EQ(h.count("mailbox_delay_us"), 0);
}

TEST(shedder_mailbox, can_watch_the_mailbox_from_now_on_and_no_longer) {
  auto c = by_mailbox(0ns);
  shedder_rig h{c};
  h.e.mailbox = 1s;
  h.offer_over(500ms, 50);
  c.max_mailbox_delay = 20ms;
  h.reconfigure(c);
  h.advance(0ns);
  EXPECT_EQ(h.e.probes, 1) << "without a wait for the next call";
  h.offer_over(2s, 200);
  EXPECT_EQ(h.policy.state(), "shedding");
  c.max_mailbox_delay = 0ns;
  h.reconfigure(c);
  EXPECT_EQ(h.count("mailbox_delay_us"), 0);
  auto before = h.count("tightened");
  auto asked = h.e.probes;
  h.offer_over(5s, 500);
  EXPECT_EQ(h.count("tightened"), before);
  EXPECT_EQ(h.e.probes, asked);
}

TEST(shedder_mailbox,
     takes_memory_before_the_mailbox_and_that_before_the_rest) {
  auto c = by_mailbox(20ms);
  c.max_memory = 0.5;
  c.max_cpu = 0.5;
  shedder_rig h{c};
  h.e.mailbox = 1s;
  h.load->value = {.cpu = 1.0, .memory = 0.0};
  h.offer_over(10s, 1'000);
  EXPECT_GT(h.count("shed_mailbox"), 0);
  EXPECT_EQ(h.count("shed_cpu"), 0);
  h.load->value = {.cpu = 1.0, .memory = 1.0};
  auto before = h.count("shed_mailbox");
  h.offer_over(1s, 100);
  before = h.count("shed_mailbox");
  h.offer_over(10s, 1'000);
  EXPECT_GT(h.count("shed_memory"), 0);
  EXPECT_LE(h.count("shed_mailbox") - before, 100);
}

TEST(shedder_mailbox, a_reset_forgets_the_mailbox) {
  shedder_rig h{by_mailbox(20ms)};
  h.e.mailbox = 1s;
  h.offer_over(2s, 200);
  h.command(operator_command::reset);
  EXPECT_EQ(h.policy.state(), "passing");
  EXPECT_EQ(h.count("mailbox_delay_us"), 0);
}

} // namespace
} // namespace caisson::test
