#include <simulator/report/threshold_times.hpp>

#include <simulator/report/metric_parts.hpp>
#include <simulator/report/metrics.hpp>
#include <simulator/report/ranges.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <utility>

namespace caisson::sim {

namespace {

using namespace std::chrono_literals;

// As if a run of these names were no longer than a second, in which nothing
// has happened.
arm_result single_second(const arm_result& names) {
  arm_result out;
  out.length = 1s;
  out.loads = names.loads;
  out.services = names.services;
  out.edges = names.edges;
  out.gates = names.gates;
  // Whether there are latencies does not matter.
  out.latency.count = 1;
  for (const auto& [operation, ignored] : names.by_operation)
    out.by_operation[operation].count = 1;
  out.ranges.push_back(
    {.range = {0, 1}, .seconds = 1, .row = {}, .servers = {}});
  return out;
}

// The number of a second that has ended.
double second_metric(const arm_result& second, const threshold& p) {
  return metric_of(second, p.metric, 0s, 1s);
}

// Both by name: their place in the arm, and nothing if all replicas are meant.
std::pair<std::size_t, std::optional<std::uint32_t>>
place_of_level(const arm_result& names, std::string_view target) {
  auto number = target.find('#');
  auto service = std::ranges::find(names.services, target.substr(0, number),
                                   &service_summary::name);
  auto index = static_cast<std::size_t>(service - names.services.begin());
  if (number == target.npos)
    return {index, std::nullopt};
  auto replica = std::ranges::find(service->replicas, target,
                                   &service_summary::name);
  return {index,
          static_cast<std::uint32_t>(replica - service->replicas.begin())};
}

} // namespace

void check_threshold(const arm_result& names, const threshold& p) {
  if (auto l = level_of(p); !l.target.empty())
    // There is such a number of whatever has a level.
    (void)metric_of(names, fmt::format("service.{}.inside", l.target));
  else
    (void)second_metric(single_second(names), p);
}

threshold_watch::threshold_watch(const arm_config& arm,
                                 const std::vector<std::string>& metrics,
                                 run_recorder& recorder)
  : recorder_(recorder) {
  for (const auto& b : arm.expect.bounds)
    add(arm, b);
  for (const auto& name : metrics)
    add(arm, {.metric = name});
  if (!open_.empty())
    recorder_.emit_seconds([this](const auto& row) { second_ended(row); });
}

void threshold_watch::add(const arm_config& arm, const metric_bound& b) {
  auto known = [&](const entry& e) {
    return e.result.metric == b.metric && e.result.from == b.from
           && e.result.to == b.to;
  };
  if (!is_time_to_threshold(b.metric) || std::ranges::any_of(entries_, known))
    return;
  try {
    if (!names_)
      names_ = blank_result(arm);
    entry e{.result = {.metric = b.metric, .from = b.from, .to = b.to},
            .what = read_threshold(b.metric)};
    check_threshold(*names_, e.what);
    auto span = span_between(arm.length, b.from, b.to);
    e.from = span.whole ? arm.warmup : b.from.value_or(duration::zero());
    e.seconds = span.whole ? seconds_between(
                  arm.warmup,
                  std::chrono::ceil<std::chrono::seconds>(arm.length))
                           : span.seconds();
    entries_.push_back(std::move(e));
  } catch (const std::invalid_argument&) {
    return; // Reported by those who ask for the number.
  }
  auto& e = entries_.back();
  if (level_of(e.what).target.empty())
    open_.push_back(&e);
  else
    add_level(arm, e, b.to == unlimited ? arm.length : b.to);
}

void threshold_watch::add_level(const arm_config& arm, entry& e,
                                duration until) {
  e.goal = {level_of(e.what).count, until,
            std::make_shared<std::optional<duration>>()};
  if (e.from >= arm.length)
    return;
  levels_.push_back(&e);
  begins_.insert(e.from);
}

void threshold_watch::begin(duration at) {
  for (auto* e : levels_)
    if (e->from == at) {
      auto l = level_of(e->what);
      auto [service, replica] = place_of_level(*names_, l.target);
      recorder_.watch_level(service, replica, l.of, e->goal, at);
    }
}

void threshold_watch::second_ended(const result_row& row) {
  auto begun = [&](const entry* e) { return row.second >= e->seconds.from; };
  std::erase_if(open_,
                [&](const entry* e) { return row.second >= e->seconds.to; });
  if (std::ranges::none_of(open_, begun))
    return;
  if (!second_)
    second_ = single_second(*names_);
  second_->ranges.front().row = row;
  std::erase_if(open_, [&](entry* e) {
    if (!begun(e) || !e->what.holds(second_metric(*second_, e->what)))
      return false;
    e->result.at = std::chrono::seconds{row.second};
    return true;
  });
}

std::vector<threshold_time> threshold_watch::take() {
  std::vector<threshold_time> out;
  out.reserve(entries_.size());
  for (auto& e : entries_) {
    if (e.goal.at)
      e.result.at = *e.goal.at;
    out.push_back(std::move(e.result));
  }
  return out;
}

} // namespace caisson::sim
