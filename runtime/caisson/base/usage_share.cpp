#include <caisson/base/usage_share.hpp>

#include <algorithm>
#include <cmath>

namespace caisson {

void usage_share::add(time_point now, double total, double capacity) noexcept {
  if (!std::isfinite(total) || total < 0 || !std::isfinite(capacity)
      || capacity <= 0)
    return clear();
  if (!begun_ || total < last_total_)
    return begin(now, total);
  if (now < time_after(last_at_, shortest_step))
    return;
  auto passed = now - last_at_;
  if (passed / longest_gap > smoothing_)
    return begin(now, total);
  auto seconds = to_seconds(passed);
  auto share = std::clamp((total - last_total_) / (capacity * seconds), 0.0,
                          1.0);
  auto weight = seconds / (seconds + to_seconds(smoothing_));
  share_ = share_ ? *share_ + weight * (share - *share_) : share;
  last_at_ = now;
  last_total_ = total;
}

void usage_share::clear() noexcept {
  begun_ = false;
  share_.reset();
}

void usage_share::begin(time_point now, double total) noexcept {
  begun_ = true;
  share_.reset();
  last_at_ = now;
  last_total_ = total;
}

} // namespace caisson
