#include <caisson/policy/retry_budget.hpp>

#include <caisson/base/ensure.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace caisson {

retry_budget::retry_budget(const limits& l)
  : width_(l.ttl / slice_count),
    // Per second and in units of a millionth: 10^6 / 10^9 ns. At most 6·10^16
    // before the division.
    reserve_(std::int64_t{l.reserve} * l.ttl.count() / 1'000),
    share_(std::llround(l.ratio * static_cast<double>(unit))) {
  CAISSON_ENSURE(l.ttl >= std::chrono::seconds(1)
                   && l.ttl <= std::chrono::seconds(60),
                 "retries are budgeted over {}", l.ttl);
  CAISSON_ENSURE(l.reserve <= 1'000'000 && l.ratio >= 0 && l.ratio <= 1,
                 "{} retries are in reserve, and a share of {}", l.reserve,
                 l.ratio);
}

bool retry_budget::try_withdraw(time_point now, std::uint32_t cost) {
  roll(now);
  auto price = cost * unit;
  if (sum_ + reserve_ < price)
    return false;
  book(-price);
  CAISSON_ENSURE(sum_ + reserve_ >= 0, "a retry is paid with {} too little",
                 -(sum_ + reserve_));
  return true;
}

void retry_budget::charge(time_point now, std::uint32_t cost) {
  roll(now);
  auto there = std::max<std::int64_t>(sum_ + reserve_, 0);
  book(-std::min<std::int64_t>(cost * unit, there));
  CAISSON_ENSURE(there == 0 || sum_ + reserve_ >= 0,
                 "a retry takes {} more than the {} that there are",
                 -(sum_ + reserve_), there);
}

std::int64_t retry_budget::balance(time_point now) {
  roll(now);
  return balance();
}

std::int64_t retry_budget::balance() const noexcept {
  // Less than nothing when deposits have been forgotten, but not yet the
  // withdrawals that they paid for.
  return std::max<std::int64_t>(sum_ + reserve_, 0) / unit;
}

void retry_budget::clear() noexcept {
  slices_.fill(0);
  sum_ = 0;
  newest_ = 0;
  end_.reset();
}

void retry_budget::begin_slice(time_point now) {
  if (!end_) {
    end_ = time_after(now, width_);
    return;
  }
  auto begun = (now - *end_) / width_ + 1;
  auto stale = std::min<std::int64_t>(begun, slice_count);
  for (std::int64_t i = 0; i < stale; ++i) {
    newest_ = (newest_ + 1) % slice_count;
    sum_ -= slices_[newest_];
    slices_[newest_] = 0;
  }
  end_ = time_after(*end_, begun * width_);
  // Ten slices, ten times in each `ttl`.
  CAISSON_ENSURE(
    std::accumulate(slices_.begin(), slices_.end(), std::int64_t{0}) == sum_,
    "the slices are not worth {}", sum_);
  CAISSON_ENSURE(now < *end_ || *end_ == never, "a slice ends {} ago",
                 now - *end_);
}

} // namespace caisson
