// Gates between two nodes, over the loopback interface.
#include <caisson/caf/caf_io.hpp>
#include <caisson/gate.hpp>
#include <caisson/request.hpp>

#include "system/sockets.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

struct node_config : network_config {
  node_config() { portable::set_threads(*this, 2); }
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
    auto port = portable::publish(server, call_handle{x});
    EXPECT_TRUE(static_cast<bool>(port));
    return port ? *port : std::uint16_t{0};
  }

  caf::actor connect(std::uint16_t port) {
    auto x = portable::connect(client, "127.0.0.1", port);
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
  portable::ask_blocking(self, near, 20s, std::int64_t{4})
    .receive([](std::int64_t x) { EXPECT_EQ(x, 5); },
             [&](caf::error& e) { FAIL() << portable::render(client, e); });
  portable::ask_blocking(self, far, 20s, command{operator_command::force_open})
    .receive([](const status&) {},
             [&](caf::error& e) { FAIL() << portable::render(client, e); });
  portable::ask_blocking(self, near, 20s, std::int64_t{4})
    .receive([](std::int64_t) { FAIL() << "answered"; },
             [](caf::error& e) {
               EXPECT_EQ(e, errc::breaker_open);
               ASSERT_NE(context_of(e), nullptr);
               EXPECT_EQ(context_of(e)->policy, "breaker");
             });
  stop_gate(near);
  stop_gate(far);
  caf::anon_send_exit(w, caf::exit_reason::user_shutdown);
}

TEST_F(network_test, the_time_left_crosses_the_wire) {
  auto w = server.spawn<clock_watcher>();
  auto far = spawn_gate(
    server, worker{caf::actor_cast<caf::actor>(w)}.takes_calls(), stack{"far"});
  auto near = spawn_gate(client, worker{connect(publish(far))}.takes_calls(),
                         stack{"near"}.deadline({.timeout = 20s}));
  caf::scoped_actor self{client};
  portable::ask_blocking(self, near, 20s, std::int64_t{4})
    .receive(
      [](std::int64_t left_ms) {
        EXPECT_LE(left_ms, 20'000);
        EXPECT_GT(left_ms, 10'000);
      },
      [&](caf::error& e) { FAIL() << portable::render(client, e); });
  stop_gate(near);
  stop_gate(far);
  caf::anon_send_exit(w, caf::exit_reason::user_shutdown);
}

TEST_F(network_test, a_deadline_of_another_clock_is_refused) {
  auto w = server.spawn<clock_watcher>();
  auto far = spawn_gate(server, worker{caf::actor_cast<caf::actor>(w)},
                        stack{"far"});
  auto proxy = connect(publish(far));
  caf::scoped_actor self{client};
  call c = wrap(std::int64_t{1}).by(time_point{} + 1h);
  portable::ask_blocking(self, proxy, 20s, c)
    .receive([](std::int64_t) { FAIL() << "answered"; },
             [](caf::error& e) { EXPECT_EQ(e, errc::invalid_config); });
  stop_gate(far);
  caf::anon_send_exit(w, caf::exit_reason::user_shutdown);
}

// Whether the port can be reached by an address of this machine that is not
// 127.0.0.1, but still leads nowhere else.
bool is_open_at_another_address(caf::actor_system& sys, std::uint16_t port) {
  return static_cast<bool>(portable::connect(sys, "127.0.0.2", port));
}

TEST_F(network_test, what_is_published_listens_on_loopback_by_default) {
  auto far = spawn_gate(server, worker{}, stack{"far"});
  using publisher = std::function<caf::expected<std::uint16_t>(
    caf::actor_system&, const control_handle&, std::uint16_t,
    const std::string&)>;
  for (const auto& publish :
       {publisher{&portable::publish}, publisher{&portable::publish_control}}) {
    auto here = publish(server, far, 0, portable::loopback);
    ASSERT_TRUE(static_cast<bool>(here));
    EXPECT_FALSE(is_open_at_another_address(client, *here));
    auto everywhere = publish(server, far, 0, "0.0.0.0");
    ASSERT_TRUE(static_cast<bool>(everywhere));
    EXPECT_TRUE(is_open_at_another_address(client, *everywhere));
    // An address that was forgotten does not mean all of them.
    EXPECT_EQ(publish(server, far, 0, "").error(), errc::invalid_config);
  }
  auto by_default = portable::publish(server, far);
  ASSERT_TRUE(static_cast<bool>(by_default));
  EXPECT_FALSE(is_open_at_another_address(client, *by_default));
  stop_gate(far);
}

TEST_F(network_test, a_port_can_be_closed_again) {
  auto far = spawn_gate(server, worker{}, stack{"far"});
  auto port = publish(far);
  // The other node says who it is. Until then CAF may not listen yet, and 0.17
  // keeps the socket of a port that is closed before.
  EXPECT_NE(raw_socket::connected_to(port).read(), "");
  EXPECT_TRUE(static_cast<bool>(portable::unpublish(server, port)));
  EXPECT_FALSE(portable::connect(client, portable::loopback, port));
  EXPECT_FALSE(portable::unpublish(server, port));
  stop_gate(far);
}

TEST_F(network_test, the_end_of_a_gate_is_seen_through_its_call_handle) {
  auto w = server.spawn<clock_watcher>();
  auto far = spawn_gate(server, worker{caf::actor_cast<caf::actor>(w)},
                        stack{"far"});
  auto near = spawn_gate(client, worker{connect(publish(far))}.takes_calls(),
                         stack{"near"});
  caf::scoped_actor self{client};
  auto state = [&] {
    worker_state result{};
    portable::ask_blocking(self, near, 20s, get_status{})
      .receive([&](const status& x) { result = x.worker; },
               [&](caf::error& e) { FAIL() << portable::render(client, e); });
    return result;
  };
  EXPECT_EQ(state(), worker_state::up);
  stop_gate(far);
  for (auto i = 0; i < 2000 && state() == worker_state::up; ++i)
    std::this_thread::sleep_for(5ms);
  EXPECT_EQ(state(), worker_state::down);
  stop_gate(near);
  caf::anon_send_exit(w, caf::exit_reason::user_shutdown);
}

// Nothing of them is left in the system of the client, which then ends. (CAF's
// network keeps the senders of requests until they are down.)
TEST_F(network_test, threads_can_ask_a_remote_gate) {
  auto w = server.spawn<clock_watcher>();
  auto far = spawn_gate(server, worker{caf::actor_cast<caf::actor>(w)},
                        stack{"far"});
  auto near = connect(publish(far));
  for (std::int64_t i = 0; i < 100; ++i) {
    auto r = request_blocking<std::int64_t>(client, near, 20s, i);
    ASSERT_TRUE(r.ok()) << r.text();
    EXPECT_EQ(*r, i + 1);
  }
  stop_gate(far);
  caf::anon_send_exit(w, caf::exit_reason::user_shutdown);
}

TEST_F(network_test, a_request_of_a_thread_ends_with_the_remote_gate) {
  auto mute = server.spawn([](caf::event_based_actor* self) -> caf::behavior {
    auto kept = std::make_shared<
      std::vector<caf::typed_response_promise<int>>>();
    return {[self, kept](int) {
      return kept->emplace_back(self->make_response_promise<int>());
    }};
  });
  auto far = spawn_gate(server, worker{mute}, stack{"far"});
  auto near = connect(publish(far));
  auto pending = request_future<int>(client, near, unlimited, 1);
  auto limited = request_future<int>(client, near, 1h, wrap(2).within(50ms));
  EXPECT_TRUE(limited.get().error() == errc::deadline_exceeded);
  EXPECT_EQ(pending.wait_for(50ms), std::future_status::timeout);
  stop_gate(far);
  ASSERT_EQ(pending.wait_for(20s), std::future_status::ready);
  EXPECT_FALSE(pending.get().ok());
  // And one to a gate that is gone.
  EXPECT_FALSE(request_blocking<int>(client, near, unlimited, 1).ok());
  caf::anon_send_exit(mute, caf::exit_reason::kill);
}

// CAF lets every connected node find actors by their name in the registry.
TEST_F(network_test, a_name_can_be_that_of_a_call_handle) {
  auto w = server.spawn<clock_watcher>();
  auto far = spawn_gate(server, worker{caf::actor_cast<caf::actor>(w)},
                        stack{"far"});
  publish_name(server, "far", call_handle(far));
  auto near = connect(publish(far));
  auto found = client.middleman().remote_lookup(portable::registry_key("far"),
                                                near->node());
  ASSERT_NE(found, nullptr);
  auto named = caf::actor_cast<caf::actor>(found);
  caf::scoped_actor self{client};
  portable::ask_blocking(self, named, 20s, command{operator_command::reset})
    .receive([](const status&) { FAIL() << "obeyed"; },
             [](caf::error& e) { EXPECT_EQ(e, errc::invalid_config); });
  forget_name(server, "far");
  stop_gate(far);
  caf::anon_send_exit(w, caf::exit_reason::user_shutdown);
}

} // namespace
} // namespace caisson::test
