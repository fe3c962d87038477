#include <caisson/policies/breaker/breaker_score.hpp>

#include <caisson/settings/field.hpp>
#include <caisson/settings/problem.hpp>
#include <caisson/settings/setting_path.hpp>

#include <fmt/format.h>

namespace caisson {

using namespace std::chrono_literals;

void describe(field_visitor& v, breaker_score& c) {
  v.on({"limit", "the score to open above (>)"}, c.limit, {0.001, 1000.0});
  v.on({"load_weight", "weight of calls per second / baseline"}, c.load_weight,
       {0.0, 100.0});
  v.on({"failure_weight", "weight of the share of failures / failure_rate"},
       c.failure_weight, {0.0, 100.0});
  v.on({"latency_weight", "weight of the latencies' percentile / latency"},
       c.latency_weight, {0.0, 100.0});
  v.on({"failure_rate", "the share of failures that counts as 1"},
       c.failure_rate, {0.001, 1.0});
  v.on({"percentile", "which percentile of the latencies"}, c.percentile,
       {0.5, 0.9999});
  v.on({"latency", "the latency that counts as 1"}, c.latency, {1ms, 1h});
  v.on({"window", "how far back calls, failures and latencies count; the score "
                  "is computed at the end of each tenth of it"},
       c.window, {100ms, 1h});
  v.on({"baseline_window", "how far back the baseline looks, at most 1000 "
                           "times baseline_step"},
       c.baseline_window, {1s, 24h});
  v.on({"baseline_step", "how often the baseline is computed, and how long "
                         "each of its intervals lasts"},
       c.baseline_step, {1s, 1h});
}

void check(const breaker_score& c, const setting_path& path, problems& out) {
  // What is out of range has been reported already.
  auto in_range = c.baseline_step >= 1s && c.baseline_step <= 1h
                  && c.baseline_window >= 1s && c.baseline_window <= 24h;
  if (in_range && c.baseline_step > c.baseline_window)
    out.push_back(
      {problem_kind::relation, path / "baseline_step",
       fmt::format("{} is longer than baseline_window, so that the baseline "
                   "has no interval, allowed: 1s to baseline_window ({})",
                   to_text(c.baseline_step), to_text(c.baseline_window))});
  if (in_range && c.baseline_window > 1000 * c.baseline_step)
    out.push_back(
      {problem_kind::relation, path / "baseline_window",
       fmt::format("{} has too many intervals, allowed: at most 1000 times "
                   "baseline_step ({})",
                   to_text(c.baseline_window), to_text(c.baseline_step))});
  if (c.load_weight == 0 && c.failure_weight == 0 && c.latency_weight == 0)
    out.push_back({problem_kind::relation, path / "load_weight",
                   "all three weights are 0, so that the score is always 0, "
                   "allowed: at least one weight above 0"});
}

} // namespace caisson
