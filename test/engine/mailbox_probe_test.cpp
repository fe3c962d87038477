// The delay of messages in a gate's mailbox, as its layers learn it.
#include <support/holding.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <optional>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

struct mailbox_probe : holding {
  mailbox_probe() { start().has_mailbox = true; }

  // What a layer learns that asks for what has come since then.
  std::optional<duration> ask(duration since = 0ns) {
    std::optional<duration> found;
    let(
      [&](env& e) { found = e.probe_mailbox(engine_world::origin() + since); });
    return found;
  }

  void arrive() {
    world->step([](auto& e, auto now) { e.on_probe(now); });
  }
};

TEST_F(mailbox_probe, without_a_mailbox_nothing_is_known) {
  world->has_mailbox = false;
  EXPECT_EQ(ask(), std::nullopt);
  world->pass(1s);
  EXPECT_EQ(ask(), std::nullopt);
}

TEST_F(mailbox_probe, one_message_at_a_time_is_in_progress) {
  EXPECT_EQ(ask(), 0ns);
  world->pass(10ms);
  EXPECT_EQ(ask(), 10ms) << "the one in flight has taken that long";
  EXPECT_EQ(world->probes, 1);
  arrive();
  EXPECT_EQ(ask(), 10ms);
  EXPECT_EQ(world->probes, 2);
}

TEST_F(mailbox_probe, all_layers_get_the_same_delay) {
  ask();
  ask();
  world->pass(30ms);
  arrive();
  world->pass(220ms);
  EXPECT_EQ(ask(), 30ms);
  EXPECT_EQ(ask(), 30ms) << "although the next one is in flight";
  EXPECT_EQ(world->probes, 2);
}

TEST_F(mailbox_probe, a_delay_longer_than_a_sample_is_known_in_full) {
  ask();
  world->pass(250ms);
  EXPECT_EQ(ask(), 250ms);
  world->pass(200ms);
  arrive();
  world->pass(50ms);
  EXPECT_EQ(ask(), 450ms);
  world->pass(250ms);
  EXPECT_EQ(ask(), 450ms);
  world->pass(250ms);
  EXPECT_EQ(ask(), 500ms);
}

TEST_F(mailbox_probe, earlier_probes_do_not_count) {
  ask();
  world->pass(400ms);
  arrive();
  world->pass(1h);
  auto since = world->now();
  EXPECT_EQ(ask(since), 0ns);
  world->pass(100ms);
  EXPECT_EQ(ask(since), 100ms);
  arrive();
  world->pass(150ms);
  EXPECT_EQ(ask(since), 100ms);
}

TEST_F(mailbox_probe, a_probe_that_was_not_sent_does_not_count) {
  arrive();
  world->pass(1s);
  EXPECT_EQ(ask(), 0ns);
  world->pass(20ms);
  arrive();
  world->pass(1s);
  arrive();
  EXPECT_EQ(ask(), 20ms);
}

} // namespace
} // namespace caisson::test
