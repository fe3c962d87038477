#include <caisson/policies/retrier/retrier_config.hpp>

#include <caisson/policy/policy_config.hpp>
#include <caisson/policy/schedule_settings.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

namespace caisson {

using namespace std::chrono_literals;

// -- fields -------------------------------------------------------------------

namespace {

void describe_budget(field_visitor& v, retrier_config& c) {
  v.on({"budget", "whether retries are limited to a share of the traffic"},
       c.budget);
  v.on({"budget_ratio",
        "how many retries each first attempt pays for; 0: only "
        "the reserve",
        "retries"},
       c.budget_ratio, {0.0, 1.0});
  v.integer<std::uint32_t>({"budget_reserve",
                            "how many retries are paid for in any case",
                            "retries per second"},
                           c.budget_reserve, {0, 1'000'000});
  v.on({"budget_ttl", "how long attempts and retries count in the budget"},
       c.budget_ttl, {1s, 60s});
  v.integer<std::uint32_t>({"budget_cost",
                            "how many retries one counts as, unless it follows "
                            "a deadline_exceeded or an overload",
                            "retries"},
                           c.budget_cost, {1, 100});
  v.integer<std::uint32_t>({"budget_timeout_cost",
                            "how many retries one counts as that follows a "
                            "deadline_exceeded",
                            "retries"},
                           c.budget_timeout_cost, {1, 100});
  v.integer<std::uint32_t>({"budget_overload_cost",
                            "how many retries one counts as that follows an "
                            "overload",
                            "retries"},
                           c.budget_overload_cost, {1, 100});
  v.integer<std::uint32_t>({"budget_rejection_cost",
                            "how many retries a call counts as that a breaker "
                            "or a limiter further in rejected; 0: none",
                            "retries"},
                           c.budget_rejection_cost, {0, 100});
  v.on({"budget_name", "retriers with the same name in one actor system share "
                       "a budget, whose limits are those of the first; empty: "
                       "a budget of its own"},
       c.budget_name);
  v.on({"unsafe", "whether more than 3 attempts without a pause and without a "
                  "budget are allowed"},
       c.unsafe);
}

void describe_verifier(field_visitor& v, retrier_config& c) {
  v.on(
    {"verify_timeout", "with a verifier: how long one verification may take"},
    c.verify_timeout, {1ms, 1h});
  v.integer<std::uint32_t>({"verify_attempts",
                            "with a verifier: how often to verify at most",
                            "verifications"},
                           c.verify_attempts, {1, 100});
  v.on({"verify_pause", "with a verifier: how long to wait before the second "
                        "verification; then twice as long each time"},
       c.verify_pause, {1ms, 1h});
}

void describe_alarm(field_visitor& v, retrier_config& c) {
  v.on({"alarm_first_try", "raises the alarm when a smaller share of first "
                           "attempts succeeds, although at least this share "
                           "of calls does; 0: no alarm"},
       c.alarm_first_try, {0.0, 1.0});
  v.on({"alarm_window", "the time over which these shares are measured"},
       c.alarm_window, {1s, 1h});
  v.integer<std::uint32_t>({"alarm_minimum_calls",
                            "with fewer calls in the window the shares are "
                            "unknown",
                            "calls"},
                           c.alarm_minimum_calls, {1, 1'000'000});
}

} // namespace

void describe(field_visitor& v, retrier_config& c) {
  describe_common(v, c);
  v.integer<std::uint32_t>({"max_attempts",
                            "how often a call is attempted at most, the first "
                            "time included; 0: until its deadline",
                            "attempts"},
                           c.max_attempts, {0, most_attempts});
  v.on({"backoff", "how long to wait before each further attempt; when it is "
                   "exhausted, so are the retries"},
       c.backoff);
  v.on({"retry_after_cap", "the longest wait that an answer may ask for; after "
                           "a longer one there is no retry"},
       c.retry_after_cap, {duration::zero(), unlimited});
  v.on({"retry_after_margin", "how much longer than the delay of `backoff` a "
                              "wait may become because an answer asks for it"},
       c.retry_after_margin, {duration::zero(), unlimited});
  v.on({"overload_factor", "how many times the delay of `backoff` to wait "
                           "after an overload"},
       c.overload_factor, {1.0, 1'000.0});
  v.on({"idempotent", "whether a call that is not marked may be carried out "
                      "twice"},
       c.idempotent);
  v.on({"idempotency_keys", "whether calls without an idempotency key get one "
                            "for all their attempts"},
       c.idempotency_keys);
  v.on({"heed_breakers", "no retries while a breaker of the gate is open, and "
                         "at most one for each call while it is half-open"},
       c.heed_breakers);
  v.on({"retry_on", "errors that are retried, and no others; empty: as in the "
                    "default table"},
       c.classify.allow);
  v.on({"fail_on", "errors that are not retried, whatever `retry_on` says"},
       c.classify.deny);
  describe_budget(v, c);
  describe_verifier(v, c);
  describe_alarm(v, c);
}

// -- delays -------------------------------------------------------------------

namespace {

using shape = schedule::shape;

// How many delays the segment has for certain: a function or a sum may end it
// early. 0: it is endless, or unknown.
std::uint64_t certain_delays(const schedule::segment& s) {
  if (s.kind == shape::custom || s.until != unlimited)
    return 0;
  if (s.kind != shape::list)
    return s.take;
  auto n = std::uint64_t{s.delays.size()};
  return s.take == 0 ? n : std::min<std::uint64_t>(n, s.take);
}

// With how many retries each part of the schedule has come into use, as far as
// that is certain.
std::uint64_t retries_used_by(const schedule& s) {
  std::uint64_t n = 0;
  for (const auto& part : s.segments()) {
    auto certain = part.kind != shape::custom && part.until == unlimited;
    auto last = &part == &s.segments().back();
    if (auto sure = certain_delays(part); sure != 0)
      n += sure;
    else if (certain || last)
      ++n;
  }
  return n;
}

// The same schedule without its random or unknown parts.
schedule plain(const schedule& s) {
  std::vector<schedule::segment> out;
  for (auto part : s.segments()) {
    if (part.kind == shape::custom)
      continue;
    // The sum of random delays is not known.
    if (part.kind == shape::decorrelated || part.spread != jitter::none)
      part.until = unlimited;
    if (part.kind == shape::decorrelated)
      part.kind = shape::constant;
    part.spread = jitter::none;
    out.push_back(std::move(part));
  }
  return schedule{std::move(out)};
}

} // namespace

std::uint32_t hasty_retries(const schedule& s, std::uint32_t n,
                            std::uint32_t enough) {
  auto delays = plain(s);
  schedule::cursor at;
  random_source unused{1};
  std::uint32_t out = 0;
  for (std::uint32_t i = 0; i < n && out < enough; ++i) {
    auto delay = delays.next(at, unused);
    if (!delay)
      break;
    out += *delay < shortest_pause ? 1 : 0;
  }
  return out;
}

// -- relations ----------------------------------------------------------------

namespace {

void check_backoff(const retrier_config& c, const setting_path& path,
                   problems& out) {
  if (c.max_attempts > 1) {
    auto retries = c.max_attempts - 1;
    if (auto n = retries_used_by(c.backoff); n > retries)
      out.push_back({problem_kind::relation, path / "backoff",
                     fmt::format("has delays for {} retries or more, but "
                                 "max_attempts is {}, allowed: delays for 1 to "
                                 "{}, or max_attempts of at least {}",
                                 n, c.max_attempts, retries, n + 1)});
  }
  if (c.budget || c.unsafe)
    return;
  auto retries = c.max_attempts == 0 ? most_attempts : c.max_attempts - 1;
  // So many retries are one attempt more than may be hasty.
  if (hasty_retries(c.backoff, retries, most_hasty_attempts)
      < most_hasty_attempts)
    return;
  out.push_back(
    {problem_kind::relation, path / "backoff",
     fmt::format("allows more than {} attempts without a pause of {} and "
                 "without a budget, which multiply the load of a worker that "
                 "fails, allowed: longer delays, budget = true, max_attempts "
                 "of 1 to {}, or unsafe = true",
                 most_hasty_attempts, to_text(shortest_pause),
                 most_hasty_attempts)});
}

// Without deposits, nothing can be paid for that costs more than the reserve.
void check_costs(const retrier_config& c, const setting_path& path,
                 problems& out) {
  auto check_one = [&](std::string_view name, std::uint32_t cost) {
    // In nanoseconds: the reserve is per second. Not multiplied by the time,
    // which may be out of range.
    auto needed = std::int64_t{cost} * 1'000'000'000;
    auto reserve = std::int64_t{c.budget_reserve};
    if (needed > 0
        && (reserve == 0 || c.budget_ttl.count() <= (needed - 1) / reserve))
      out.push_back({problem_kind::relation, path / name,
                     fmt::format("{} is more than the whole reserve, which is "
                                 "all there is with a budget_ratio of 0, "
                                 "allowed: budget_reserve · budget_ttl in "
                                 "seconds",
                                 cost)});
  };
  check_one("budget_cost", c.budget_cost);
  check_one("budget_timeout_cost", c.budget_timeout_cost);
  check_one("budget_overload_cost", c.budget_overload_cost);
}

void check_budget(const retrier_config& c, const setting_path& path,
                  problems& out) {
  if (!c.budget || c.budget_ratio >= 0.000'000'5)
    return;
  if (c.budget_reserve == 0)
    out.push_back({problem_kind::relation, path / "budget_ratio",
                   fmt::format("{} pays for no retry ever, and budget_reserve "
                               "is 0, allowed: 0.000001 to 1, or "
                               "budget_reserve of at least 1",
                               to_text(c.budget_ratio))});
  else
    check_costs(c, path, out);
}

} // namespace

void check(const retrier_config& c, const setting_path& path, problems& out) {
  // With a single attempt retries are switched off, whatever the rest says.
  if (c.max_attempts != 1) {
    check_backoff(c, path, out);
    check_budget(c, path, out);
  }
  check_lists(c.classify, "retry_on", "fail_on", path, out);
}

void check_per_key(const retrier_config& c, const setting_path& path,
                   problems& out) {
  if (!c.budget_name.empty())
    out.push_back({problem_kind::relation, path / "budget_name",
                   "each key has a budget of its own: there can be no shared "
                   "one beside per_key"});
}

} // namespace caisson
