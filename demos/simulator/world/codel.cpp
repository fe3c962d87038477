#include <simulator/world/codel.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

namespace caisson::sim {

// Whether every wait has been too long for an interval.
bool codel::too_long(time_point now, duration waited, std::size_t left) {
  if (waited < target_ || left == 0) {
    over_at_ = never;
    return false;
  }
  if (over_at_ == never) {
    over_at_ = time_after(now, interval_);
    return false;
  }
  return now >= over_at_;
}

time_point codel::after(time_point t) const {
  auto root = std::sqrt(static_cast<long double>(count_));
  auto gap = static_cast<long double>(interval_.count()) / root;
  return time_after(t, duration{std::llround(gap)});
}

bool codel::sheds(time_point now, duration waited, std::size_t left) {
  auto long_wait = too_long(now, waited, left);
  auto last = std::exchange(last_, step::served);
  // The one after the first that is shed is served, whatever it has waited.
  if (last == step::began)
    return false;
  if (last == step::went_on && long_wait)
    next_ = after(next_);
  if (shedding_)
    return go_on(now, long_wait);
  return long_wait && begin(now);
}

bool codel::go_on(time_point now, bool long_wait) {
  shedding_ = long_wait;
  if (!shedding_ || now < next_)
    return false;
  ++count_;
  last_ = step::went_on;
  return true;
}

// The rate at which the queue was under control a short while ago is a better
// beginning than none.
bool codel::begin(time_point now) {
  auto reached = count_ - first_count_;
  auto recent = now < time_after(next_, interval_ * 16);
  count_ = reached > 1 && recent ? reached : 1;
  first_count_ = count_;
  next_ = after(now);
  shedding_ = true;
  last_ = step::began;
  return true;
}

void codel::nobody_waits() {
  over_at_ = never;
  shedding_ = false;
  last_ = step::served;
}

} // namespace caisson::sim
