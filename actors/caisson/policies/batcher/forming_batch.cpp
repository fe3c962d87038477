#include <caisson/policies/batcher/forming_batch.hpp>

#include <caisson/base/ensure.hpp>

#include <algorithm>
#include <utility>

namespace caisson::detail {

forming_batch::place forming_batch::add(const call_info& call, time_point now,
                                        std::uint32_t weight,
                                        const std::string& identity) {
  constexpr auto none = pooled_list<item>::none;
  deadline_queue::handle deadline;
  if (call.deadline != never)
    deadline = deadlines_.push(call.deadline, {});
  ++calls_;
  if (identity.empty()) {
    weight_ += weight;
    return {items_.push_back({call.id, now, weight, deadline, nullptr}), none};
  }
  auto [at, is_first] = known_.try_emplace(identity, none);
  if (is_first) {
    weight_ += weight;
    auto equals = std::make_unique<equal_calls>();
    equals->identity = &at->first;
    at->second = items_.push_back({0, now, weight, {}, std::move(equals)});
  }
  auto& equals = *items_[at->second].equals;
  return {at->second, equals.calls.push_back({call.id, deadline})};
}

bool forming_batch::remove(call_id call, place at) {
  if (!contains(call, at))
    return false;
  const auto& x = items_[at.item];
  if (!x.equals) {
    deadlines_.cancel(x.deadline);
    drop(at.item);
  } else {
    auto& calls = x.equals->calls;
    deadlines_.cancel(calls[at.call].deadline);
    calls.erase(at.call);
    if (calls.empty())
      drop(at.item);
  }
  --calls_;
  return true;
}

forming_batch::item forming_batch::drop(handle h) {
  auto x = items_.erase(h);
  weight_ -= x.weight;
  if (x.equals) {
    auto known = known_.find(*x.equals->identity);
    CAISSON_ENSURE(known != known_.end(), "one of {} items is not known",
                   known_.size());
    known_.erase(known);
  }
  return x;
}

std::size_t forming_batch::fitting(std::size_t most,
                                   std::uint64_t heaviest) const noexcept {
  most = std::min(most, items_.size());
  if (heaviest == 0 || weight_ <= heaviest)
    return most;
  // One that is too heavy by itself goes alone.
  std::uint64_t weight = 0;
  std::size_t n = 0;
  for (auto h = items_.front(); n < most; h = items_.next(h), ++n)
    if (weight += items_[h].weight; weight > heaviest && n > 0)
      break;
  return n;
}

sent_batch forming_batch::take(std::size_t n) {
  auto all = n == items_.size();
  sent_batch out;
  out.calls.reserve(n);
  for (std::size_t i = 0; i < n; ++i) {
    auto x = drop(items_.front());
    if (!x.equals) {
      if (!all)
        deadlines_.cancel(x.deadline);
      out.add(x.call);
      continue;
    }
    auto& calls = x.equals->calls;
    for (auto first = true; !calls.empty(); first = false) {
      auto y = calls.erase(calls.front());
      if (!all)
        deadlines_.cancel(y.deadline);
      first ? out.add(y.call) : out.add_equal(y.call);
    }
  }
  if (all)
    deadlines_.clear();
  CAISSON_ENSURE(out.calls.size() <= calls_, "{} of {} calls are taken",
                 out.calls.size(), calls_);
  calls_ -= out.calls.size();
  CAISSON_ENSURE(deadlines_.size() <= calls_ && weight_ >= items_.size(),
                 "{} deadlines of {} calls, {} items weigh {}",
                 deadlines_.size(), calls_, items_.size(), weight_);
  return out;
}

} // namespace caisson::detail
