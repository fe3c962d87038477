#include "system/peer.hpp"

#include <caisson/stack/layers/cache_layer.hpp>

#include <fmt/format.h>

#include <unistd.h>

#include <cstdio>

using namespace std::chrono_literals;

namespace caisson::test {

namespace {

class doubling_worker final : public caf::event_based_actor {
public:
  using caf::event_based_actor::event_based_actor;
  caf::behavior make_behavior() override {
    return {
      // Strangers send any number.
      [](std::int32_t x) {
        return static_cast<std::int32_t>(2 * static_cast<std::uint32_t>(x));
      },
      [this](const std::string& x) {
        if (x == "end")
          quit(caf::exit_reason::user_shutdown);
      },
    };
  }
};

// Prints where `gate` is, and waits for the end.
int stand_by(const caf::actor& gate, const caf::expected<std::uint16_t>& port) {
  fmt::print("{}\n", port ? *port : 0);
  std::fflush(stdout);
  while (std::getchar() != EOF)
    continue;
  stop_gate(gate);
  return port ? 0 : 1;
}

template <class Publish>
int run(caf::actor_system& sys, Publish publish) {
  auto make = [](caf::actor_system& s) -> caf::expected<caf::actor> {
    return caf::actor_cast<caf::actor>(s.spawn<doubling_worker>());
  };
  auto gate = spawn_gate(
    sys,
    worker::supervised(
      make, {.restart = schedule::constant(300ms), .max_restarts = 1000}),
    // Calls that are none must not open the breaker.
    stack{"server"}
      .breaker({.threshold = 1'000'000})
      .semaphore({.permits = 8}));
  return stand_by(gate, publish(gate));
}

} // namespace

int serve(const std::vector<std::string>& args) {
  // Whatever goes wrong in the test, it ends.
  alarm(120);
#ifdef CAISSON_TLS
  if (args.at(0) == "tls") {
    auto dir = args.at(1);
    tls_network_config cfg{tls_files{dir + "/server.pem", dir + "/server.key",
                                     dir + "/authority.pem"}};
    use_two_threads(cfg);
    caf::actor_system sys{cfg};
    return run(sys,
               [&](auto& gate) { return portable::publish_tls(sys, gate); });
  }
#endif
  network_config cfg;
  use_two_threads(cfg);
  caf::actor_system sys{cfg};
  if (args.at(0) == "control")
    return run(
      sys, [&](auto& gate) { return portable::publish_control(sys, gate); });
  return run(sys, [&](auto& gate) { return portable::publish(sys, gate); });
}

cache_config write_back_settings() {
  return {.flush_after = 50ms, .flush_timeout = 500ms, .staleness = 1s};
}

int write_back(const std::vector<std::string>& args) {
  alarm(120);
  network_config cfg;
  use_two_threads(cfg);
  caf::actor_system sys{cfg};
  auto store = portable::connect(
    sys, "127.0.0.1", static_cast<std::uint16_t>(std::stoi(args.at(0))));
  if (!store)
    return 1;
  cache_forms forms;
  forms.write = [](const caf::message& x) -> std::optional<cached_write> {
    if (!x.match_elements<std::string, std::int64_t>())
      return std::nullopt;
    return cached_write{x.get_as<std::string>(0),
                        caf::make_message(x.get_as<std::int64_t>(1)),
                        caf::make_message(true)};
  };
  auto gate = spawn_gate(
    sys, *store, stack{}.cache(write_back_settings(), std::move(forms)));
  return stand_by(gate, portable::publish(sys, gate));
}

int hold_permits(const std::vector<std::string>& args) {
  alarm(120);
  network_config cfg;
  use_two_threads(cfg);
  caf::actor_system sys{cfg};
  auto gate = portable::connect(
    sys, "127.0.0.1", static_cast<std::uint16_t>(std::stoi(args.at(0))));
  if (!gate)
    return 1;
  {
    inquirer self{sys, *gate};
    std::string response = "held";
    for (auto n = std::stoi(args.at(1)); n > 0; --n)
      if (auto got = self.ask<permit>(acquire{}); !got)
        response = portable::render(sys, got.error());
    fmt::print("{}\n", response);
    std::fflush(stdout);
    while (std::getchar() != EOF)
      continue;
  }
  return 0;
}

} // namespace caisson::test
