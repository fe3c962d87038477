#include <simulator/world/autoscaler.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

namespace caisson::sim {

namespace {

// More than the share of a number that a few operations can be off.
constexpr double rounding_share = 1e-9;

} // namespace

autoscaler::autoscaler(const autoscale_config& config, std::uint32_t initial,
                       time_point now)
  : config_(config), servers_(initial), integrated_to_(now),
    next_decision_(now) {}

void autoscaler::integrate(time_point now) {
  auto width = static_cast<double>((now - integrated_to_).count());
  busy_area_ += width * static_cast<double>(busy_);
  // Those that are to go are still there until their request is done.
  server_area_ += width
                  * static_cast<double>(
                    std::max<std::uint64_t>(servers_, busy_));
  integrated_to_ = now;
}

void autoscaler::busy_is(time_point now, std::uint64_t busy) {
  integrate(now);
  busy_ = busy;
}

void autoscaler::started(time_point now, std::uint32_t n) {
  integrate(now);
  servers_ += n;
  starting_ -= n;
}

double autoscaler::utilization(time_point now) {
  integrate(now);
  auto busy = std::exchange(busy_area_, 0.0);
  auto all = std::exchange(server_area_, 0.0);
  return all > 0 ? busy / all : 0;
}

// `number`: before it is made whole; `ratio`: of what is to what should be.
std::uint32_t autoscaler::servers_for(double ratio, double number) const {
  // What is just within the tolerance, or whole, stays so whatever rounding
  // adds to it.
  if (std::abs(ratio - 1) <= config_.tolerance + rounding_share)
    return servers_ + starting_;
  auto whole = std::ceil(number * (1 - rounding_share));
  return static_cast<std::uint32_t>(
    std::clamp<double>(whole, config_.min, config_.max));
}

autoscaler::change autoscaler::look(time_point now, std::size_t waiting) {
  // Measured anew each time, whether a decision may be made or not.
  auto used = utilization(now);
  if (now < next_decision_)
    return {};
  auto per_server = static_cast<double>(waiting) / servers_;
  auto ratio = (config_.by == scaling::queue ? per_server : used)
               / config_.target;
  auto servers = servers_for(ratio, ratio * servers_);
  change out;
  if (servers > servers_ + starting_)
    out.start = servers - servers_ - starting_;
  else if (servers < servers_)
    out.stop = servers_ - servers;
  else
    return {};
  next_decision_ = time_after(now, config_.cooldown);
  starting_ += out.start;
  servers_ -= out.stop;
  return out;
}

} // namespace caisson::sim
