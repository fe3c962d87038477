// Turns at a rate limit that were promised for later.
#pragma once

#include <caisson/base/time.hpp>
#include <caisson/policy/call_info.hpp>
#include <caisson/policy/rate_source.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace caisson::detail {

/// Calls whose turn at a `rate_source` is promised for a certain instant, each
/// with its tokens, which are taken at that instant. Until then others may only
/// take what leaves enough for every promise.
///
/// Everything takes O(log size) while one turn follows the other and nobody
/// goes in between. Otherwise it takes O(size) to find or to close a gap, and
/// more only if many of those who wait could go earlier but for a promise.
class promised_turns {
  using key = std::pair<time_point, call_id>;
  using list = std::map<key, std::uint32_t>;

public:
  [[nodiscard]] bool empty() const noexcept { return turns_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return turns_.size(); }

  /// Promises `n` tokens to a call, which has no other promise.
  void add(time_point turn, call_id call, std::uint32_t n);

  /// Takes a promise back. Returns whether its turn had not come yet. With a
  /// source that `needs_order`, only the last one leaves room: the others stay
  /// as if their calls were still to come.
  bool remove(const rate_source& source, time_point turn, call_id call);

  /// Brings the source up to `now`. Turns that have come are taken at their
  /// instants, even if a drain or a change has left too few tokens: those that
  /// come afterwards pay for that.
  void catch_up(rate_source& source, time_point now);

  /// Whether all turns have come by `now` and the source is as full then as if
  /// there had been none.
  [[nodiscard]] bool are_over(rate_source source,
                              time_point now) const noexcept;

  /// Takes `n` tokens if they are there and none of them is promised.
  bool take(rate_source& source, std::int64_t n) const;

  /// When `n` tokens can be taken at the earliest, not before `from`, and
  /// behind calls that take so many `before`, one after the other; `never` if
  /// that is beyond the clock. The source must be up to date.
  time_point turn_of(const rate_source& source,
                     const std::vector<std::uint32_t>& before, std::int64_t n,
                     time_point from);

private:
  // Room before the next promise.
  struct gap {
    // Before anything is taken here, with and without the calls that were put
    // between the promises.
    rate_source source;
    rate_source without;
    list::const_iterator next;
    time_point turn = never;
  };

  [[nodiscard]] gap find(gap x, const std::vector<std::uint32_t>& before,
                         std::int64_t n, time_point from) const;
  [[nodiscard]] gap first_gap(const rate_source& source);
  void ensure_full_gaps() const;

  // No gap up to the promise `last` has room for anybody, who would take one
  // token at least. That holds for a source that is as `now`. `then` is that
  // source after `last`.
  struct full_gaps {
    rate_source now;
    rate_source then;
    key last;
  };

  list turns_;
  std::optional<full_gaps> full_;
};

} // namespace caisson::detail
