// Permits of a limit that partitions share, and the calls that wait for them.
#pragma once

#include <caisson/policy/limit_partitions.hpp>
#include <caisson/policy/policy.hpp>
#include <caisson/policy/waiting_queue.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace caisson::detail {

/// Knows how many permits are lent, to which partition, and who waits. It has
/// one queue for each partition and one for the rest, all with the same order.
/// Without partitions there is only the rest.
///
/// A call is *within* the guaranteed part of its partition if that still holds
/// it; otherwise it borrows. Those within come first, of any partition, and do
/// not wait for one another. Borrowers wait until no call within its part does,
/// and then for the one whose partition uses the least of its share.
///
/// Takes constant time, or O(log n) in the number of waiting calls, times the
/// number of partitions; `adapt` takes longer if partitions come or go.
class partitioned_limit {
public:
  using entry = waiting_queue::entry;
  using part = std::uint32_t;
  static constexpr part none = 0xffffffff;
  static constexpr std::int64_t endless = std::numeric_limits<
    std::int64_t>::max();

  /// What the slot of a call has for this class.
  struct stay : waiting_queue::stay {
    /// To whom its permits count; see `account`.
    std::uint32_t account = 0;
    /// Whether its rejection is delayed.
    bool delayed = false;
  };

  partitioned_limit(wait_order order, const queue_settings& rules,
                    const partition_settings& p);

  // -- settings ---------------------------------------------------------------

  /// New settings. Waiting calls stay, in the partition that is theirs now;
  /// permits that were lent in one that is gone count to the rest.
  void adapt(wait_order order, const queue_settings& rules,
             const partition_settings& p, env& e);

  /// From now on there are so many permits, at most `most` at any time, and so
  /// many places to wait in.
  void resize(std::int64_t limit, std::int64_t most, std::size_t places) {
    if (partitioned_ && (limit != limit_ || most != most_ || places != places_))
      split(limit, most, places);
  }

  [[nodiscard]] bool partitioned() const noexcept { return partitioned_; }

  // -- numbers ----------------------------------------------------------------

  /// May exceed the limit after that was lowered.
  [[nodiscard]] std::int64_t in_use() const noexcept { return in_use_; }

  /// How many calls wait.
  [[nodiscard]] std::size_t waiting() const noexcept { return waiting_; }

  /// Whether the partition of the call has no room left in its guaranteed part
  /// for such a call.
  [[nodiscard]] bool is_over(const stay& s) const noexcept {
    return partitioned_ && !within(of(s), s.permits);
  }

  /// How many permits the partition of the call can use at present, and how
  /// many of them it does not.
  struct capacity {
    std::int64_t permits = 0;
    std::int64_t left = 0;
  };
  [[nodiscard]] capacity capacity_of(const stay& s,
                                     std::int64_t limit) const noexcept;

  /// Whether a call in the queue would wait although permits are free.
  [[nodiscard]] bool may_leave_free() const noexcept {
    return partitioned_ && !borrow_;
  }

  /// Appends what each partition has, if there are so many permits.
  void list_gauges(std::int64_t limit, std::vector<metric>& out) const;

  // -- newcomers --------------------------------------------------------------

  /// Notes the partition of a newcomer. Returns false if the function that
  /// names it has thrown.
  [[nodiscard]] bool enter(const call_info& call, stay& s, env& e) {
    auto p = partitioned_ ? part_of(call, e) : std::optional<part>{0};
    if (p)
      s.account = parts_[*p].account;
    return p.has_value();
  }

  /// Whether it could never run: its partition must not borrow, and never has
  /// so many permits.
  [[nodiscard]] bool outgrows(const stay& s) const noexcept {
    return partitioned_ && s.permits > heaviest(accounts_[s.account].owner);
  }

  /// Whether it runs at once if so many permits are free.
  [[nodiscard]] bool admits(const call_info& call, const stay& s,
                            std::int64_t free, time_point now) const {
    if (s.permits > free)
      return false;
    if (!partitioned_)
      return waiting_ == 0 || parts_.front().calls.newcomer_is_next(call, now);
    return admits_to_part(call, s, now);
  }

  /// Lends a newcomer its permits: it runs.
  void lend(const stay& s) {
    in_use_ += s.permits;
    if (!plain_)
      count(s.account, s.permits);
  }

  /// How much the calls weigh at least that its partition serves before it.
  [[nodiscard]] std::int64_t weight_before(const call_info& call, const stay& s,
                                           time_point now) const {
    return of(s).calls.weight_before(call, now);
  }

  /// Whether no place of so many is left for the newcomer. Without borrowing,
  /// its partition has no more than its part of them.
  [[nodiscard]] bool is_full(const stay& s, std::size_t places) const noexcept {
    return waiting_ >= places
           || (partitioned_ && !borrow_ && free_places(of(s)) <= 0);
  }

  /// Takes out the call that leaves a full queue for this newcomer; nothing if
  /// the newcomer has to leave.
  std::optional<entry> make_room(const call_info& call, const stay& s,
                                 time_point now);

  /// It begins to wait. Whoever takes it out gets `note` back.
  void join(const call_info& call, stay& s, time_point now, time_point limit,
            std::uint32_t note);

  // -- those who wait ---------------------------------------------------------

  /// The call with this stay, if it still waits.
  [[nodiscard]] const entry* find(const stay& s, call_id call) const noexcept;

  /// Takes out the call with this stay, which waits.
  entry leave(const stay& s, call_id call);

  /// Takes out each call that could never run, as it weighs more than `most`
  /// or than its partition may have, and calls `f` with it.
  template <class F>
  void take_heavier(std::uint32_t most, F f) {
    for (part p = 0; p < parts_.size(); ++p)
      parts_[p].calls.take_heavier(
        static_cast<std::uint32_t>(std::min<std::int64_t>(most, heaviest(p))),
        [&](const entry& w) {
          taken(w.call);
          f(w);
        });
  }

  // -- turns ------------------------------------------------------------------

  /// The partition whose next call can run if so many permits are free; `none`
  /// if none can.
  [[nodiscard]] part next(std::int64_t free) const noexcept {
    if (waiting_ == 0)
      return none;
    if (partitioned_)
      return next_part(free);
    return parts_.front().calls.next().permits <= free ? 0 : none;
  }

  /// Whose turn it is in a partition in which calls wait.
  [[nodiscard]] const entry& next_of(part p) const noexcept {
    return parts_[p].calls.next();
  }

  /// Whether it must be shed. To be asked once, when it would be served.
  [[nodiscard]] bool sheds_next(part p, time_point now) {
    return parts_[p].calls.sheds_next(now);
  }

  /// Takes it out and lends it its permits.
  entry take_next(part p);

  /// Takes it out without serving it.
  entry drop_next(part p);

  /// So many permits are free, and perhaps nobody waits for them.
  void note_idle(std::int64_t free) noexcept {
    if (order_ == wait_order::codel && free > 0)
      end_shedding();
  }

  // -- those who run ----------------------------------------------------------

  /// The call comes back or is cut off.
  void give_back(const stay& s, call_id call);

private:
  struct partition {
    std::string name;
    // In billionths.
    std::int64_t share = whole_share;
    // Its parts of the limit, of the highest limit, and of the places.
    std::int64_t guaranteed = 0;
    std::int64_t highest = 0;
    std::int64_t places = 0;
    std::int64_t used = 0;
    std::uint32_t account = 0;
    waiting_queue calls;
    std::string in_use_gauge = {};
    std::string waiting_gauge = {};
    std::string guaranteed_gauge = {};
  };

  // To whom the permits count that were lent to calls of one partition. A call
  // keeps the number of its account, as the partitions may be others when it
  // returns. The first is that of the rest.
  struct account {
    part owner = 0;
    std::int64_t lent = 0;
    bool current = true;
  };

  [[nodiscard]] const partition& of(const stay& s) const noexcept {
    return parts_[accounts_[s.account].owner];
  }
  [[nodiscard]] static bool within(const partition& p,
                                   std::uint32_t permits) noexcept {
    return p.used + permits <= p.guaranteed;
  }
  // One call may always do, or it might wait for ever.
  [[nodiscard]] bool may_borrow(const partition& p) const noexcept {
    return borrow_ || p.used == 0;
  }
  // Below 0 if more of its calls wait than its part of the places.
  [[nodiscard]] static std::int64_t free_places(const partition& p) noexcept {
    return p.places - static_cast<std::int64_t>(p.calls.size());
  }
  [[nodiscard]] std::int64_t heaviest(part p) const noexcept;
  [[nodiscard]] static bool uses_less(const partition& a,
                                      const partition& b) noexcept;
  [[nodiscard]] static bool is_before(const partition& a,
                                      const partition& b) noexcept;
  [[nodiscard]] bool has_turn(const partition& own,
                              std::uint32_t permits) const noexcept;
  [[nodiscard]] bool admits_to_part(const call_info& call, const stay& s,
                                    time_point now) const;
  [[nodiscard]] part next_part(std::int64_t free) const noexcept;
  void end_shedding() noexcept;

  [[nodiscard]] part part_named(std::string_view name) const noexcept;
  [[nodiscard]] std::optional<part> part_of(const call_info& call,
                                            env& e) const;
  [[nodiscard]] part part_of(const entry& w, env& e) const;
  [[nodiscard]] const stay& known(const stay& s, call_id call) const noexcept;
  void count(std::uint32_t account_index, std::int64_t permits);
  void taken(call_id call);
  void forget(call_id call);

  [[nodiscard]] std::vector<std::int64_t> shares() const;
  void split(std::int64_t limit, std::int64_t most, std::size_t places);
  [[nodiscard]] bool has_names(const partition_settings& p) const;
  void set_shares(const partition_settings& p);
  void set_partitions(const partition_settings& p);
  void add_part(const std::string& name, std::uint32_t account_index);
  std::uint32_t new_account();
  void trim_accounts();
  void rebuild(const partition_settings& p, env& e);

  wait_order order_;
  queue_settings rules_;
  bool borrow_ = true;
  bool partitioned_ = false;
  // Whether there is nothing but the rest: no permit counts to another
  // partition, and no call has another place than its slot says.
  bool plain_ = true;
  std::int64_t in_use_ = 0;
  std::size_t waiting_ = 0;
  std::uint64_t last_number_ = 0;
  // As they were split last; none yet if negative.
  std::int64_t limit_ = -1;
  std::int64_t most_ = -1;
  std::size_t places_ = 0;
  partition_settings::function function_;
  // The last one is the rest.
  std::vector<partition> parts_;
  // Their names in order, without the rest.
  std::vector<std::pair<std::string, part>> names_;
  // Which of them was found last.
  mutable std::size_t last_named_ = 0;
  std::vector<account> accounts_;
  // Calls that waited when partitions came or went, until they end: what their
  // slots should say.
  std::unordered_map<call_id, stay> moved_;
};

} // namespace caisson::detail
