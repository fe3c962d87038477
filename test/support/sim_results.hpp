// Results as a run would give them, made by hand.
#pragma once

#include <simulator/report/report.hpp>

#include <chrono>
#include <cstdint>
#include <limits>
#include <ostream>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace caisson::sim {

inline constexpr auto infinity = std::numeric_limits<double>::infinity();

/// What `write` makes of a report.
template <class... Args>
std::string written(void (*write)(std::ostream&, const report&, Args...),
                    const report& r, std::type_identity_t<Args>... args) {
  std::ostringstream out;
  write(out, r, args...);
  return out.str();
}

/// A stretch of seconds that are all alike.
struct stretch {
  std::uint32_t seconds;
  std::uint64_t offered;
  std::uint64_t good;
};

/// An arm with these seconds, all of which belong to its load. What is not good
/// has failed by a timeout.
inline arm_result result_with(const std::vector<stretch>& stretches) {
  arm_result r;
  r.name = "arm";
  std::uint32_t second = 0;
  for (const auto& s : stretches) {
    for (std::uint32_t i = 0; i < s.seconds; ++i) {
      auto& row = r.rows.emplace_back();
      row.second = second++;
      auto& n = row.requests;
      n.offered = n.attempts = s.offered;
      n.good = s.good;
      n.failed = s.offered - s.good;
      if (n.failed > 0)
        n.errors["timeout"] = n.failed;
      r.tallies.push_back({.offered = n.offered, .good = n.good});
      r.totals.offered += n.offered;
      r.totals.attempts += n.attempts;
      r.totals.good += n.good;
      r.totals.failed += n.failed;
      if (n.failed > 0)
        r.totals.errors["timeout"] += n.failed;
    }
  }
  r.length = std::chrono::seconds{second};
  return r;
}

inline service_summary small_service() {
  using namespace std::chrono_literals;
  return {.name = "web",
          .arrivals = 30,
          .refused = 3,
          .shed = 2,
          .down = 1,
          .completed = 20,
          .failed = 2,
          .abandoned = 4,
          .lost = 5,
          .late = 6,
          .started = 25,
          .waited = 5,
          .mean_wait = 2ms,
          .mean_service = 3ms,
          .mean_sojourn = 5ms,
          .utilization = 0.75,
          .mean_inside = 1.5,
          .queue_max = 9,
          .busy_max = 7,
          .little_error = 0};
}

inline std::vector<result_row> small_seconds() {
  using namespace std::chrono_literals;
  std::vector<result_row> rows(2);
  auto& first = rows[0];
  first.second = 0;
  first.requests = {.offered = 12,
                    .attempts = 13,
                    .good = 12,
                    .substituted = 1,
                    .failed = 0,
                    .errors = {}};
  first.latency = {12, 5ms, 4ms, 8ms, 9ms, 1500us, 11ms, 1s};
  first.loads = {{12, 12, 0}};
  first.services = {{.arrivals = 13,
                     .refused = 1,
                     .completed = 11,
                     .failed = 1,
                     .queue = 2,
                     .busy = 3,
                     .queue_max = 9,
                     .busy_max = 7,
                     .busy_time = 2'500'000}};
  first.breakers = {"closed"};
  auto& second = rows[1];
  second.second = 1;
  second.requests = {.offered = 8,
                     .attempts = 17,
                     .good = 3,
                     .substituted = 0,
                     .failed = 4,
                     .errors = {{"queue_full", 1}, {"timeout", 3}}};
  second.loads = {{8, 3, 4}};
  second.services = {{.arrivals = 17,
                      .refused = 2,
                      .completed = 9,
                      .failed = 1,
                      .queue = 0,
                      .busy = 1,
                      .queue_max = 4,
                      .busy_max = 3,
                      .busy_time = 1}};
  second.breakers = {"open"};
  return rows;
}

/// Two seconds with a number in nearly every field.
inline arm_result small_result() {
  using namespace std::chrono_literals;
  arm_result r;
  r.name = "naive";
  r.title = "no policies, but retries";
  r.seed = 7;
  r.length = 2s;
  r.end = 2500ms;
  r.totals = {.offered = 20,
              .attempts = 30,
              .good = 15,
              .substituted = 1,
              .failed = 4,
              .errors = {{"queue_full", 1}, {"timeout", 3}}};
  r.unanswered = 1;
  r.latency = {15, 5ms, 4ms, 8ms, 9ms, 1500us, 11ms, 1s};
  r.by_operation["web.home"] = {15, 5ms, 4ms, 8ms, 9ms, 1500us, 11ms, 1s};
  r.loads.push_back({.name = "users",
                     .offered = 20,
                     .good = 15,
                     .substituted = 1,
                     .failed = 4,
                     .errors = r.totals.errors,
                     .latency = r.latency});
  r.verdict = verdict_kind::recovered;
  r.recovery_from = 500ms;
  r.recovered_at = 1;
  r.services = {small_service()};
  r.gates.push_back({.name = "users -> web",
                     .stack = "careful",
                     .metrics = {{"calls", 20}},
                     .layers = {{.name = "guard",
                                 .kind = "breaker",
                                 .state = "closed",
                                 .metrics = {{"opened", 2}}}}});
  r.breakers = {"users -> web.guard"};
  r.rows = small_seconds();
  r.events = 1234;
  r.digest = 0x0123456789abcdef;
  r.wall_seconds = 0.5;
  r.messages = 1000;
  return r;
}

/// The arm that `small_result` is of.
inline arm_config small_arm() {
  using namespace std::chrono_literals;
  arm_config c;
  c.name = "naive";
  c.title = "no policies, but retries";
  c.length = 2s;
  auto& web = c.services.emplace_back();
  web.name = "web";
  web.operations.emplace_back().name = "web.home";
  c.loads.emplace_back().mix = {{"web.home", 1}};
  return c;
}

inline report small_report() {
  report r;
  r.title = "A small world";
  r.file = "small.toml";
  r.seed = 7;
  r.arms = {small_arm()};
  r.runs = {{.seed = 7, .arms = {small_result()}}};
  r.speeds.resize(1);
  r.speeds[0].add(r.runs[0].arms[0]);
  return r;
}

} // namespace caisson::sim
