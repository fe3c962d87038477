// Gates between two nodes, over the loopback interface.
#include <caisson/caf_io.hpp>
#include <caisson/gate.hpp>

#include <gtest/gtest.h>

#include <cstdint>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

struct node_config : network_config {
  node_config() { rt::set_threads(*this, 2); }
};

// Answers an int with the milliseconds that were left when it came.
class clock_watcher final : public caf::event_based_actor {
public:
  using caf::event_based_actor::event_based_actor;
  caf::behavior make_behavior() override {
    return {[this](const call& c) -> std::int64_t {
              auto left = time_point{duration{c.options.deadline_ns}}
                          - clock().now();
              return std::chrono::duration_cast<std::chrono::milliseconds>(left)
                .count();
            },
            [](std::int64_t x) { return x + 1; }};
  }
};

class network_test : public testing::Test {
protected:
  network_test() : server(server_config), client(client_config) {}

  std::uint16_t publish(const caf::actor& x) {
    auto port = rt::publish(server, x, 0, "127.0.0.1");
    EXPECT_TRUE(static_cast<bool>(port));
    return port ? *port : std::uint16_t{0};
  }

  caf::actor connect(std::uint16_t port) {
    auto x = rt::connect(client, "127.0.0.1", port);
    EXPECT_TRUE(static_cast<bool>(x));
    return x ? *x : caf::actor{};
  }

  node_config server_config;
  node_config client_config;
  caf::actor_system server;
  caf::actor_system client;
};

TEST_F(network_test, a_remote_gate_answers_with_values_and_errors) {
  auto w = server.spawn<clock_watcher>();
  auto far = spawn_gate(server, worker{caf::actor_cast<caf::actor>(w)},
                        stack{"far"}.breaker());
  auto near = spawn_gate(client, worker{connect(publish(far))}.takes_calls(),
                         stack{"near"}.deadline({.timeout = 20s}));
  caf::scoped_actor self{client};
  rt::ask_blocking(self, near, 20s, std::int64_t{4})
    .receive([](std::int64_t x) { EXPECT_EQ(x, 5); },
             [&](caf::error& e) { FAIL() << rt::render(client, e); });
  rt::ask_blocking(self, far, 20s, command{operator_command::force_open})
    .receive([](const status&) {},
             [&](caf::error& e) { FAIL() << rt::render(client, e); });
  rt::ask_blocking(self, near, 20s, std::int64_t{4})
    .receive([](std::int64_t) { FAIL() << "answered"; },
             [](caf::error& e) {
               EXPECT_EQ(e, errc::breaker_open);
               ASSERT_NE(context_of(e), nullptr);
               EXPECT_EQ(context_of(e)->policy, "breaker");
             });
  stop(near);
  stop(far);
  caf::anon_send_exit(w, caf::exit_reason::user_shutdown);
}

TEST_F(network_test, the_time_left_crosses_the_wire) {
  auto w = server.spawn<clock_watcher>();
  auto far = spawn_gate(
    server, worker{caf::actor_cast<caf::actor>(w)}.takes_calls(), stack{"far"});
  auto near = spawn_gate(client, worker{connect(publish(far))}.takes_calls(),
                         stack{"near"}.deadline({.timeout = 20s}));
  caf::scoped_actor self{client};
  rt::ask_blocking(self, near, 20s, std::int64_t{4})
    .receive(
      [](std::int64_t left_ms) {
        EXPECT_LE(left_ms, 20'000);
        EXPECT_GT(left_ms, 10'000);
      },
      [&](caf::error& e) { FAIL() << rt::render(client, e); });
  stop(near);
  stop(far);
  caf::anon_send_exit(w, caf::exit_reason::user_shutdown);
}

TEST_F(network_test, a_deadline_of_another_clock_is_refused) {
  auto w = server.spawn<clock_watcher>();
  auto far = spawn_gate(server, worker{caf::actor_cast<caf::actor>(w)},
                        stack{"far"});
  auto proxy = connect(publish(far));
  caf::scoped_actor self{client};
  call c = wrap(std::int64_t{1}).by(time_point{} + 1h);
  rt::ask_blocking(self, proxy, 20s, c)
    .receive([](std::int64_t) { FAIL() << "answered"; },
             [](caf::error& e) { EXPECT_EQ(e, errc::invalid_config); });
  stop(far);
  caf::anon_send_exit(w, caf::exit_reason::user_shutdown);
}

} // namespace
} // namespace caisson::test
