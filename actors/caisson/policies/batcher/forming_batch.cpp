#include <caisson/policies/batcher/forming_batch.hpp>

#include <caisson/base/ensure.hpp>

#include <algorithm>
#include <utility>

namespace caisson::detail {

forming_batch::place
forming_batch::add_equal(const call_info& call, time_point now,
                         std::uint32_t weight, const std::string& identity) {
  auto deadline = note_deadline(call);
  ++calls_;
  auto [at, is_first] = known_.try_emplace(identity, none);
  if (is_first) {
    weight_ += weight;
    auto equals = equals_.push_back({&at->first, {}});
    at->second = items_.push_back({0, now, {}, weight, equals});
  }
  CAISSON_ENSURE(calls_ >= items_.size() && known_.size() == equals_.size(),
                 "{} calls are {} items, {} of {} known", calls_, items_.size(),
                 known_.size(), equals_.size());
  auto& equals = equals_[items_[at->second].equals];
  return {at->second, equals.calls.push_back({call.id, deadline})};
}

bool forming_batch::remove(call_id call, place at) {
  if (!contains(call, at))
    return false;
  const auto& x = items_[at.item];
  auto is_last = true;
  if (x.equals == none) {
    deadlines_.cancel(x.deadline);
  } else {
    auto& calls = equals_[x.equals].calls;
    deadlines_.cancel(calls[at.call].deadline);
    calls.erase(at.call);
    is_last = calls.empty();
    if (is_last)
      forget(x.equals);
  }
  if (is_last)
    weight_ -= items_.erase(at.item).weight;
  --calls_;
  CAISSON_ENSURE(calls_ >= items_.size() && deadlines_.size() <= calls_
                   && weight_ >= items_.size(),
                 "{} calls are {} items, which weigh {}", calls_, items_.size(),
                 weight_);
  return true;
}

// The item with these calls is gone.
void forming_batch::forget(handle equals) {
  auto known = known_.find(*equals_[equals].identity);
  CAISSON_ENSURE(known != known_.end(), "one of {} items is not known",
                 known_.size());
  known_.erase(known);
  equals_.erase(equals);
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

void forming_batch::take_equal(handle equals, bool all, sent_batch& out) {
  auto& calls = equals_[equals].calls;
  for (auto first = true; !calls.empty(); first = false) {
    auto x = calls.erase(calls.front());
    if (!all)
      deadlines_.cancel(x.deadline);
    first ? out.add(x.call) : out.add_equal(x.call);
  }
  forget(equals);
}

sent_batch forming_batch::take(std::size_t n) {
  CAISSON_ENSURE(n <= items_.size(), "{} of {} items are taken", n,
                 items_.size());
  auto all = n == items_.size();
  sent_batch out;
  out.calls.reserve(n);
  for (std::size_t i = 0; i < n; ++i) {
    auto x = items_.erase(items_.front());
    weight_ -= x.weight;
    if (x.equals != none) {
      take_equal(x.equals, all, out);
      continue;
    }
    if (!all)
      deadlines_.cancel(x.deadline);
    if (out.numbers.empty())
      out.calls.push_back(x.call);
    else
      out.add(x.call);
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
