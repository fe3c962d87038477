// A process that holds permits is killed.
#include "system/peer.hpp"

#include <memory>
#include <string>
#include <thread>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

class client_death : public testing::Test {
protected:
  static constexpr auto permits = 50;

  client_death() {
    use_two_threads(config);
    system.emplace(config);
    // Without leases that end by themselves.
    gate = spawn_gate(
      *system, worker{},
      stack{"tickets"}.semaphore({.permits = permits, .max_waiters = permits}));
    auto published = portable::publish(*system, call_handle{gate});
    EXPECT_TRUE(static_cast<bool>(published));
    port = published ? *published : std::uint16_t{0};
  }

  ~client_death() override { stop_gate(gate); }

  std::int64_t metric(const char* name) {
    return inquirer{*system, gate}.look().layers.at(0).metrics.at(name);
  }

  network_config config;
  std::optional<caf::actor_system> system;
  control_handle gate;
  std::uint16_t port = 0;
};

TEST_F(client_death, gives_back_all_permits_that_a_process_holds) {
  for (auto round = 0; round < 3; ++round) {
    demo::process client{"hold_permits", std::to_string(port),
                         std::to_string(permits)};
    ASSERT_EQ(client.read_line(), "held");
    ASSERT_EQ(metric("in_use"), permits);
    // Waits until it is its turn.
    auto waiting = std::make_unique<inquirer>(*system, gate);
    auto request = portable::ask_blocking(waiting->self(), gate,
                                          inquirer::patience, acquire{});
    while (metric("waiting") == 0)
      std::this_thread::yield();
    auto begin = std::chrono::steady_clock::now();
    client.kill();
    std::move(request).receive(
      [&](const permit& lease) {
        EXPECT_FALSE(waiting->error_of(release{lease.id}));
      },
      [&](const caf::error& err) { FAIL() << portable::render(*system, err); });
    auto took = std::chrono::steady_clock::now() - begin;
    RecordProperty(
      "back_after_us",
      std::to_string(
        std::chrono::duration_cast<std::chrono::microseconds>(took).count()));
    // The others come back one by one.
    while (metric("in_use") != 0)
      std::this_thread::yield();
    EXPECT_EQ(metric("waiting"), 0);
  }
  EXPECT_EQ(metric("granted") + metric("passed"), 3 * (permits + 1));
}

} // namespace
} // namespace caisson::test
