// Runs scenarios that are given as text.
#pragma once

#include <simulator/play/run.hpp>
#include <simulator/scenario/scenario.hpp>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace caisson::test {

/// The arm called `name`, or the only one.
inline const sim::arm_config& arm_of(const sim::scenario& s,
                                     std::string_view name = {}) {
  for (const auto& arm : s.arms)
    if (name.empty() || arm.name == name)
      return arm;
  throw std::invalid_argument{"no such arm"};
}

/// Runs one arm of the scenario `text`.
inline sim::arm_result played(std::string_view text, std::string_view arm = {},
                              std::uint64_t seed = 1) {
  auto s = sim::parse_scenario(text, "test.toml");
  sim::run_options o;
  o.seed = seed;
  return sim::run_arm(arm_of(s, arm), o);
}

/// The event log of one arm.
inline std::vector<std::string> log_of(std::string_view text,
                                       std::string_view arm = {},
                                       std::uint64_t seed = 1) {
  auto s = sim::parse_scenario(text, "test.toml");
  std::vector<std::string> lines;
  sim::run_options o;
  o.seed = seed;
  o.log = [&](std::string_view line) { lines.emplace_back(line); };
  (void)sim::run_arm(arm_of(s, arm), o);
  return lines;
}

/// Those lines of the event log that contain one of `words`.
inline std::vector<std::string>
log_with(std::string_view text, const std::vector<std::string>& words) {
  std::vector<std::string> out;
  for (auto& line : log_of(text))
    for (const auto& word : words)
      if (line.find(word) != std::string::npos) {
        out.push_back(std::move(line));
        break;
      }
  return out;
}

} // namespace caisson::test
