// A gate in a process of its own, and a node that talks to it.
#pragma once

#include <caisson/caf/caf_io.hpp>
#include <caisson/gate.hpp>
#include <caisson/policies/cache/cache_config.hpp>

#include "../demos/examples/process.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace caisson::test {

/// What the other process does: publishes a gate called `server`, prints the
/// port, and goes on until its standard input ends. Its worker doubles integers
/// and ends when it gets the text `end`; another one comes a moment later.
///
/// By the first of `args` the gate is published as a call handle (`calls`), as
/// it is (`control`), or by TLS with the certificates in the directory that
/// follows (`tls`).
int serve(const std::vector<std::string>& args);

/// What another process does: publishes a gate with a cache that acknowledges
/// writes (`write_back`) for the worker at the port `args[0]`, prints the port,
/// and goes on until its standard input ends.
int write_back(const std::vector<std::string>& args);

/// What another process does: takes `args[1]` times one permit of the gate that
/// is published at the port `args[0]`, prints `held` or the error it got, then
/// goes on until its standard input ends.
int hold_permits(const std::vector<std::string>& args);

/// The settings of that cache.
cache_config write_back_settings();

/// The port that the process prints; 0 if it prints none.
inline std::uint16_t port_of(demo::process& server) {
  auto line = server.read_line();
  return line.empty() ? std::uint16_t{0}
                      : static_cast<std::uint16_t>(std::stoi(line));
}

inline void use_two_threads(caf::actor_system_config& cfg) {
  portable::set_threads(cfg, 2);
}

/// Asks on behalf of a test, which fails if nobody answers at all.
class inquirer {
public:
  static constexpr auto patience = std::chrono::seconds(20);

  inquirer(caf::actor_system& sys, caf::actor target)
    : self_(sys), target_(std::move(target)) {}

  /// The answer of type T to `xs...`, or the error.
  template <class T, class... Ts>
  caf::expected<T> ask(Ts&&... xs) {
    caf::expected<T> result{caf::make_error(caf::sec::runtime_error)};
    portable::ask_blocking(self_, target_, patience, std::forward<Ts>(xs)...)
      .receive([&](const T& x) { result = x; },
               [&](caf::error& err) { result = std::move(err); });
    return result;
  }

  /// The error that `x` is answered with; none if it is obeyed.
  template <class T>
  caf::error error_of(const T& x) {
    caf::error result;
    auto note = [&](caf::error& err) { result = std::move(err); };
    auto answer = portable::ask_blocking(self_, target_, patience, x);
    if constexpr (std::is_same_v<T, reconfigure> || std::is_same_v<T, command>)
      std::move(answer).receive([](const status&) {}, note);
    else
      std::move(answer).receive([] {}, note);
    return result;
  }

  status look() {
    auto result = ask<status>(get_status{});
    EXPECT_TRUE(static_cast<bool>(result));
    return result ? *result : status{};
  }

  /// Whether the gate does what it is there for.
  bool serves() {
    auto result = ask<std::int32_t>(std::int32_t{21});
    return result && *result == 42;
  }

  caf::scoped_actor& self() { return self_; }

private:
  caf::scoped_actor self_;
  caf::actor target_;
};

} // namespace caisson::test
