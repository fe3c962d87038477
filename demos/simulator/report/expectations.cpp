#include <simulator/report/expectations.hpp>

#include <simulator/report/blank_result.hpp>
#include <simulator/report/metrics.hpp>
#include <simulator/report/violations.hpp>
#include <simulator/scenario/threshold.hpp>
#include <simulator/world/arm_gates.hpp>

#include <caisson/settings/settings_text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace caisson::sim {

namespace {

constexpr auto no_bound = std::numeric_limits<double>::infinity();

bool within(double x, const metric_bound& b) {
  return x >= b.min && x <= b.max;
}

std::string short_text(double x) {
  return std::isinf(x) ? "infinite" : fmt::format("{:.6g}", x);
}

// Six digits, unless they would look as if the bound were kept.
std::string value_text(double x, const metric_bound& b) {
  auto text = short_text(x);
  double read = 0;
  if (detail::read_number(text, read) == detail::read_result::good
      && within(read, b))
    return to_text(x);
  return text;
}

std::string bound_text(const metric_bound& b) {
  if (b.max == no_bound)
    return "at least " + to_text(b.min);
  if (b.min == -no_bound)
    return "at most " + to_text(b.max);
  return fmt::format("{} to {}", to_text(b.min), to_text(b.max));
}

std::string time_text(const metric_bound& b) {
  if (!b.from && b.to == unlimited)
    return {};
  auto from = to_text(b.from.value_or(duration::zero()));
  if (b.to == unlimited)
    return fmt::format(" from {} on", from);
  return fmt::format(" from {} to {}", from, to_text(b.to));
}

// What is wrong; empty if nothing is.
std::string failure(const metric_bound& b, const arm_result& r) {
  try {
    auto x = metric_of(r, b.metric, b.from, b.to);
    if (within(x, b))
      return {};
    return fmt::format("{}{} is {}, expected {}", b.metric, time_text(b),
                       value_text(x, b), bound_text(b));
  } catch (const std::invalid_argument& e) {
    return fmt::format("{} has no value: {}", b.metric, e.what());
  }
}

// Only a world knows its gates and what they count.
bool is_of_gate(const metric_bound& b) {
  return b.metric.starts_with("gate.")
         || (is_time_to_threshold(b.metric)
             && b.metric.find("gate.") != std::string::npos);
}

// A run that had nothing to recover from is as well as one that did.
bool is_met(verdict_kind target, verdict_kind v) {
  return v == target
         || (target == verdict_kind::recovered && v == verdict_kind::no_fault);
}

} // namespace

std::vector<std::string> failed_expectations(const arm_config& c,
                                             const arm_result& r) {
  std::vector<std::string> out;
  if (c.expect.verdict && !is_met(*c.expect.verdict, r.verdict))
    out.push_back(fmt::format("arm {}: verdict is {}, expected {}", r.name,
                              verdict_name(r.verdict),
                              verdict_name(*c.expect.verdict)));
  for (const auto& b : c.expect.bounds) {
    auto text = failure(b, r);
    if (text.empty())
      continue;
    auto place = b.place.empty() ? "" : fmt::format(" ({})", b.place);
    out.push_back(fmt::format("arm {}: {}{}", r.name, text, place));
  }
  return out;
}

problems expectation_problems(const arm_config& arm) {
  auto blank = blank_result(arm);
  if (std::ranges::any_of(arm.expect.bounds, is_of_gate))
    blank.gates = gates_of(arm);
  problems out;
  for (const auto& b : arm.expect.bounds) {
    try {
      if (is_time_to_threshold(b.metric))
        blank.threshold_times = {{b.metric, b.from, b.to, {}}};
      (void)metric_of(blank, b.metric, b.from, b.to);
    } catch (const std::invalid_argument& e) {
      out.push_back({problem_kind::range, b.key,
                     fmt::format("{}: {}", b.metric, e.what()), b.place});
    }
  }
  return out;
}

std::vector<std::string> failed_checks(const arm_result& r) {
  std::vector<std::string> out;
  for (const auto& x : violations_of(r))
    out.push_back(fmt::format("arm {}: {}", r.name, x.text));
  return out;
}

} // namespace caisson::sim
