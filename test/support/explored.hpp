// A small world for exploring.
#pragma once

#include <simulator/explore/fault_menu.hpp>
#include <simulator/scenario/scenario.hpp>

#include <chrono>
#include <string>

namespace caisson::test {

/// A client, a service with a cache, and one with three replicas.
inline constexpr auto explored_world = R"(
length = "100s"
[service.web]
workers = 8
time = "5ms"
calls = [{ to = "db", cache_keys = 10, cache_ttl = "1s" }]
[service.db]
replicas = 3
workers = 4
time = "10ms"
[load.users]
rate = 20
target = "web"
timeout = "1s"
)";

inline sim::arm_config explored_arm() {
  return sim::parse_scenario(explored_world, "world.toml").arms.at(0);
}

inline sim::fault_config some_fault(sim::fault_kind kind, duration at,
                                    duration lasts,
                                    const std::string& target = "db") {
  sim::fault_config f;
  f.kind = kind;
  f.at = at;
  f.lasts = lasts;
  if (sim::hits_messages(kind)) {
    f.from = {"web"};
    f.to = {target};
  } else {
    f.target = target;
  }
  return f;
}

} // namespace caisson::test
