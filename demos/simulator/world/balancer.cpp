#include <simulator/world/balancer.hpp>

namespace caisson::sim {

balancer::balancer(balancing kind, std::size_t replicas)
  : kind_(kind), replicas_(replicas) {
  if (kind_ == balancing::least_pending)
    for (std::size_t i = 0; i < replicas; ++i)
      ranking_.insert(rank_of(i));
}

balancer::rank balancer::rank_of(std::size_t i) const {
  return {replicas_[i].pending, replicas_[i].chosen, i};
}

std::size_t balancer::less_busy_of_two(keyed_random& random) const {
  auto n = replicas_.size();
  auto one = static_cast<std::size_t>(random.below(n));
  if (n == 1)
    return one;
  auto other = static_cast<std::size_t>(random.below(n - 1));
  other += other >= one;
  return replicas_[other].pending < replicas_[one].pending ? other : one;
}

std::size_t balancer::choose(keyed_random& random) {
  std::size_t chosen = 0;
  switch (kind_) {
    case balancing::round_robin:
      chosen = static_cast<std::size_t>(choices_ % replicas_.size());
      break;
    case balancing::random:
      chosen = static_cast<std::size_t>(random.below(replicas_.size()));
      break;
    case balancing::power_of_two:
      chosen = less_busy_of_two(random);
      break;
    case balancing::least_pending:
      chosen = std::get<2>(*ranking_.begin());
      break;
  }
  ++choices_;
  change(chosen, replicas_[chosen].pending + 1);
  return chosen;
}

void balancer::over(std::size_t replica) {
  change(replica, replicas_[replica].pending - 1);
}

void balancer::change(std::size_t i, std::uint64_t pending) {
  auto ranked = kind_ == balancing::least_pending;
  if (ranked)
    ranking_.erase(rank_of(i));
  auto& x = replicas_[i];
  if (pending > x.pending)
    x.chosen = choices_;
  x.pending = pending;
  if (ranked)
    ranking_.insert(rank_of(i));
}

} // namespace caisson::sim
