#include <simulator/world/work_clock.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace caisson::sim {

namespace {

// Ends that are not farther from each other than rounding can make them are the
// same one: parts of a nanosecond are compared in steps of this.
constexpr double tick = 1.0 / 65536;

// Factors of faults multiply without bound, but none may become 0.
constexpr double least_stretch = 1e-100;

// Below what a time can be, as a number that is exact.
constexpr double most_time = 9.2e18;

std::int64_t time_sum(std::int64_t a, std::int64_t b) {
  return duration_sum(duration{a}, duration{b}).count();
}

} // namespace

double work_clock::whole_stretch() const {
  auto n = static_cast<double>(pieces_.size());
  auto shared = cores_ == no_limit ? 1.0 : std::max(1.0, n / cores_);
  return shared * stretch_;
}

void work_clock::advance(time_point now) {
  auto passed = static_cast<double>((now - at_).count());
  at_ = now;
  auto done = passed / whole_stretch();
  auto whole = std::floor(std::min(done, most_time));
  whole_ = time_sum(whole_, static_cast<std::int64_t>(whole));
  part_ += std::min(done, most_time) - whole;
  if (part_ >= 1) {
    part_ -= 1;
    whole_ = time_sum(whole_, 1);
  }
}

work_clock::handle work_clock::begin(time_point now, std::uint64_t payload,
                                     duration length) {
  advance(now);
  if (pieces_.empty()) {
    whole_ = 0;
    part_ = 0;
  }
  handle out;
  out.whole = time_sum(whole_, length.count());
  out.part = std::round(part_ / tick) * tick;
  if (out.part >= 1) {
    out.part = 0;
    out.whole = time_sum(out.whole, 1);
  }
  out.order = ++begun_;
  pieces_.emplace(out, payload);
  return out;
}

bool work_clock::cancel(time_point now, const handle& piece) {
  advance(now);
  return pieces_.erase(piece) > 0;
}

void work_clock::set_stretch(time_point now, double stretch) {
  advance(now);
  stretch_ = std::max(stretch, least_stretch);
}

time_point work_clock::next() const {
  if (pieces_.empty())
    return never;
  const auto& end = pieces_.begin()->first;
  auto left = static_cast<double>(end.whole - whole_) + (end.part - part_);
  auto takes = std::max(left, 0.0) * whole_stretch();
  // Not for what stands still, either, not even if nothing is left to do.
  if (!(takes < most_time))
    return never;
  return time_after(at_, duration{std::llround(takes)});
}

std::optional<std::uint64_t> work_clock::pop_due(time_point now) {
  if (next() > now || pieces_.empty())
    return std::nullopt;
  advance(now);
  auto first = pieces_.begin();
  auto out = first->second;
  pieces_.erase(first);
  return out;
}

} // namespace caisson::sim
