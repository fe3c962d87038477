// A report of a scenario that is given as text, as the command makes it.
#pragma once

#include <simulator/play/run.hpp>
#include <simulator/report/html_samples.hpp>
#include <simulator/report/report.hpp>

#include <cstdint>
#include <string_view>
#include <utility>

namespace caisson::test {

/// Runs all arms with one seed, with the details that a page shows.
inline sim::report played_report(std::string_view text,
                                 std::uint64_t seed = 1) {
  auto s = sim::parse_scenario(text, "test.toml");
  sim::report r;
  r.title = s.title;
  r.file = "test.toml";
  r.seed = seed;
  r.arms = std::move(s.arms);
  r.runs.push_back({.seed = seed, .arms = {}});
  for (const auto& arm : r.arms) {
    sim::run_options o;
    o.seed = seed;
    o.details = sim::samples_for(r.arms.size(), arm.length);
    r.runs[0].arms.push_back(sim::run_arm(arm, o));
  }
  return r;
}

} // namespace caisson::test
