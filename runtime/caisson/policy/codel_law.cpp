#include <caisson/policy/codel_law.hpp>

#include <caisson/base/ensure.hpp>

#include <algorithm>
#include <cmath>

namespace caisson::detail {

duration codel_law::gap() const {
  auto root = std::sqrt(static_cast<long double>(count_));
  auto gap = static_cast<long double>(interval_.count()) / root;
  return duration{std::llround(gap)};
}

bool codel_law::sheds(time_point now, duration waited, bool must_stay) {
  // Where nothing can be shed, nothing is put off until there is.
  if (waited < target_ || must_stay) {
    nobody_waits();
    return false;
  }
  if (over_at_ == never)
    over_at_ = time_after(now, interval_);
  if (now < (shedding_ ? next_ : over_at_))
    return false;
  if (shedding_) {
    CAISSON_ENSURE(over_at_ <= next_ && count_ > 0,
                   "{} calls are shed, from {} before waits were too long on",
                   count_, over_at_ - next_);
    ++count_;
    next_ = time_after(next_, gap());
    return true;
  }
  // The rate at which the queue was under control a short while ago is a better
  // beginning than none.
  auto recent = now < time_after(next_, interval_ * 8);
  count_ = recent && count_ > 2 ? count_ - 2 : 1;
  next_ = time_after(now, gap());
  shedding_ = true;
  CAISSON_ENSURE(over_at_ <= now && next_ >= now,
                 "the next call is shed {} before this one", now - next_);
  return true;
}

void codel_law::adapt(duration target, duration interval,
                      time_point now) noexcept {
  target_ = target;
  interval_ = interval;
  auto latest = time_after(now, interval);
  if (over_at_ != never)
    over_at_ = std::min(over_at_, latest);
  next_ = std::min(next_, latest);
}

} // namespace caisson::detail
