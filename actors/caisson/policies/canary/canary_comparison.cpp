#include <caisson/policies/canary/canary_comparison.hpp>

#include <caisson/base/ensure.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace caisson::detail {

namespace {

// Rates are sums and quotients of doubles: what is equal on paper must not be
// larger here.
constexpr double excess_rounding = 1e-9;

double quotient(std::int64_t part, std::int64_t all) {
  return static_cast<double>(part) / static_cast<double>(all);
}

// The most that the probability can be that a share of `x` or more of `trials`
// hit, if each does so with the probability `p`: Chernoff's bound
// exp(-trials · D), where D is the relative entropy of x to p (Hoeffding 1963,
// theorem 1, and section 6 for draws without replacement: whose answers the
// failures are).
double chance_of(double x, std::int64_t trials, double p) {
  if (x <= p)
    return 1;
  auto term = [](double a, double b) {
    return a > 0 ? a * std::log(a / b) : 0;
  };
  auto entropy = term(x, p) + term(1 - x, 1 - p);
  return std::min(1.0, std::exp(-static_cast<double>(trials) * entropy));
}

} // namespace

// -- what comes in ------------------------------------------------------------

void canary_comparison::restart(const canary_rules& c, time_point now) {
  keep_baseline(c);
  before_ = {};
  present_ = {};
  present_since_ = now;
  next_comparison_ = 0;
  undecided_at_.reset();
}

void canary_comparison::add_canary(bool failed, std::optional<duration> took,
                                   const canary_rules& c, time_point now) {
  roll(c, now);
  present_.canary.add(failed, took);
}

void canary_comparison::add_baseline(bool failed, std::optional<duration> took,
                                     const canary_rules& c, time_point now) {
  roll(c, now);
  present_.baseline.add(failed, took);
}

void canary_comparison::roll(const canary_rules& c, time_point now) {
  if (now < time_after(present_since_, c.window / 2)
      || present_.canary.answers < c.min_calls)
    return;
  const auto& x = present_.canary;
  CAISSON_ENSURE(x.failures <= x.answers && x.slow <= x.timed,
                 "{} of {} answers are failures, {} of {} slow", x.failures,
                 x.answers, x.slow, x.timed);
  keep_baseline(c);
  before_ = std::exchange(present_, {});
  present_since_ = now;
  next_comparison_ = 0;
}

// -- what is known ------------------------------------------------------------

canary_comparison::summary
canary_comparison::sum_of(const side& a, const side& b, const canary_rules& c) {
  auto out = counts_of(a, b);
  if (out.latencies < c.min_calls)
    return out;
  auto all = a.latencies;
  all.merge(b.latencies);
  out.slowest = all.quantile(0.99);
  return out;
}

canary_comparison::summary
canary_comparison::canary(const canary_rules& c) const {
  return sum_of(before_.canary, present_.canary, c);
}

std::optional<canary_comparison::summary>
canary_comparison::baseline(const canary_rules& c) const {
  return knows_baseline(c) ? sum_of(before_.baseline, present_.baseline, c)
                           : kept_;
}

bool canary_comparison::knows_baseline(const canary_rules& c) const {
  return before_.baseline.answers + present_.baseline.answers >= c.min_calls;
}

void canary_comparison::keep_baseline(const canary_rules& c) {
  kept_ = baseline(c);
}

void canary_comparison::list_gauges(const canary_rules& c,
                                    std::vector<metric>& out) const {
  auto failing = [](const std::optional<summary>& x) {
    return x ? x->failures * 1000 / x->answers : -1;
  };
  auto slowest = [](const std::optional<summary>& x) {
    return x && x->slowest ? x->slowest->count() / 1000 : -1;
  };
  auto of_canary = answers() < c.min_calls ? std::nullopt
                                           : std::optional{canary(c)};
  auto of_baseline = baseline(c);
  out.push_back({"canary_failure_permille", failing(of_canary), true});
  out.push_back({"baseline_failure_permille", failing(of_baseline), true});
  out.push_back({"canary_tail_us", slowest(of_canary), true});
  out.push_back({"baseline_tail_us", slowest(of_baseline), true});
  auto [timed, slow] = timed_and_slow();
  out.push_back(
    {"canary_slow_permille",
     c.max_p99 != unlimited && timed >= c.min_calls ? slow * 1000 / timed : -1,
     true});
}

// -- what follows from it -----------------------------------------------------

std::string canary_comparison::worse_in(const canary_rules& c, old_latency old,
                                        bool thoroughly, time_point now) {
  auto n = answers();
  if (n >= c.min_calls)
    if (auto why = fails_more(c, now); !why.empty())
      return why;
  if (auto why = is_too_slow(c); !why.empty())
    return why;
  if (n < c.min_calls)
    return {};
  if (!thoroughly && n < next_comparison_)
    return {};
  next_comparison_ = n + std::max<std::int64_t>(n / 100, 1);
  return is_slower(c, old, now);
}

std::string canary_comparison::fails_more(const canary_rules& c,
                                          time_point now) {
  auto of_canary = counts_of(before_.canary, present_.canary);
  // A baseline of which nothing is known is taken for one that never fails.
  auto of_baseline = knows_baseline(c)
                       ? counts_of(before_.baseline, present_.baseline)
                       : kept_.value_or(summary{});
  if (of_canary.failure_rate() - of_baseline.failure_rate()
      <= c.max_error_excess + excess_rounding)
    return {};
  auto failures = of_canary.failures + of_baseline.failures;
  auto share = quotient(of_canary.answers,
                        of_canary.answers + of_baseline.answers);
  if (of_baseline.answers > 0
      && chance_of(quotient(of_canary.failures, failures), failures, share)
           > c.significance_level) {
    undecided_at_ = now;
    return {};
  }
  return fmt::format("failure rate {:.3f}, baseline {:.3f}",
                     of_canary.failure_rate(), of_baseline.failure_rate());
}

std::pair<std::int64_t, std::int64_t>
canary_comparison::timed_and_slow() const {
  const auto& a = before_.canary;
  const auto& b = present_.canary;
  return {a.timed + b.timed, a.slow + b.slow};
}

// Exact, unlike percentiles of a histogram.
std::string canary_comparison::is_too_slow(const canary_rules& c) const {
  auto [timed, slow] = timed_and_slow();
  if (c.max_p99 == unlimited || timed < c.min_calls || slow * 100 <= timed)
    return {};
  return fmt::format("99th percentile above {}: {} of {} calls took longer",
                     rounded_text(c.max_p99), slow, timed);
}

std::string canary_comparison::is_slower(const canary_rules& c, old_latency old,
                                         time_point now) {
  if (old == old_latency::ignored && !knows_baseline(c))
    return {};
  auto of_canary = canary(c).slowest;
  auto other = baseline(c);
  if (!of_canary || !other || !other->slowest)
    return {};
  auto of_baseline = *other->slowest;
  auto longest = std::max(duration_times(of_baseline, c.max_latency_ratio),
                          duration_sum(of_baseline, c.min_latency_excess));
  if (*of_canary <= longest)
    return {};
  // Of a canary like the baseline, at most one in a hundred is longer, as far
  // as the baseline's answers tell.
  auto all = before_.canary.latencies;
  all.merge(present_.canary.latencies);
  auto count = static_cast<std::int64_t>(all.count());
  auto bound = histogram::bucket_end(longest);
  auto shorter = static_cast<std::int64_t>(all.cumulative({&bound, 1})[0]);
  if (chance_of(quotient(count - shorter, count),
                std::min(count, other->latencies), 0.01)
      > c.significance_level) {
    undecided_at_ = now;
    return {};
  }
  return fmt::format("99th percentile {}, baseline {}",
                     rounded_text(*of_canary), rounded_text(of_baseline));
}

} // namespace caisson::detail
