// Sources of tokens for rate limits.
#pragma once

#include <caisson/base/fixed_window.hpp>
#include <caisson/base/gcra.hpp>
#include <caisson/base/leaky_bucket.hpp>
#include <caisson/base/sliding_window.hpp>
#include <caisson/base/warm_up_rate.hpp>
#include <caisson/policy/rate_algorithm.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string_view>
#include <variant>

namespace caisson {

namespace detail {

/// The numbers of a `rate_source`.
struct rate_shape {
  rate_algorithm algorithm = rate_algorithm::token_bucket;
  std::int64_t rate = 1;
  duration per = std::chrono::seconds(1);
  std::int64_t burst = 1;
  duration warm_up_time = std::chrono::seconds(10);
  double cold_factor = 3;
};

/// A source of tokens that works by one of the algorithms. Time is passed in
/// and may stand still or step back; the latest instant seen counts.
class rate_source {
  using any = std::variant<gcra, fixed_window, sliding_window, leaky_bucket,
                           warm_up_rate>;

  static any source_of(const rate_shape& x);

  // The token bucket is what most have, and the others are called.
  template <class F>
  [[gnu::always_inline]] decltype(auto) on_any(F f) {
    if (auto* x = std::get_if<gcra>(&any_)) [[likely]]
      return f(*x);
    return on_another(any_, f);
  }
  template <class F>
  [[gnu::always_inline]] decltype(auto) on_any(F f) const {
    if (auto* x = std::get_if<gcra>(&any_)) [[likely]]
      return f(*x);
    return on_another(any_, f);
  }

  template <class Any, class F>
  [[gnu::noinline]] static decltype(auto) on_another(Any& x, F& f) {
    return std::visit(f, x);
  }

public:
  /// As after `fill`.
  explicit rate_source(const rate_shape& x) : any_(source_of(x)) {}

  void advance(time_point now) noexcept {
    on_any([&](auto& x) { x.advance(now); });
  }

  /// Takes `n` tokens if they are there.
  bool take(std::int64_t n) noexcept {
    return on_any([&](auto& x) { return x.take(n); });
  }

  /// Takes `n` tokens whether they are there or not: if not, it takes longer
  /// until the next ones are.
  void take_in_any_case(std::int64_t n) noexcept {
    on_any([&](auto& x) { x.take_in_any_case(n); });
  }

  /// Gives back `n` tokens that were taken at `taken`.
  void put_back(std::int64_t n, time_point taken, time_point now) noexcept;

  /// There are no tokens until then, or the end of an earlier drain.
  void drain(time_point until) noexcept {
    on_any([&](auto& x) { x.drain(until); });
  }

  void fill(time_point now) noexcept {
    on_any([&](auto& x) { x.fill(now); });
  }

  /// When `n` tokens can be taken, after `ahead` others that wait; an instant
  /// that has passed if they are there.
  [[nodiscard]] time_point ready_at(std::int64_t ahead,
                                    std::int64_t n) const noexcept;

  /// When it is as after `fill`, if nobody takes any.
  [[nodiscard]] time_point full_at() const noexcept;

  /// How many can be taken at the latest instant seen.
  [[nodiscard]] std::int64_t tokens() const noexcept {
    return std::max<std::int64_t>(
      on_any([](const auto& x) { return x.tokens(); }), 0);
  }

  /// The most that can ever be taken at once.
  [[nodiscard]] std::int64_t heaviest() const noexcept {
    return on_any([](const auto& x) {
      if constexpr (requires { x.heaviest(); })
        return x.heaviest();
      else
        return std::numeric_limits<std::int64_t>::max();
    });
  }

  /// Changes the numbers. What was taken stays taken, unless the algorithm is
  /// another one.
  void reshape(const rate_shape& x, time_point now);

  /// Whether a call that is not made can leave less to those after it: while
  /// nobody comes it gets cold, and they cost more.
  [[nodiscard]] bool needs_order() const noexcept {
    return std::holds_alternative<warm_up_rate>(any_);
  }

  friend bool operator==(const rate_source&, const rate_source&) = default;

private:
  any any_;
};

} // namespace detail

} // namespace caisson
