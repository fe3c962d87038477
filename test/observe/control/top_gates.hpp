// Answers of a program with gates, made up for tests of `caisson top`.
#pragma once

#include <ctl/top/model.hpp>

#include <nlohmann/json.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace caisson::test {

using answer = nlohmann::ordered_json;

/// So many seconds after a time that is the start of a step of the history.
inline time_point top_time(double seconds) {
  return time_point{}
         + std::chrono::duration_cast<duration>(
           std::chrono::duration<double>(1'000'000 + seconds));
}

inline answer top_layer(const std::string& name, const std::string& state = {},
                        answer metrics = answer::object(),
                        const std::string& mode = "enforce") {
  return {{"name", name},
          {"kind", name},
          {"mode", mode},
          {"state", state},
          {"metrics", std::move(metrics)}};
}

struct top_gate {
  std::string name;
  std::int64_t calls = 0;
  std::int64_t failed = 0;
  std::string state = "accepting";
  std::string worker = "up";
  std::vector<answer> layers{};
  answer more = answer::object();
};

inline answer top_row(const top_gate& x) {
  answer metrics{{"calls", x.calls},   {"succeeded", x.calls - x.failed},
                 {"failed", x.failed}, {"in_flight", 3},
                 {"held", 4},          {"waiting_for_worker", 1}};
  metrics.update(x.more);
  answer layers = answer::array();
  for (const auto& layer : x.layers)
    layers.push_back(layer);
  return {{"name", x.name},     {"stack", x.name},    {"state", x.state},
          {"worker", x.worker}, {"metrics", metrics}, {"layers", layers}};
}

inline answer top_list(const std::vector<top_gate>& all) {
  answer gates = answer::array();
  for (const auto& x : all)
    gates.push_back(top_row(x));
  return {{"gates", gates}};
}

} // namespace caisson::test
