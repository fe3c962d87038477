// The settings and steps that are drawn for a breaker and its model.
#pragma once

#include <caisson/policies/breaker/breaker.hpp>

#include <support/against_model.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace caisson::test {

/// The settings, with the schedule as a list of delays and the rates in
/// thousandths, so that nothing is rounded.
struct breaker_model_settings {
  breaker_config base;
  std::vector<duration> delays;
  std::int64_t permille = 500;
  std::int64_t slow_permille = 500;
  std::int64_t limit_permille = 1000;

  bool has(breaker_trip x) const { return base.trip.has(x); }
  bool timed() const { return base.slow_call != unlimited; }
  bool slow_by_count() const {
    return timed() && has(breaker_trip::rate_by_count)
           && !has(breaker_trip::rate_by_time);
  }
  bool slow_by_time() const { return timed() && !slow_by_count(); }
};

/// From the edges of their ranges and from values so small that the boundaries
/// are met often.
inline breaker_model_settings any_breaker_settings() {
  using namespace std::chrono_literals;
  breaker_model_settings s;
  auto& c = s.base;
  using enum breaker_trip;
  c.trip = any_of<breaker_trips>(
    {consecutive, without_gap, rate_by_count, rate_by_time,
     breaker_trips{consecutive, rate_by_time},
     breaker_trips{without_gap, rate_by_count},
     breaker_trips{rate_by_count, rate_by_time},
     breaker_trips{consecutive, without_gap, rate_by_count, rate_by_time},
     breaker_trips{}});
  c.trip_if = any_of<breaker_join>(
    {breaker_join::any, breaker_join::any, breaker_join::all});
  c.slow_call = any_of<duration>({unlimited, unlimited, 1ms, 500ms, 1s, 3s});
  if (c.trip.empty() && c.slow_call == unlimited)
    c.slow_call = 1s;
  s.slow_permille = any_of<std::int64_t>({1, 333, 500, 1000});
  c.slow_rate = static_cast<double>(s.slow_permille) / 1000;
  c.ramp = any_of<duration>({0s, 0s, 1s, 3s});
  c.ramp_from = any_of<double>({0, 0.1, 0.5, 1});
  c.count_attempt_timeouts = any_of<bool>({true, false});
  c.initial = any_of<breaker_start>(
    {breaker_start::closed, breaker_start::closed, breaker_start::half_open});
  c.threshold = any_of<std::uint32_t>({1, 2, 3, 1'000'000});
  c.quiet_period = any_of<duration>({1ms, 500ms, 1s, 3s, unlimited});
  s.permille = any_of<std::int64_t>({1, 333, 400, 500, 500, 600, 1000});
  c.failure_rate = static_cast<double>(s.permille) / 1000;
  c.window_calls = any_of<std::uint32_t>({1, 2, 3, 5, 64, 65});
  c.window_time = any_of<duration>({1ms, 1s, 2s, 3s, 24h});
  c.window_buckets = any_of<std::uint32_t>({1, 2, 3, 7, 1000});
  c.minimum_calls = any_of<std::uint32_t>({1, 2, 3, 5, 1'000'000});
  c.slow_minimum_calls = any_of<std::uint32_t>({0, 0, 1, 4, 1'000'000});
  if (c.slow_call != unlimited || c.trip.has(rate_by_count)
      || c.trip.has(rate_by_time))
    s.limit_permille = any_of<std::int64_t>({10, 300, 500, 750, 1000, 1000});
  c.limit_at = static_cast<double>(s.limit_permille) / 1000;
  if (c.limit_at < 1)
    c.limit_floor = any_of<std::uint32_t>({1, 1, 2, 5, 1'000'000});
  s.delays = any_of<std::vector<duration>>(
    {{0s}, {1s}, {500ms, 1s, 2s}, {3s, 1s}, {2s, 2s, 5s}});
  c.open = schedule{};
  for (auto d : s.delays)
    c.open = c.open.empty() ? schedule::constant(d).take(1)
                            : c.open.then(schedule::constant(d).take(1));
  c.eager_half_open = any_of<bool>({false, true});
  c.probes = any_of<std::uint32_t>({1, 1, 2, 3, 5, 1000});
  c.successes_to_close = std::min(any_of<std::uint32_t>({0, 0, 1, 2, 1000}),
                                  c.probes);
  c.probe_timeout = any_of<duration>({1ms, 500ms, 1s, 2s, 1h});
  c.half_open_retry_after = any_of<duration>({1ms, 50ms, 600ms, 1h});
  c.half_open_max = any_of<duration>({1ms, 1s, 3s, unlimited, unlimited});
  // A probe that outlasts the state is refused, and so is a verdict on a state
  // without end.
  c.half_open_max = std::max(c.half_open_max, c.probe_timeout);
  if (c.half_open_max == unlimited)
    return s;
  c.after_half_open_max = any_of<breaker_verdict>(
    {breaker_verdict::open, breaker_verdict::closed});
  return s;
}

class breaker_steps : public policy_model<breaker> {
public:
  using settings = breaker_model_settings;

  // `other`: an attempt of a layer further in runs into a timeout.
  static constexpr step_shares shares{.arrive = 40,
                                      .end = 26,
                                      .abandon = 9,
                                      .advance = 14,
                                      .step_back = 2,
                                      .reconfigure = 3,
                                      .command = 3,
                                      .other = 3};
  static constexpr int longest = 600;

  static const breaker_config& config_of(const settings& s) { return s.base; }

  static settings any_settings() { return any_breaker_settings(); }

  // Mostly the newest call, now and then a random one.
  static std::size_t choice(const operation& x, std::size_t n) {
    return x.which % 3 == 0 ? x.which / 3 % n : n - 1;
  }

  static ending<verdict> how_it_ends(const operation& x) {
    return one_of<ending<verdict>>(
      {{outcome::success(), verdict::success},
       {outcome::success(), verdict::success},
       {outcome::failure(errc::worker_down, true), verdict::transient},
       {outcome::failure(errc::worker_down, true), verdict::transient},
       {outcome::failure(errc::rate_limited, false), verdict::refused},
       {outcome::failure(errc::shed, true), verdict::neutral}},
      x.how);
  }

  static errc why_it_leaves(const operation& x) {
    return one_of({errc::deadline_exceeded, errc::cancelled}, x.how);
  }

  static duration length(const operation& x) {
    using namespace std::chrono_literals;
    return one_of<duration>(
      {0ns, 1ns, 1ms, 250ms, 500ms, 500ms - 1ns, 1s, 1s - 1ns, 2s, 10s, 2h},
      x.how);
  }

  static policy_command some_command(const operation& x) {
    using namespace std::chrono_literals;
    using enum operator_command;
    return one_of<policy_command>({force_open,
                                   force_closed,
                                   reset,
                                   enable,
                                   enable,
                                   {force_open, 500ms},
                                   {force_closed, 2s}},
                                  x.how);
  }

  /// Of the changes since the last look, the first of which begins at `state`.
  void check_changes(const rig& real, std::string& state) {
    for (; seen_ < real.e.reports.size(); ++seen_)
      check_change(real.e.reports[seen_], state);
  }

private:
  // Each change begins where the last one ended, and goes only where it may.
  static void check_change(const std::string& report, std::string& state) {
    static const std::set<std::string> automatic = {
      "closed>open", "open>half_open",  "half_open>open", "half_open>closed",
      "open>closed", "closed>half_open"}; // the last two by reset
    const std::string prefix = "state_changed:";
    if (!report.starts_with(prefix))
      return;
    auto change = report.substr(prefix.size());
    auto from = change.substr(0, change.find('>'));
    auto to = change.substr(change.find('>') + 1);
    RC_ASSERT(from == state);
    RC_ASSERT(from != to);
    RC_ASSERT(from.starts_with("forced") || to.starts_with("forced")
              || automatic.contains(change));
    state = to;
  }

  std::size_t seen_ = 0;
};

} // namespace caisson::test
