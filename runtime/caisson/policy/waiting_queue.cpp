#include <caisson/policy/waiting_queue.hpp>

#include <caisson/base/ensure.hpp>

#include <algorithm>
#include <utility>

namespace caisson {

waiting_queue::waiting_queue(wait_order order, const queue_settings& rules)
  : order_(order), rules_(rules),
    codel_(rules.codel_target, rules.codel_interval) {}

void waiting_queue::reorder(wait_order order, const queue_settings& rules,
                            time_point now) {
  codel_.adapt(rules.codel_target, rules.codel_interval, now);
  auto same = order == order_
              && (order != wait_order::priority || rules.aging == rules_.aging);
  if (order != order_)
    codel_.nobody_waits();
  order_ = order;
  rules_ = rules;
  if (same)
    return;
  ranks_.clear();
  fair_.clear();
  for (auto h = entries_.front(); h != pooled_list<entry>::none;
       h = entries_.next(h))
    give_turn(h);
  CAISSON_ENSURE(all_have_turns(), "in a new order not all of {} have a turn",
                 entries_.size());
}

// -- newcomers ----------------------------------------------------------------

bool waiting_queue::overtakes(const call_info& call, time_point now) const {
  return is_ranked() ? rank_of(call, now) < *ranks_.begin()
                     : newest_first(size() + 1);
}

std::int64_t waiting_queue::weight_before(const call_info& call,
                                          time_point now) const {
  if (newcomer_is_next(call, now))
    return 0;
  if (order_ == wait_order::fair) {
    // Each other key has a turn, at least for one permit.
    auto own = fair_.of_key(call.key);
    auto other_keys = fair_.keys() - (own.calls > 0 ? 1 : 0);
    return own.permits + static_cast<std::int64_t>(other_keys);
  }
  return !is_ranked() || *ranks_.rbegin() < rank_of(call, now) ? weight_ : 0;
}

std::optional<waiting_queue::entry>
waiting_queue::make_room(const call_info& call, time_point now) {
  CAISSON_ENSURE(!empty(), "no call waits that could leave");
  if (is_ranked()) {
    auto last = *ranks_.rbegin();
    if (last < rank_of(call, now))
      return std::nullopt;
    return take(last.place, false);
  }
  if (order_ == wait_order::fair) {
    if (fair_.of_key(call.key).calls + 1 >= fair_.most())
      return std::nullopt;
    return take(fair_.newest_of_most(), false);
  }
  if (!newest_first(size() + 1))
    return std::nullopt;
  return take(entries_.front(), false);
}

waiting_queue::entry waiting_queue::drop_last() {
  CAISSON_ENSURE(!empty(), "no call waits that could leave");
  if (is_ranked())
    return take(ranks_.rbegin()->place, false);
  if (order_ == wait_order::fair)
    return take(fair_.newest_of_most(), false);
  return take(newest_first(size() + 1) ? entries_.front() : entries_.back(),
              false);
}

void waiting_queue::join(const call_info& call, stay& s, time_point now,
                         time_point limit, std::uint32_t note,
                         std::uint64_t number) {
  latest_ = std::max(latest_, now);
  last_number_ = std::max(last_number_ + 1, number);
  CAISSON_ENSURE(limit >= now && (number == 0 || number == last_number_),
                 "call {} waits after call {}", number, last_number_);
  s.place = entries_.push_back({.call = call.id,
                                .permits = s.permits,
                                .note = note,
                                .since = now,
                                .limit = limit,
                                .deadline = call.deadline,
                                .priority = call.priority,
                                .key = call.key,
                                .number = last_number_,
                                .ranked_since = latest_});
  weight_ += s.permits;
  give_turn(s.place);
  CAISSON_ENSURE(weight_ >= s.permits && all_have_turns(),
                 "not all of {} calls of weight {} have a turn",
                 entries_.size(), weight_);
}

void waiting_queue::adopt(entry w, stay& s) {
  CAISSON_ENSURE(w.call != 0 && w.number > last_number_,
                 "call {} is taken over after call {}", w.number, last_number_);
  latest_ = std::max(latest_, w.ranked_since);
  last_number_ = w.number;
  weight_ += w.permits;
  s.place = entries_.push_back(std::move(w));
  give_turn(s.place);
  CAISSON_ENSURE(weight_ > 0 && all_have_turns(),
                 "not all of {} calls of weight {} have a turn",
                 entries_.size(), weight_);
}

std::vector<waiting_queue::entry> waiting_queue::take_all() {
  std::vector<entry> out;
  out.reserve(size());
  while (!empty())
    out.push_back(take(entries_.front(), false));
  CAISSON_ENSURE(weight_ == 0, "nobody waits, with a weight of {}", weight_);
  return out;
}

// -- turns --------------------------------------------------------------------

waiting_queue::handle waiting_queue::next_place() const noexcept {
  if (is_ranked())
    return ranks_.begin()->place;
  if (order_ == wait_order::fair)
    return fair_.next();
  return newest_first(size()) ? entries_.back() : entries_.front();
}

waiting_queue::rank
waiting_queue::rank_of(time_point deadline, std::int32_t priority,
                       time_point since, std::uint64_t number,
                       handle place) const noexcept {
  if (order_ == wait_order::deadline_first)
    return {deadline.time_since_epoch().count(), 0, number, place};
  auto minor = -std::int64_t{priority};
  // All age alike, so that it does not change who is before whom. A higher
  // priority is as good as having come earlier.
  auto earlier = detail::wide{priority} * rules_.aging.count();
  auto major = rules_.aging == unlimited ? detail::wide{minor}
                                         : detail::wide_ns(since) - earlier;
  return {major, minor, number, place};
}

waiting_queue::rank waiting_queue::rank_of(handle h) const noexcept {
  const auto& w = entries_[h];
  return rank_of(w.deadline, w.priority, w.ranked_since, w.number, h);
}

waiting_queue::rank waiting_queue::rank_of(const call_info& call,
                                           time_point now) const noexcept {
  return rank_of(call.deadline, call.priority, std::max(now, latest_),
                 last_number_ + 1, pooled_list<entry>::none);
}

void waiting_queue::give_turn(handle h) {
  if (is_ranked())
    ranks_.insert(rank_of(h));
  else if (order_ == wait_order::fair)
    fair_.join(h, entries_[h].key, entries_[h].permits);
}

bool waiting_queue::all_have_turns() const noexcept {
  auto ranked = is_ranked() ? entries_.size() : 0;
  auto in_ring = order_ == wait_order::fair ? entries_.size() : 0;
  return ranks_.size() == ranked && fair_.calls() == in_ring;
}

waiting_queue::entry waiting_queue::take(handle h, bool pays) {
  if (is_ranked())
    ranks_.erase(rank_of(h));
  else if (order_ == wait_order::fair)
    fair_.leave(h, pays);
  auto w = entries_.erase(h);
  CAISSON_ENSURE(w.call != 0, "a call leaves place {}, where none waits", h);
  weight_ -= w.permits;
  CAISSON_ENSURE(weight_ >= 0 && (weight_ == 0 || !entries_.empty()),
                 "{} calls of weight {} wait", entries_.size(), weight_);
  CAISSON_ENSURE(all_have_turns(),
                 "of {} calls {} have a rank, {} are in the ring",
                 entries_.size(), ranks_.size(), fair_.calls());
  return w;
}

} // namespace caisson
