#include <policies/breaker/model/breaker_model.hpp>
#include <policies/breaker/model/breaker_rig.hpp>

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

using breaker_op = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;

// -- what is drawn ------------------------------------------------------------

template <class T>
T one_of(std::vector<T> xs) {
  return *rc::gen::elementOf(xs);
}

// Settings from the edges of their ranges and from values so small that the
// boundaries are met often.
breaker_model::settings any_settings() {
  breaker_model::settings s;
  auto& c = s.base;
  using enum breaker_trip;
  c.trip = one_of<breaker_trips>(
    {consecutive, without_gap, rate_by_count, rate_by_time,
     breaker_trips{consecutive, rate_by_time},
     breaker_trips{without_gap, rate_by_count},
     breaker_trips{rate_by_count, rate_by_time},
     breaker_trips{consecutive, without_gap, rate_by_count, rate_by_time},
     breaker_trips{}});
  c.trip_if = one_of<breaker_join>(
    {breaker_join::any, breaker_join::any, breaker_join::all});
  c.slow_call = one_of<duration>({unlimited, unlimited, 1ms, 500ms, 1s, 3s});
  if (c.trip.empty() && c.slow_call == unlimited)
    c.slow_call = 1s;
  s.slow_permille = one_of<std::int64_t>({1, 333, 500, 1000});
  c.slow_rate = static_cast<double>(s.slow_permille) / 1000;
  c.ramp = one_of<duration>({0s, 0s, 1s, 3s});
  c.ramp_from = one_of<double>({0, 0.1, 0.5, 1});
  c.count_attempt_timeouts = one_of<bool>({true, false});
  c.initial = one_of<breaker_start>(
    {breaker_start::closed, breaker_start::closed, breaker_start::half_open});
  c.threshold = one_of<std::uint32_t>({1, 2, 3, 1'000'000});
  c.quiet_period = one_of<duration>({1ms, 500ms, 1s, 3s, unlimited});
  s.permille = one_of<std::int64_t>({1, 333, 400, 500, 500, 600, 1000});
  c.failure_rate = static_cast<double>(s.permille) / 1000;
  c.window_calls = one_of<std::uint32_t>({1, 2, 3, 5, 64, 65});
  c.window_time = one_of<duration>({1ms, 1s, 2s, 3s, 24h});
  c.window_buckets = one_of<std::uint32_t>({1, 2, 3, 7, 1000});
  c.minimum_calls = one_of<std::uint32_t>({1, 2, 3, 5, 1'000'000});
  c.slow_minimum_calls = one_of<std::uint32_t>({0, 0, 1, 4, 1'000'000});
  if (c.slow_call != unlimited || c.trip.has(rate_by_count)
      || c.trip.has(rate_by_time))
    s.limit_permille = one_of<std::int64_t>({10, 300, 500, 750, 1000, 1000});
  c.limit_at = static_cast<double>(s.limit_permille) / 1000;
  if (c.limit_at < 1)
    c.limit_floor = one_of<std::uint32_t>({1, 1, 2, 5, 1'000'000});
  s.delays = one_of<std::vector<duration>>(
    {{0s}, {1s}, {500ms, 1s, 2s}, {3s, 1s}, {2s, 2s, 5s}});
  c.open = schedule{};
  for (auto d : s.delays)
    c.open = c.open.empty() ? schedule::constant(d).take(1)
                            : c.open.then(schedule::constant(d).take(1));
  c.eager_half_open = one_of<bool>({false, true});
  c.probes = one_of<std::uint32_t>({1, 1, 2, 3, 5, 1000});
  c.successes_to_close = std::min(one_of<std::uint32_t>({0, 0, 1, 2, 1000}),
                                  c.probes);
  c.probe_timeout = one_of<duration>({1ms, 500ms, 1s, 2s, 1h});
  c.half_open_retry_after = one_of<duration>({1ms, 50ms, 600ms, 1h});
  c.half_open_max = one_of<duration>({1ms, 1s, 3s, unlimited, unlimited});
  // A probe that outlasts the state is refused, and so is a verdict on a state
  // without end.
  c.half_open_max = std::max(c.half_open_max, c.probe_timeout);
  if (c.half_open_max == unlimited)
    return s;
  c.after_half_open_max = one_of<breaker_verdict>(
    {breaker_verdict::open, breaker_verdict::closed});
  return s;
}

const std::vector<duration> breaker_steps = {
  0ns, 1ns, 1ms, 250ms, 500ms, 500ms - 1ns, 1s, 1s - 1ns, 2s, 10s, 2h};

// -- both side by side --------------------------------------------------------

struct breaker_twins {
  explicit breaker_twins(const breaker_model::settings& s)
    : real(s.base), model(s) {}

  bool arrive() {
    auto id = real.arrive();
    auto a = model.arrive(id, real.e.now);
    RC_ASSERT((real.where(id) == place::below) == a.passes);
    if (a.passes) {
      flying.push_back(id);
      return true;
    }
    RC_ASSERT(real.calls.at(id).code == errc::breaker_open);
    RC_ASSERT(real.calls.at(id).retry_after == a.retry_after);
    return false;
  }

  void end(std::size_t i, std::uint32_t how) {
    auto id = flying.at(i);
    flying.erase(flying.begin() + static_cast<std::ptrdiff_t>(i));
    auto now = real.e.now;
    switch (how % 8) {
      case 0:
      case 1:
        real.finish(id);
        model.result(id, verdict::success, now);
        break;
      case 2:
      case 3:
        real.fail(id);
        model.result(id, verdict::transient, now);
        break;
      case 4:
        real.fail(id, errc::rate_limited, false);
        model.result(id, verdict::refused, now);
        break;
      case 5:
        real.fail(id, errc::shed);
        model.result(id, verdict::neutral, now);
        break;
      case 6:
        real.abandon(id, errc::deadline_exceeded);
        model.result(id, verdict::transient, now);
        break;
      default:
        real.abandon(id, errc::cancelled);
        model.result(id, verdict::neutral, now);
    }
  }

  void advance(duration d) {
    model.advance_to(real.e.now + d);
    real.advance(d);
    // A wake-up that nobody asked for changes nothing.
    real.policy.wake(real.e);
    model.wake(real.e.now);
  }

  void command(std::uint32_t which) {
    auto now = real.e.now;
    switch (which % 7) {
      case 5:
        real.policy.command({operator_command::force_open, 500ms}, real.e);
        return model.force("forced_open", now, 500ms);
      case 6:
        real.policy.command({operator_command::force_closed, 2s}, real.e);
        return model.force("forced_closed", now, 2s);
      case 0:
        real.command(operator_command::force_open);
        return model.force("forced_open", now);
      case 1:
        real.command(operator_command::force_closed);
        return model.force("forced_closed", now);
      case 2:
        real.command(operator_command::reset);
        started = flying.size();
        return model.reset(now);
      default:
        real.command(operator_command::enable);
        return model.force("", now);
    }
  }

  void reconfigure(const breaker_model::settings& s) {
    auto now = real.e.now;
    real.change(s.base);
    model.reconfigure(s, now);
  }

  void compare() {
    RC_ASSERT(real.state() == model.state());
    RC_ASSERT(real.policy.circuit({}) == model.says());
    auto expected = model.n;
    for (auto& [name, value] : model.gauges(real.e.now))
      expected[name] = value;
    std::vector<metric> ms;
    real.policy.list_metrics(ms);
    for (auto& m : ms) {
      auto value = expected[std::string{m.name}];
      if (m.value != value)
        RC_FAIL(std::string{m.name} + " is " + std::to_string(m.value)
                + ", not " + std::to_string(value));
      expected.erase(std::string{m.name});
    }
    for (auto& [name, value] : expected)
      RC_ASSERT(value == 0);
    conserve();
  }

  // Each call that passed ends in exactly one counter, or is still below.
  void conserve() const {
    auto n = [&](auto... names) { return (real.count(names) + ...); };
    auto ended = n("successes", "failures", "neutral", "refused",
                   "late_results", "unjudged_results");
    auto passed = n("admitted", "probes", "forced_through");
    RC_ASSERT(passed + static_cast<std::int64_t>(started)
              == ended + static_cast<std::int64_t>(flying.size()));
  }

  breaker_rig real;
  breaker_model model;
  std::vector<call_id> flying;
  // How many calls were below at the last reset of the counters.
  std::size_t started = 0;
};

// Each change begins where the last one ended, and goes only where it may.
void check_changes(std::string at, const strings& changes) {
  const std::set<std::string> automatic = {
    "closed>open", "open>half_open",  "half_open>open", "half_open>closed",
    "open>closed", "closed>half_open"}; // the last two by reset
  for (auto& change : changes) {
    auto arrow = change.find('>');
    auto from = change.substr(0, arrow);
    auto to = change.substr(arrow + 1);
    RC_ASSERT(from == at);
    RC_ASSERT(from != to);
    auto forced = from.starts_with("forced") || to.starts_with("forced");
    RC_ASSERT(forced || automatic.contains(change));
    at = to;
  }
}

// -- properties ---------------------------------------------------------------

RC_GTEST_PROP(breaker_property, does_as_the_naive_model_does, ()) {
  breaker_twins p{any_settings()};
  auto begin = p.real.state();
  auto ops = *rc::gen::resize(
    600, rc::gen::container<std::vector<breaker_op>>(
           rc::gen::tuple(rc::gen::inRange<std::uint32_t>(0, 100),
                          rc::gen::inRange<std::uint32_t>(0, 1000),
                          rc::gen::inRange<std::uint32_t>(0, 1000))));
  for (auto [what, a, b] : ops) {
    if (what < 40) {
      p.arrive();
    } else if (what < 75) {
      // Mostly the newest call, now and then a random one.
      auto n = p.flying.size();
      if (n > 0)
        p.end(a % 3 == 0 ? b % n : n - 1, a / 3);
    } else if (what < 78) {
      p.real.policy.attempt_timed_out({}, p.real.e);
      p.model.attempt_timed_out(p.real.e.now);
    } else if (what < 92) {
      p.advance(breaker_steps[a % breaker_steps.size()]);
    } else if (what < 94) {
      auto back = breaker_steps[a % breaker_steps.size()];
      p.real.set_clock(p.real.now() > back ? p.real.now() - back : 0ns);
    } else if (what < 97) {
      p.command(a);
    } else {
      p.reconfigure(any_settings());
    }
    p.compare();
  }
  check_changes(begin, p.real.changes());
}

// However calls and workers behaved before: a worker that is back is found.
RC_GTEST_PROP(breaker_property, is_never_stuck, ()) {
  auto s = any_settings();
  breaker_twins p{s};
  auto ops = *rc::gen::resize(
    100, rc::gen::container<std::vector<breaker_op>>(
           rc::gen::tuple(rc::gen::inRange<std::uint32_t>(0, 3),
                          rc::gen::inRange<std::uint32_t>(0, 1000),
                          rc::gen::inRange<std::uint32_t>(0, 1000))));
  for (auto [what, a, b] : ops) {
    if (what == 0)
      p.arrive();
    else if (what == 1 && !p.flying.empty())
      p.end(a % p.flying.size(), b);
    else
      p.advance(breaker_steps[a % breaker_steps.size()]);
  }
  // Those still in flight never report. All leases and intervals end.
  p.advance(2h);
  p.advance(2h);
  std::uint32_t calls = 0;
  while (p.real.state() != "closed") {
    RC_ASSERT(++calls <= 2 * s.base.probes + 2);
    if (p.arrive())
      p.end(p.flying.size() - 1, 0);
    else
      p.advance(2h);
    p.compare();
  }
}

// In one half-open epoch no more probes are judged or in flight than allowed.
RC_GTEST_PROP(breaker_property, never_admits_more_probes_than_allowed, ()) {
  auto s = any_settings();
  s.base.trip = breaker_trip::consecutive;
  s.base.limit_at = 1;
  s.limit_permille = 1000;
  s.base.limit_floor = 1;
  s.base.threshold = 1;
  s.base.probes = one_of<std::uint32_t>({1, 2, 5});
  s.base.successes_to_close = std::min(s.base.successes_to_close,
                                       s.base.probes);
  breaker_twins p{s};
  auto ops = *rc::gen::container<std::vector<std::pair<bool, std::uint8_t>>>(
    rc::gen::arbitrary<std::pair<bool, std::uint8_t>>());
  std::int64_t probes_before = 0, returned_before = 0, epochs = 0;
  for (auto [arrives, a] : ops) {
    if (arrives)
      p.arrive();
    else if (!p.flying.empty())
      p.end(a % p.flying.size(), a);
    else
      p.advance(breaker_steps[a % breaker_steps.size()]);
    if (auto n = p.real.count("half_opened"); n != epochs) {
      epochs = n;
      // The call that ended the interval may be the new epoch's first probe.
      probes_before = p.real.count("probes") - p.real.count("probes_in_flight");
      returned_before = p.real.count("probes_returned");
    }
    if (p.real.state() == "half_open")
      RC_ASSERT(p.real.count("probes") - probes_before
                  - (p.real.count("probes_returned") - returned_before)
                <= static_cast<std::int64_t>(s.base.probes));
  }
}

} // namespace
} // namespace caisson::test
