#include <simulator/import/call_slots.hpp>

#include <simulator/import/call_pattern.hpp>

#include <algorithm>

namespace caisson::sim {

void slot_counter::add(std::uint32_t visit) {
  ++visits;
  auto calls = graph_.calls_of(visit);
  if (calls.empty())
    return;
  seen_.clear();
  placed_.clear();
  place_steps(calls);
  std::ranges::sort(placed_);
  count_pairs();
}

std::uint32_t slot_counter::slot_of(const visit_call& c) {
  auto& seen = seen_[c.operation];
  auto nth = std::min(seen.count, most_same_calls - 1);
  auto key = std::uint64_t{c.operation} << 32 | nth;
  auto [at, fresh] = numbers_.try_emplace(
    key, static_cast<std::uint32_t>(slots.size()));
  if (fresh)
    slots.push_back({.operation = c.operation, .nth = nth});
  auto& slot = slots[at->second];
  slot.visits += seen.count == nth;
  ++slot.calls;
  slot.overlaps += seen.count > 0 && c.start < seen.end;
  seen.end = seen.count == 0 ? c.end : std::max(seen.end, c.end);
  ++seen.count;
  return at->second;
}

// A call belongs to the same step as those before it if it begins before any of
// them has ended, or if it ends before the last of them.
void slot_counter::place_steps(std::span<const visit_call> calls) {
  std::uint32_t step = 0;
  auto begin = calls.front().start;
  auto first_end = calls.front().end;
  auto last_end = first_end;
  auto longest = std::int64_t{0};
  auto covered_until = begin;
  for (const auto& c : calls) {
    auto same = c.start == begin || c.start < first_end
                || (c.end <= last_end && c.start < last_end);
    if (!same) {
      ++step;
      step_time += static_cast<double>(longest);
      longest = 0;
      begin = c.start;
      first_end = last_end = c.end;
    }
    first_end = std::min(first_end, c.end);
    last_end = std::max(last_end, c.end);
    longest = std::max(longest, c.end - c.start);
    auto from = std::max(c.start, covered_until);
    if (c.end > from) {
      real_time += static_cast<double>(c.end - from);
      covered_until = c.end;
    }
    placed_.push_back({step, slot_of(c)});
  }
  step_time += static_cast<double>(longest);
}

void slot_counter::count_pairs() {
  for (std::size_t i = 1; i < placed_.size(); ++i) {
    auto a = placed_[i - 1];
    auto b = placed_[i];
    if (a.slot == b.slot)
      continue;
    auto& pair = pairs[{a.slot, b.slot}];
    if (a.step == b.step)
      ++pair.together;
    else
      ++pair.after;
  }
}

} // namespace caisson::sim
