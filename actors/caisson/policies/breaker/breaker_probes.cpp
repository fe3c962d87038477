#include <caisson/policies/breaker/breaker_probes.hpp>

#include <caisson/base/ensure.hpp>

#include <algorithm>

namespace caisson::detail {

bool breaker_probes::grant(std::uint64_t number, call_id call, time_point now,
                           const breaker_config& c) {
  // A judged probe is spent; only a neutral one came back.
  if (successes_ + failures_ + leases_.size() >= c.probes)
    return false;
  CAISSON_ENSURE(leases_.empty() || leases_.back().number < number,
                 "probe {} after probe {}", number, leases_.back().number);
  if (first_ == never)
    first_ = now;
  CAISSON_ENSURE(
    now >= first_ && (leases_.empty() || leases_.back().granted <= now),
    "probe {} is granted {} before the first", number, first_ - now);
  leases_.push_back({number, call, now});
  return true;
}

bool breaker_probes::take_back(std::uint64_t number) {
  auto i = std::lower_bound(
    leases_.begin(), leases_.end(), number,
    [](const lease& x, std::uint64_t n) { return x.number < n; });
  if (i == leases_.end() || i->number != number)
    return false;
  CAISSON_ENSURE(first_ <= i->granted, "probe {} is older than the first",
                 number);
  leases_.erase(i);
  ++ended_;
  return true;
}

std::optional<call_id> breaker_probes::expire(time_point by,
                                              const breaker_config& c) {
  if (leases_.empty() || time_after(leases_.front().granted, lease_of(c)) > by)
    return std::nullopt;
  auto call = leases_.front().call;
  leases_.erase(leases_.begin());
  ++ended_;
  judge(false);
  return call;
}

breaker_probes::decision breaker_probes::weigh(const breaker_config& c) const {
  auto needed = c.successes_to_close == 0 ? c.probes : c.successes_to_close;
  if (failures_ > c.probes - needed)
    return decision::open;
  return successes_ >= needed ? decision::close : decision::none;
}

time_point breaker_probes::end(const breaker_config& c) const {
  return time_after(first_, c.half_open_max);
}

time_point breaker_probes::next_end(const breaker_config& c) const {
  if (leases_.empty())
    return end(c);
  return std::min(time_after(leases_.front().granted, lease_of(c)), end(c));
}

duration breaker_probes::lease_of(const breaker_config& c) {
  return std::min(c.probe_timeout, c.slow_call);
}

} // namespace caisson::detail
