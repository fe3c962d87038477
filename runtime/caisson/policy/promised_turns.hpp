// Turns at a rate limit that were promised for later.
#pragma once

#include <caisson/base/time.hpp>
#include <caisson/policy/call_info.hpp>
#include <caisson/policy/rate_source.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

namespace caisson::detail {

/// Calls whose turn at a `rate_source` is promised for a certain instant, each
/// with its tokens, which are taken at that instant. Until then others may only
/// take what leaves enough for every promise. Adding and removing takes
/// O(log size), a look into the future O(size), or O(size²) if there are many
/// promises that can be kept with tokens to spare.
class promised_turns {
public:
  [[nodiscard]] bool empty() const noexcept { return turns_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return turns_.size(); }

  /// Promises `n` tokens to a call, which has no other promise.
  void add(time_point turn, call_id call, std::uint32_t n) {
    turns_.emplace(std::pair{turn, call}, n);
  }

  /// Takes a promise back. Returns whether its turn had not come yet.
  bool remove(time_point turn, call_id call) {
    return turns_.erase({turn, call}) > 0;
  }

  /// Brings the source up to `now`. Turns that have come are taken at their
  /// instants, even if a drain or a change has left too few tokens: those that
  /// come afterwards pay for that.
  void settle(rate_source& source, time_point now);

  /// Takes `n` tokens if they are there and none of them is promised.
  bool take(rate_source& source, std::int64_t n) const;

private:
  using list = std::map<std::pair<time_point, call_id>, std::uint32_t>;

public:
  /// A look into the future, in which calls are put one behind the other
  /// between the promised turns.
  class outlook {
  public:
    /// Both must stay as they are meanwhile, and `source` be up to date.
    outlook(const promised_turns& promised, const rate_source& source)
      : source_(source), next_(promised.turns_.begin()),
        end_(promised.turns_.end()) {}

    /// When `n` tokens can be taken at the earliest, not before `from` nor
    /// before those that were put earlier; `never` if that is beyond the clock.
    /// Takes them.
    time_point put(std::int64_t n, time_point from);

  private:
    [[nodiscard]] bool fits(rate_source source, std::int64_t n,
                            time_point t) const;

    rate_source source_;
    list::const_iterator next_;
    list::const_iterator end_;
  };

private:
  list turns_;
};

} // namespace caisson::detail
