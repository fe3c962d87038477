// Queue of calls that wait for a permit or a token.
#pragma once

#include <caisson/base/pooled_list.hpp>
#include <caisson/base/wide_time.hpp>
#include <caisson/policy/call_info.hpp>
#include <caisson/policy/codel_law.hpp>
#include <caisson/policy/fair_turns.hpp>
#include <caisson/policy/wait_order.hpp>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace caisson {

/// Calls that wait, each with its weight, in one of several orders. Calls that
/// give up leave from the middle. Everything takes constant time, or
/// O(log size) with an order by deadline, priority or key, apart from `reorder`
/// and `take_heavier`. Memory is bounded by the number of waiting calls.
class waiting_queue {
public:
  struct entry {
    /// 0 if it was taken out.
    call_id call = 0;
    std::uint32_t permits = 0;
    /// What the policy noted on the call when it began to wait.
    std::uint32_t note = 0;
    /// When it began to wait, and until when it may.
    time_point since = {};
    time_point limit = never;
    /// As they were when it began to wait.
    time_point deadline = never;
    std::int32_t priority = 0;
    std::string key;
    /// Larger for those that came later.
    std::uint64_t number = 0;
    /// When it began to wait, by the latest instant seen until then.
    time_point ranked_since = {};

    /// How long it has waited; a clock that steps back counts as standing.
    [[nodiscard]] duration waited(time_point now) const noexcept {
      return time_until(now, since);
    }
  };

  /// What the slot of a call has for this class: the weight of the call, and
  /// where it waits or waited.
  struct stay {
    std::uint32_t permits = 1;
    pooled_list<entry>::handle place = pooled_list<entry>::none;
  };

  explicit waiting_queue(wait_order order = wait_order::fifo,
                         const queue_settings& rules = {});

  /// From now on `order` decides the turns; all waiting calls stay.
  void reorder(wait_order order, const queue_settings& rules, time_point now);

  [[nodiscard]] bool empty() const noexcept { return entries_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }

  /// The total weight of the waiting calls.
  [[nodiscard]] std::int64_t weight() const noexcept { return weight_; }

  // -- newcomers --------------------------------------------------------------

  /// Whether it would be this newcomer's turn at once.
  [[nodiscard]] bool newcomer_is_next(const call_info& call,
                                      time_point now) const {
    return empty() || overtakes(call, now);
  }

  /// How much the calls weigh at least that would be served before this
  /// newcomer, if no others came.
  [[nodiscard]] std::int64_t weight_before(const call_info& call,
                                           time_point now) const;

  /// Takes out the call that leaves a full queue for this newcomer; nothing if
  /// the newcomer has to leave. @pre !empty()
  std::optional<entry> make_room(const call_info& call, time_point now);

  /// Takes out the call that leaves a full queue for a newcomer that stays in
  /// any case, in another queue. @pre !empty()
  entry drop_last();

  /// The call begins to wait. Whoever takes it out gets `note` back. Its
  /// `number` in several queues, if given, is larger than those that came
  /// before.
  void join(const call_info& call, stay& s, time_point now,
            time_point limit = never, std::uint32_t note = 0,
            std::uint64_t number = 0);

  /// A call that was taken out of another queue goes on waiting here. Those
  /// with larger numbers come after it. @pre they do
  void adopt(entry w, stay& s);

  // -- those who wait ---------------------------------------------------------

  /// Whether the call with this stay still waits.
  [[nodiscard]] bool waits(const stay& s, call_id call) const noexcept {
    auto* w = entries_.find(s.place);
    return w && w->call == call;
  }

  /// The call with this stay, which waits.
  [[nodiscard]] const entry& operator[](const stay& s) const noexcept {
    return entries_[s.place];
  }

  /// Takes out the call with this stay, which waits.
  entry leave(const stay& s) { return take(s.place, false); }

  /// Takes out all calls, in the order in which they came.
  std::vector<entry> take_all();

  /// Takes out each call that weighs more than `most`, and calls `f` with it;
  /// the one that has waited longest is the first.
  template <class F>
  void take_heavier(std::uint32_t most, F f) {
    for (auto h = entries_.front(); h != pooled_list<entry>::none;) {
      auto following = entries_.next(h);
      if (entries_[h].permits > most)
        f(take(h, false));
      h = following;
    }
  }

  /// Calls `f` with each call, in the order in which they came.
  template <class F>
  void for_each(F f) const {
    for (auto h = entries_.front(); h != pooled_list<entry>::none;
         h = entries_.next(h))
      f(entries_[h]);
  }

  // -- turns ------------------------------------------------------------------

  /// Whose turn it is. @pre !empty()
  [[nodiscard]] const entry& next() const noexcept {
    return entries_[next_place()];
  }

  /// Whether the call whose turn it is must be shed. To be asked once, when it
  /// would be served. @pre !empty()
  [[nodiscard]] bool sheds_next(time_point now) {
    return order_ == wait_order::codel
           && codel_.sheds(now, next().waited(now),
                           size() <= rules_.codel_keep);
  }

  /// Takes out the call whose turn it is, to be served. @pre !empty()
  entry take_next() { return take(next_place(), true); }

  /// Takes it out without serving it. @pre !empty()
  entry drop_next() { return take(next_place(), false); }

  /// Something became free, and nobody waits for it. @pre empty()
  void idle() noexcept { codel_.nobody_waits(); }

private:
  using handle = pooled_list<entry>::handle;

  // Its place among those that are served by rank: the least is the first.
  struct rank {
    detail::wide major = 0;
    std::int64_t minor = 0;
    std::uint64_t number = 0;
    handle place = pooled_list<entry>::none;

    friend auto operator<=>(const rank&, const rank&) = default;
  };

  [[nodiscard]] bool is_ranked() const noexcept {
    return order_ == wait_order::deadline_first
           || order_ == wait_order::priority;
  }

  // Whether the newest of so many calls is the next.
  [[nodiscard]] bool newest_first(std::size_t calls) const noexcept {
    return order_ == wait_order::lifo
           || (order_ == wait_order::adaptive_lifo
               && calls > rules_.lifo_above);
  }

  [[nodiscard]] handle next_place() const noexcept;
  [[nodiscard]] bool overtakes(const call_info& call, time_point now) const;
  [[nodiscard]] rank rank_of(time_point deadline, std::int32_t priority,
                             time_point since, std::uint64_t number,
                             handle place) const noexcept;
  [[nodiscard]] rank rank_of(handle h) const noexcept;
  [[nodiscard]] rank rank_of(const call_info& call,
                             time_point now) const noexcept;
  void give_turn(handle h);
  [[nodiscard]] bool all_have_turns() const noexcept;
  entry take(handle h, bool pays);

  wait_order order_;
  queue_settings rules_;
  // In the order in which they came.
  pooled_list<entry> entries_;
  std::int64_t weight_ = 0;
  std::uint64_t last_number_ = 0;
  // A clock that steps back lets nobody overtake.
  time_point latest_ = time_point::min();
  detail::codel_law codel_;
  // With an order by rank, and with a fair one; otherwise empty.
  std::set<rank> ranks_;
  detail::fair_turns fair_;
};

} // namespace caisson
