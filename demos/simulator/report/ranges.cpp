#include <simulator/report/ranges.hpp>

#include <simulator/report/metric_parts.hpp>
#include <simulator/scenario/faults.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>

namespace caisson::sim {

namespace {

std::uint32_t as_second(std::int64_t s) {
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(s, 0, one_row));
}

// Those of the wrong kind are reported elsewhere.
std::optional<second_range> range_of(const metric_bound& b, duration length) {
  try {
    auto span = span_between(length, b.from, b.to);
    return span.whole ? std::nullopt : std::optional{span.seconds()};
  } catch (const std::invalid_argument&) {
    return std::nullopt;
  }
}

bool consists_of_rows(const arm_result& r, second_range range) {
  auto ends = [&](std::uint32_t second) { return second % r.step == 0; };
  return ends(range.from)
         && (ends(range.to)
             || duration{std::chrono::seconds{range.to}} >= r.end);
}

} // namespace

second_range seconds_between(duration from, duration to) {
  using std::chrono::seconds;
  auto begin = as_second(std::chrono::ceil<seconds>(from).count());
  auto end = as_second(std::chrono::floor<seconds>(to).count());
  return {begin, std::max(begin, end)};
}

second_range last_seconds(duration length, duration warmup,
                          std::optional<duration> recovery_from) {
  using namespace std::chrono_literals;
  auto from = length - std::clamp<duration>(length / 10, 5s, 30s);
  return seconds_between(
    std::max({from, recovery_from.value_or(duration::zero()), warmup}), length);
}

std::optional<second_range> healthy_seconds(const arm_config& arm) {
  auto first = first_planned_fault(arm);
  if (!first)
    return std::nullopt;
  return seconds_between(arm.warmup, *first);
}

std::vector<second_range> watched_ranges(const arm_config& arm) {
  std::vector<second_range> out{
    last_seconds(arm.length, arm.warmup, recovery_start(arm))};
  if (auto healthy = healthy_seconds(arm))
    out.push_back(*healthy);
  for (const auto& b : arm.expect.bounds)
    if (auto range = range_of(b, arm.length))
      out.push_back(*range);
  std::ranges::sort(out);
  auto same = std::unique(out.begin(), out.end());
  out.erase(same, out.end());
  return out;
}

range_sums sums_in(const arm_result& r, second_range range) {
  auto kept = std::ranges::find(r.ranges, range, &range_sums::range);
  if (kept != r.ranges.end())
    return *kept;
  if (!consists_of_rows(r, range))
    throw std::invalid_argument{fmt::format(
      "from and to must be multiples of {}s, as rows are that long", r.step)};
  range_sums out{.range = range, .row = {}, .servers = {}};
  for (const auto& row : r.rows)
    if (row.second >= range.from && row.second < range.to)
      out.add(row, r.step);
  return out;
}

} // namespace caisson::sim
