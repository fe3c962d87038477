// Gives turns to calls of different keys, with fair shares.
#pragma once

#include <caisson/base/linked.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace caisson::detail {

/// Deficit round robin (M. Shreedhar, G. Varghese, 1995): the keys with waiting
/// calls are in a ring. In each round, a key may spend as many permits as the
/// heaviest of the calls that were next in the round before, and what it has
/// saved. So two keys that wait all the time never get shares that differ by
/// more than two such calls, whatever their calls weigh and however many there
/// are. The calls of one key stay in their order.
///
/// Calls are named by small numbers, their places, which are reused. Joining
/// and leaving take the time to find the key, O(log keys), and otherwise
/// constant time on average. A key without waiting calls is forgotten.
class fair_turns {
public:
  using place = std::uint32_t;
  static constexpr place none = 0xffffffff;

  /// The call at this place begins to wait.
  void join(place p, std::string_view key, std::uint32_t permits);

  /// The call at this place leaves. If it `pays`, its key pays for it.
  void leave(place p, bool pays);

  /// All leave.
  void clear() noexcept;

  /// Whose turn it is; `none` if nobody waits.
  [[nodiscard]] place next() const noexcept;

  // -- a full queue -----------------------------------------------------------

  /// How many calls of the key wait, and how much they weigh.
  struct total {
    std::size_t calls = 0;
    std::int64_t permits = 0;
  };
  [[nodiscard]] total of_key(std::string_view key) const;

  /// How many calls the key has that has the most.
  [[nodiscard]] std::size_t most() const noexcept;

  /// The newest call of the key that has the most; of several such keys, of the
  /// one that has had so many for the longest time. @pre somebody waits
  [[nodiscard]] place newest_of_most() const noexcept;

  /// How many keys have waiting calls.
  [[nodiscard]] std::size_t keys() const noexcept { return flows_.size(); }

  /// How many calls wait.
  [[nodiscard]] std::size_t calls() const noexcept { return calls_; }

private:
  struct by_turn;
  struct by_length;

  // The calls of one key.
  struct flow : link<by_turn>, link<by_length> {
    place first = none;
    place last = none;
    total waiting;
    // What it may spend.
    std::int64_t credit = 0;
    // The last round in which it had a turn.
    std::uint64_t round = 0;
  };

  using flows = std::map<std::string, flow, std::less<>>;

  // What is known of a place.
  struct node {
    flows::iterator owner;
    place before = none;
    place after = none;
    std::uint32_t permits = 0;
  };

  void count(flow& f, std::int64_t calls, std::int64_t permits);
  void find_turn();
  void restart() noexcept;

  flows flows_;
  std::size_t calls_ = 0;
  std::vector<node> nodes_;
  linked_list<flow, by_turn> ring_;
  // By the number of their calls, less one.
  std::vector<linked_list<flow, by_length>> lengths_;
  std::uint64_t round_ = 1;
  // What each key may spend in this round, and in the next one.
  std::int64_t quantum_ = 0;
  std::int64_t heaviest_ = 0;
  // Whether the first of the ring has its turn.
  bool in_turn_ = false;
};

} // namespace caisson::detail
