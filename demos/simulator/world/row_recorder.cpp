#include <simulator/world/row_recorder.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

namespace caisson::sim {

row_recorder::row_recorder(duration length)
  : most_tallies_(static_cast<std::size_t>(
    std::chrono::ceil<std::chrono::seconds>(length).count())) {
  tallies_.reserve(most_tallies_);
}

void row_recorder::watch(const std::vector<second_range>& ranges) {
  for (const auto& range : ranges)
    ranges_.push_back({.range = range, .row = {}, .servers = {}});
}

bool row_recorder::end_second(result_row second, const second_tally& tally) {
  if (tallies_.size() < most_tallies_)
    tallies_.push_back(tally);
  second.second = seconds_;
  for (auto& x : ranges_)
    if (seconds_ >= x.range.from && seconds_ < x.range.to)
      x.add(second, 1);
  if (open_)
    join(row_, second);
  else
    row_ = std::move(second);
  open_ = true;
  ++seconds_;
  return seconds_ % step_ == 0;
}

void row_recorder::prompt(std::uint32_t i, bool in_drain) {
  if (i < tallies_.size())
    ++(in_drain ? tallies_[i].prompt_in_drain : tallies_[i].prompt);
  if (!in_drain)
    ++(i / step_ < rows_.size() ? rows_[i / step_] : row_).prompt;
}

void row_recorder::end_row(const latency_summary& latency) {
  if (!open_)
    return;
  row_.latency = latency;
  rows_.push_back(std::exchange(row_, {}));
  open_ = false;
}

void row_recorder::move_to(arm_result& r) {
  r.rows = std::move(rows_);
  r.tallies = std::move(tallies_);
  r.ranges = std::move(ranges_);
  most_tallies_ = 0;
}

} // namespace caisson::sim
