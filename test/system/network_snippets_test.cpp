// The code about the network that docs/guide.md quotes: two actor systems in
// one process that talk over loopback.
#include <caisson/caf/caf_io.hpp>
#include <caisson/gate.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

caf::behavior doubler() {
  return {
    [](std::int32_t x) { return 2 * x; },
  };
}

std::int32_t ask(caf::actor_system& system, const caf::actor& target) {
  std::int32_t result = 0;
  caf::scoped_actor self{system};
  portable::ask_blocking(self, target, 20s, std::int32_t{21})
    .receive([&](std::int32_t x) { result = x; },
             [&](const caf::error& err) {
               ADD_FAILURE() << portable::render(system, err);
             });
  return result;
}

TEST(network_snippets, a_client_calls_through_a_gate_on_another_node) {
  network_config server_config;
  caf::actor_system server{server_config};
  auto service = server.spawn(doubler);
  // [serve]
  auto gate = caisson::spawn_gate(server, service,
                                  caisson::stack{"server"}.semaphore());
  auto port = caisson::portable::publish(server, gate);
  // [/serve]
  ASSERT_TRUE(port);
  {
    network_config client_config;
    caf::actor_system client{client_config};
    // [connect]
    auto connect = [port = *port](caf::actor_system& sys) {
      return caisson::portable::connect(sys, "127.0.0.1", port);
    };
    auto guarded = caisson::spawn_gate(
      client,
      caisson::worker::supervised(connect).on_own_thread().takes_calls(),
      caisson::stack{"client"}.retrier({.idempotent = true}));
    // [/connect]
    EXPECT_EQ(ask(client, guarded), 42);
    stop_gate(guarded);
  }
  stop_gate(gate);
}

} // namespace
} // namespace caisson::test
