// A budget that limits retries to a share of the traffic.
#pragma once

#include <caisson/base/time.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

namespace caisson {

/// Decides whether one more retry is affordable. Each first attempt deposits
/// `ratio` of a retry, each retry withdraws a whole one, and both expire `ttl`
/// later. A reserve of `reserve · ttl` (in seconds) allows retries to callers
/// that have just started or call rarely.
///
/// The rules are those of Finagle's `RetryBudget`, which has deposits of one
/// and withdrawals of 1/ratio. Here a retry costs a million units, so all sums
/// are exact integers, and `ratio` has steps of a millionth.
///
/// `ttl` is divided into ten slices, counted from the first call on, so entries
/// expire between 0.9 and 1 `ttl` later, a slice at a time. No withdrawal
/// expires before the deposits that paid for it. So the retries granted within
/// any 0.9 `ttl` are at most the reserve plus `ratio` times the first attempts
/// of the `ttl` that ends with them. While the clock stands still or steps
/// back, nothing expires.
class retry_budget {
public:
  /// The limits of a budget.
  struct limits {
    /// How long deposits and withdrawals count: 1s to 60s.
    duration ttl = std::chrono::seconds(10);
    /// Retries per second that need no deposit: 0 to 1000000.
    std::uint32_t reserve = 10;
    /// Retries that a first attempt pays for: 0 to 1. With 0 there is only the
    /// reserve.
    double ratio = 0.2;

    friend bool operator==(const limits&, const limits&) = default;
  };

  /// Starts with the whole reserve and no deposits. `l` must be in range.
  explicit retry_budget(const limits& l);

  /// Records a first attempt.
  void deposit(time_point now) {
    roll(now);
    if (sum_ < most)
      book(share_);
  }

  /// Records a retry that counts as `cost` retries, 1 to 100, if it is
  /// affordable; otherwise returns false and changes nothing.
  [[nodiscard]] bool try_withdraw(time_point now, std::uint32_t cost = 1);

  /// Withdraws as many of `cost` retries as there are.
  void charge(time_point now, std::uint32_t cost);

  /// How many retries are affordable at `now`.
  [[nodiscard]] std::int64_t balance(time_point now);

  /// How many retries were affordable after the last call to another member.
  [[nodiscard]] std::int64_t balance() const noexcept;

  /// Restores the state after construction.
  void clear() noexcept;

private:
  // What a retry costs.
  static constexpr std::int64_t unit = 1'000'000;

  static constexpr std::size_t slice_count = 10;

  // More than any traffic deposits in a minute; keeps the sums from overflowing
  // under a clock that stands still.
  static constexpr auto most = std::numeric_limits<std::int64_t>::max() / 4;

  // The newest slice also stays in use if the clock stepped back.
  void roll(time_point now) {
    if (!end_ || now >= *end_) [[unlikely]]
      begin_slice(now);
  }
  void begin_slice(time_point now);
  void book(std::int64_t amount) noexcept {
    slices_[newest_] += amount;
    sum_ += amount;
  }

  duration width_;
  std::int64_t reserve_;
  std::int64_t share_;

  // Deposits minus withdrawals, by slice and in sum.
  std::array<std::int64_t, slice_count> slices_{};
  std::int64_t sum_ = 0;
  std::size_t newest_ = 0;
  // When the newest slice ends; nothing before the first call.
  std::optional<time_point> end_;
};

} // namespace caisson
