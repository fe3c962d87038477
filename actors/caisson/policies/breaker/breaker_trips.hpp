// Trip rules of a breaker, by name, and sets of them.
#pragma once

#include <caisson/settings/fwd.hpp>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace caisson {

/// A rule that makes a closed breaker open.
enum class breaker_trip : std::uint8_t {
  /// `threshold` failures with no success between them.
  consecutive,
  /// `threshold` failures, each less than `quiet_period` after the previous
  /// one.
  without_gap,
  /// Too large a share of the last `window_calls` calls failed.
  rate_by_count,
  /// Too large a share of the results of the last `window_time` were failures.
  rate_by_time,
  /// Load, failures and latency together are too high; see `breaker_score`.
  score,
};

template <>
struct enum_names<breaker_trip> {
  static constexpr std::string_view value[] = {
    "consecutive", "without_gap", "rate_by_count", "rate_by_time", "score"};
};

/// A set of trip rules. In configurations: a name, or a list of names.
class breaker_trips {
public:
  /// No rule.
  constexpr breaker_trips() = default;

  /// One rule; implicit.
  constexpr breaker_trips(breaker_trip x) : bits_(bit(x)) {}

  /// These rules, in any order, also repeated.
  constexpr breaker_trips(std::initializer_list<breaker_trip> xs) {
    for (auto x : xs)
      add(x);
  }

  /// Adds a rule; does nothing if it is there.
  constexpr void add(breaker_trip x) { bits_ |= bit(x); }

  /// Whether the rule is in the set.
  [[nodiscard]] constexpr bool has(breaker_trip x) const {
    return (bits_ & bit(x)) != 0;
  }

  /// Whether there is no rule.
  [[nodiscard]] constexpr bool empty() const { return bits_ == 0; }

  /// Whether all of them exist.
  [[nodiscard]] constexpr bool valid() const {
    return bits_ < bit(breaker_trip::score) << 1;
  }

  friend constexpr bool operator==(const breaker_trips&, const breaker_trips&)
    = default;

private:
  static constexpr std::uint32_t bit(breaker_trip x) {
    // A value that does not exist must not look like one that does.
    auto i = static_cast<std::uint32_t>(x);
    return std::uint32_t{1} << (i < 31 ? i : 31);
  }

  std::uint32_t bits_ = 0;
};

} // namespace caisson
