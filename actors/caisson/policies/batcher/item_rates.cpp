#include <caisson/policies/batcher/item_rates.hpp>

#include <caisson/base/ensure.hpp>

namespace caisson::detail {

std::optional<double> item_rates::next(const std::string& shard, time_point now,
                                       duration window, std::size_t most) {
  if (shard.empty())
    return unnamed_.next(now, window);
  entry x;
  auto at = known_.find(shard);
  if (at != known_.end()) {
    x = recent_.erase(at->second);
  } else {
    at = known_.emplace(shard, 0).first;
    x.shard = &at->first;
  }
  auto rate = x.rate.next(now, window);
  at->second = recent_.push_back(x);
  while (known_.size() > most) {
    auto oldest = known_.find(*recent_.erase(recent_.front()).shard);
    CAISSON_ENSURE(oldest != known_.end(), "the oldest of {} is not known",
                   known_.size());
    known_.erase(oldest);
  }
  CAISSON_ENSURE(known_.size() == recent_.size(),
                 "of {} shards {} have come lately", known_.size(),
                 recent_.size());
  return rate;
}

} // namespace caisson::detail
