#include <caisson/policy/promised_turns.hpp>

#include <caisson/base/ensure.hpp>
#include <caisson/policy/call_number.hpp>

#include <algorithm>
#include <iterator>

namespace caisson::detail {

void promised_turns::add(time_point turn, call_id call, std::uint32_t n) {
  key k{turn, call};
  if (full_ && k < full_->last)
    full_.reset();
  auto fresh = turns_.emplace(k, n).second;
  CAISSON_ENSURE(fresh && n > 0, "call {} has {} tokens promised already",
                 call_number(call), n);
  ensure_full_gaps();
}

// They end with a promise that still stands.
void promised_turns::ensure_full_gaps() const {
  CAISSON_ENSURE(
    !full_ || (!turns_.empty() && turns_.rbegin()->first >= full_->last),
    "no gap before a promise that is not among the {}", turns_.size());
}

bool promised_turns::remove(const rate_source& source, time_point turn,
                            call_id call) {
  auto i = turns_.find({turn, call});
  if (i == turns_.end())
    return false;
  if (source.needs_order() && std::next(i) != turns_.end())
    return true;
  if (full_ && i->first <= full_->last)
    full_.reset();
  turns_.erase(i);
  ensure_full_gaps();
  return true;
}

void promised_turns::catch_up(rate_source& source, time_point now) {
  auto take_turn = [](rate_source& x, const list::value_type& turn) {
    x.advance(turn.first.first);
    x.take_in_any_case(turn.second);
  };
  // What is in the past is no gap.
  if (full_ && full_->last.first <= now)
    full_.reset();
  for (auto i = turns_.begin(); i != turns_.end() && i->first.first <= now;
       i = turns_.erase(i)) {
    take_turn(source, *i);
    if (full_)
      take_turn(full_->now, *i);
  }
  source.advance(now);
  if (full_)
    full_->now.advance(now);
  ensure_full_gaps();
}

bool promised_turns::are_over(rate_source source,
                              time_point now) const noexcept {
  if (!turns_.empty() && turns_.rbegin()->first.first > now)
    return false;
  for (const auto& [k, tokens] : turns_) {
    source.advance(k.first);
    source.take_in_any_case(tokens);
  }
  return source.full_at() <= now;
}

bool promised_turns::take(rate_source& source, std::int64_t n) const {
  auto after = source;
  if (!after.take(n))
    return false;
  auto with = after;
  auto without = source;
  for (const auto& [k, tokens] : turns_) {
    with.advance(k.first);
    without.advance(k.first);
    // Also if a promise cannot be kept: it is not this call that breaks it.
    if (with == without)
      break;
    if (!with.take(tokens))
      return false;
    without.take_in_any_case(tokens);
  }
  source = after;
  return true;
}

time_point promised_turns::turn_of(const rate_source& source,
                                   const std::vector<std::uint32_t>& before,
                                   std::int64_t n, time_point from) {
  auto turn = find(first_gap(source), before, n, from).turn;
  CAISSON_ENSURE(turn >= from, "a turn {} too early", from - turn);
  return turn;
}

// The first gap with room for anybody.
promised_turns::gap promised_turns::first_gap(const rate_source& source) {
  gap x{source, source, turns_.begin()};
  if (full_ && full_->now == source) {
    x.source = x.without = full_->then;
    x.next = turns_.upper_bound(full_->last);
  }
  x = find(x, {}, 1, time_point::min());
  if (x.next != turns_.begin())
    full_ = {source, x.source, std::prev(x.next)->first};
  return x;
}

// Puts calls into gaps, each at the earliest instant: what is taken later
// leaves less for those who come after. If a promise cannot be kept then, the
// call that was put last goes behind that promise, as it could not be kept with
// a later gap before it either.
promised_turns::gap
promised_turns::find(gap x, const std::vector<std::uint32_t>& before,
                     std::int64_t n, time_point from) const {
  std::vector<gap> found;
  // A call must not be put before it.
  std::optional<key> barrier;
  for (;;) {
    auto at_end = x.next == turns_.end();
    if (found.size() <= before.size()
        && (at_end || !barrier || x.next->first > *barrier)) {
      auto is_last = found.size() == before.size();
      auto weight = is_last ? n : std::int64_t{before[found.size()]};
      x.turn = std::max(x.source.ready_at(0, weight),
                        is_last ? from : time_point::min());
      if (at_end && (is_last || x.turn == never))
        return x;
      if (at_end || x.turn <= x.next->first.first) {
        auto after = x.source;
        after.advance(x.turn);
        after.take_in_any_case(weight);
        found.push_back(x);
        x.source = after;
        continue;
      }
    }
    CAISSON_ENSURE(!at_end || found.size() > before.size(),
                   "{} of {} calls have a turn", found.size(),
                   before.size() + 1);
    if (at_end)
      return found.back();
    const auto& [k, tokens] = *x.next++;
    x.source.advance(k.first);
    x.without.advance(k.first);
    auto as_without = x.source == x.without;
    if (found.size() > before.size() && as_without)
      return found.back();
    x.without.take_in_any_case(tokens);
    if (x.source.take(tokens))
      continue;
    if (as_without) {
      x.source = x.without;
    } else {
      CAISSON_ENSURE(!found.empty(), "nobody was put before promise {}",
                     k.second);
      barrier = k;
      x = found.back();
      found.pop_back();
    }
  }
}

} // namespace caisson::detail
