// Writes that are acknowledged while a Redis is away for long.
#include <caisson/stack/layers/cache_layer.hpp>

#include <adapters/redis/server.hpp>
#include <support/away.hpp>

#include <csignal>
#include <cstdint>
#include <optional>
#include <string>

namespace caisson::test {
namespace {

/// SET sets what GET answers.
cache_forms set_and_get() {
  auto forms = cache_forms::keyed_by<redis_command>(
    [](const redis_command& x) { return x.args.at(1); });
  forms.write = [](const caf::message& x) -> std::optional<cached_write> {
    auto* in = portable::get_if<redis_command>(x);
    if (!in || in->args.size() != 3 || in->args[0] != "SET")
      return std::nullopt;
    auto reply = [](std::string text) {
      return caf::make_message(
        redis_reply{.kind = redis_kind::text, .text = std::move(text)});
    };
    return cached_write{in->args[1], reply(in->args[2]), reply("OK")};
  };
  return forms;
}

struct redis_write_back : redis_test {
  std::int64_t count(const caf::actor& g, const std::string& name) {
    return look(g).metric("cache", name);
  }

  void fails_again(const caf::actor& g, std::int64_t times) {
    auto enough = count(g, "flush_failed") + times;
    EXPECT_TRUE(eventually([&] { return count(g, "flush_failed") >= enough; }));
    EXPECT_EQ(count(g, "lost"), 0);
    EXPECT_EQ(count(g, "unwritten"), 1);
  }
};

TEST_F(redis_write_back, nothing_is_lost_while_the_server_is_away_for_long) {
  start();
  auto c = config();
  // Less than a flush may take, so that the worker says it.
  c.max_time = 10ms;
  auto direct = patient_gate();
  auto g = gate_for(c, stack{}.cache(hasty_flushes(), set_and_get()));
  ASSERT_EQ(ask(direct, {"SET", "account", "1"}), "OK");
  server->signal(SIGSTOP);
  ASSERT_EQ(ask(g, {"SET", "account", "42"}), "OK");
  fails_again(g, failures_in_two_minutes);
  server->end(SIGKILL);
  fails_again(g, failures_in_two_minutes);
  EXPECT_EQ(ask(g, {"GET", "account"}), "42");
  start();
  EXPECT_TRUE(eventually([&] { return count(g, "unwritten") == 0; }));
  EXPECT_EQ(count(g, "lost"), 0);
  EXPECT_EQ(ask(direct, {"GET", "account"}), "42");
}

// It is there, but does not obey, as after a failover.
TEST_F(redis_write_back, nor_while_it_takes_no_writes) {
  start();
  auto direct = patient_gate();
  ASSERT_EQ(ask(direct, {"SET", "account", "1"}), "OK");
  ASSERT_EQ(ask(direct, {"CONFIG", "SET", "min-replicas-to-write", "1"}), "OK");
  auto g = gate_for(config(), stack{}.cache(hasty_flushes(), set_and_get()));
  ASSERT_EQ(ask(g, {"SET", "account", "42"}), "OK");
  fails_again(g, failures_in_two_minutes);
  ASSERT_EQ(ask(direct, {"CONFIG", "SET", "min-replicas-to-write", "0"}), "OK");
  EXPECT_TRUE(eventually([&] { return count(g, "unwritten") == 0; }));
  EXPECT_EQ(ask(direct, {"GET", "account"}), "42");
}

} // namespace
} // namespace caisson::test
