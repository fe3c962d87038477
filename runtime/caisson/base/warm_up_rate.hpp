// A rate limit that is lower after a quiet time.
#pragma once

#include <caisson/base/time.hpp>

#include <cstdint>

namespace caisson {

/// How fast a `warm_up_rate` lets calls go.
struct warm_up_shape {
  /// `rate` calls in each `per` once it is warm; both at least 1.
  std::int64_t rate = 1;
  duration per = std::chrono::seconds(1);
  /// How long it takes from cold to warm if calls are always available.
  duration warm_up = std::chrono::seconds(10);
  /// How many times as long the interval is while it is cold; above 1.
  double cold_factor = 3;
};

/// A leaky bucket whose intervals are longer while it is cold: at first, and
/// again after nobody has taken tokens for the time of the warm-up. In between
/// they shrink linearly with each token that is taken.
///
/// The model is that of Guava's SmoothWarmingUp and Sentinel's warm-up: tokens
/// are stored while nobody takes any, and a stored token above a threshold
/// costs more time than a fresh one. With the interval `s` of a warm one and
/// `c = cold_factor * s` of a cold one, the threshold is `warm_up / (2 s)`,
/// `warm_up / ((s + c) / 2)` tokens can be stored above it, and all of them
/// come back in `warm_up`. Time is passed in and may stand still or step back.
class warm_up_rate {
public:
  /// Cold at first.
  explicit warm_up_rate(const warm_up_shape& x) noexcept;

  void advance(time_point now) noexcept;

  /// Takes `n` tokens if nothing of an earlier call is left. The time that they
  /// cost must pass before the next call.
  bool take(std::int64_t n) noexcept;

  /// Takes `n` tokens even if something is left of an earlier call.
  void take_in_any_case(std::int64_t n) noexcept;

  /// Gives back `n` tokens, as if they had not been taken: it is as cold as it
  /// was, and the next call can go that much earlier, but not before the end of
  /// a drain.
  void put_back(std::int64_t n) noexcept;

  /// There are no tokens until then, or the end of an earlier drain; then it is
  /// cold.
  void drain(time_point until) noexcept;

  /// As new.
  void fill(time_point now) noexcept;

  /// When `n` tokens can be taken, after `ahead` others; an instant that has
  /// passed if they are there.
  [[nodiscard]] time_point ready_at(std::int64_t ahead,
                                    std::int64_t n) const noexcept;

  /// When it is cold, if nobody takes any.
  [[nodiscard]] time_point full_at() const noexcept;

  /// 1 if a call can go, else 0.
  [[nodiscard]] std::int64_t tokens() const noexcept {
    return at_ >= next_ ? 1 : 0;
  }

  /// Changes the numbers. It stays as cold as it is.
  void reshape(const warm_up_shape& x) noexcept;

  friend bool operator==(const warm_up_rate&, const warm_up_rate&) = default;

private:
  void set(const warm_up_shape& x) noexcept;

  /// The nanoseconds that the next `n` tokens cost.
  [[nodiscard]] double cost_of(double n) const noexcept;

  /// In nanoseconds.
  double warm_interval_ = 1;
  double cold_interval_ = 1;
  double warm_up_ = 1;
  double threshold_ = 0;
  double most_ = 1;
  double stored_ = 1;
  /// When the next call can go, and the part of a nanosecond that is left.
  time_point next_ = time_point::min();
  double part_ = 0;
  time_point at_ = time_point::min();
  time_point held_until_ = time_point::min();
};

} // namespace caisson
