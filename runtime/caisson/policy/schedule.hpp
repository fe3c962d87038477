// Backoff schedules: how long to wait before the next attempt.
#pragma once

#include <caisson/base/time.hpp>
#include <caisson/settings/fwd.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace caisson {

class random_source;

/// How to randomise a delay d. Jitter always starts from the schedule's own
/// value and never compounds from one delay to the next.
enum class jitter : std::uint8_t {
  /// d
  none,
  /// uniform in [0, d)
  full,
  /// d/2 + uniform in [0, d/2)
  equal,
  /// uniform in [d - f·d, d + f·d), f the jitter factor; the interval ends at
  /// the longest delay allowed, so that delays do not pile up there
  factor,
};

template <>
struct enum_names<jitter> {
  static constexpr std::string_view value[] = {"none", "full", "equal",
                                               "factor"};
};

/// A sequence of delays, finite or endless: one or more segments in order. A
/// value type. The user keeps the position in a `cursor`, so one schedule
/// serves any number of calls.
///
///     schedule::exponential(50ms).limit(2s).jittered(jitter::full)
///     schedule::constant(10ms).take(3).then(schedule::fibonacci(100ms))
///     schedule::list({10ms, 50ms, 1s})
class schedule {
public:
  /// How the delays of a segment follow from its members and their number n,
  /// from 0 on.
  enum class shape : std::uint8_t {
    constant,     ///< base
    linear,       ///< base + n·step
    exponential,  ///< base·factorⁿ
    fibonacci,    ///< base·F(n): 1, 1, 2, 3, 5, 8 …
    decorrelated, ///< uniform in [base, factor·previous); first: base
    list,         ///< those of `delays`, each once
    custom,       ///< a function of n, from code only
  };

  /// The n-th delay, n = 0, 1, …; nothing ends the segment. If it throws, there
  /// is no delay; each use of a schedule documents the effect. Each gate calls
  /// its own copy, so a function may have state without locks, unless its
  /// copies share it.
  using function = std::function<std::optional<duration>(std::uint32_t n)>;

  /// A function within a schedule, as a value. Copies share its state, except
  /// for `detached`. All of them are equal, and different from a newly created
  /// one.
  class custom_function {
  public:
    /// None.
    custom_function() = default;

    /// A new one, which calls `f`. An empty `f` is as none.
    explicit custom_function(function f)
      : origin_(std::make_shared<const function>(std::move(f))),
        called_(origin_) {}

    [[nodiscard]] explicit operator bool() const noexcept {
      return called_ && *called_;
    }

    std::optional<duration> operator()(std::uint32_t n) const {
      return (*called_)(n);
    }

    /// The same with a copy of the function of its own, so that they share no
    /// state unless the function itself refers to some. Still equal to this
    /// one.
    [[nodiscard]] custom_function detached() const;

    friend bool operator==(const custom_function& x,
                           const custom_function& y) noexcept {
      return x.origin_ == y.origin_;
    }

  private:
    // Identifies the original function. Detached copies never call it.
    std::shared_ptr<const function> origin_;
    std::shared_ptr<const function> called_;
  };

  /// A part of a schedule with delays of one shape. Ranges are those that
  /// configs check; the functions below do not check them.
  struct segment {
    /// How the delays grow.
    shape kind = shape::constant;
    /// The first delay, 0 or more; more than 0 if it is multiplied
    /// (exponential, fibonacci, decorrelated).
    duration base = duration::zero();
    /// For `linear`: what each further delay adds, 0 or more.
    duration step = duration::zero();
    /// For `exponential` and `decorrelated` (3 in the original form): 1 to
    /// 1000000.
    double factor = 2.0;
    /// No delay is longer than this, including jitter. At least `base`.
    duration max = unlimited;
    /// Not for `decorrelated`, which is itself random.
    jitter spread = jitter::none;
    /// For `jitter::factor`: 0 to 1.
    double spread_factor = 0.25;
    /// How many delays this segment has, up to 1000000; 0: no limit.
    std::uint32_t take = 0;
    /// The segment ends before the sum of its delays would exceed this.
    duration until = unlimited;
    /// For `custom`; without a function there are no delays.
    custom_function custom = {};
    /// For `list`: 1 to 1000 delays of 0 or more.
    std::vector<duration> delays = {};

    friend bool operator==(const segment&, const segment&) = default;
  };

  /// A position in a schedule. Trivially copyable, 32 bytes at most.
  struct cursor {
    /// The last delay, before jitter; zero before the first one.
    duration previous = duration::zero();
    /// The sum of the delays so far in the present segment, jitter included.
    duration elapsed = duration::zero();
    /// How many delays the present segment has given.
    std::uint32_t index = 0;
    /// The present segment, counted from 0; their number once it is exhausted.
    std::uint32_t segment = 0;
  };

  /// No delays at all: exhausted from the start.
  schedule() = default;

  /// As `constant`: where a schedule is expected, `10s` can be written. Not
  /// what would have to be rounded.
  template <class Rep, class Period,
            class = std::enable_if_t<std::is_convertible_v<
              std::chrono::duration<Rep, Period>, duration>>>
  schedule(std::chrono::duration<Rep, Period> delay)
    : schedule(constant(duration{delay})) {}

  /// These segments in order. Without one it is exhausted from the start.
  explicit schedule(std::vector<segment> segments)
    : segments_(std::move(segments)) {}

  /// Always `delay`, without an end.
  static schedule constant(duration delay);
  /// `base`, then `step` more each time, without an end.
  static schedule linear(duration base, duration step);
  /// `base`, then each time `factor` times as long, without an end.
  static schedule exponential(duration base, double factor = 2.0);
  /// `base` times 1, 1, 2, 3, 5, 8 …, without an end.
  static schedule fibonacci(duration base);

  /// AWS's "decorrelated jitter": uniform in [base, factor·previous), at most
  /// `max`. Source: M. Brooker, "Exponential Backoff And Jitter", 2015.
  static schedule decorrelated(duration base, duration max,
                               double factor = 3.0);
  /// What `f` returns for 0, 1, …, until it returns nothing. Results below zero
  /// count as zero.
  static schedule custom(function f);

  /// These delays, then it is exhausted.
  static schedule list(std::vector<duration> delays);

  /// This schedule, but no delay of the last segment is longer than `max`.
  [[nodiscard]] schedule limit(duration max) const;
  /// This schedule with jitter in the last segment. `f` applies to
  /// `jitter::factor` only.
  [[nodiscard]] schedule jittered(jitter spread, double f = 0.25) const;
  /// This schedule, but its last segment ends after `n` delays; without the
  /// last segment if `n` is 0.
  [[nodiscard]] schedule take(std::uint32_t n) const;
  /// This schedule, but its last segment ends before the sum of its delays
  /// would exceed `sum`.
  [[nodiscard]] schedule until(duration sum) const;
  /// This schedule, followed by `next`.
  [[nodiscard]] schedule then(const schedule& next) const;

  /// The next delay, or nothing if the schedule is exhausted. Never negative,
  /// never overflows. Depends only on `at` and `random`. Throws what a custom
  /// function throws; the next call then computes the same delay.
  [[nodiscard]] std::optional<duration> next(cursor& at,
                                             random_source& random) const;

  /// This schedule with custom functions that share no state with other copies,
  /// because many gates, each on its own thread, use the config of a policy.
  [[nodiscard]] schedule detached() const;

  /// Whether it has no segment, so that there are no delays at all.
  [[nodiscard]] bool empty() const noexcept { return segments_.empty(); }

  /// Whether any of its delays is random.
  [[nodiscard]] bool random() const noexcept;

  /// Its parts, in order.
  [[nodiscard]] const std::vector<segment>& segments() const noexcept {
    return segments_;
  }

  friend bool operator==(const schedule&, const schedule&) = default;

  /// One line of text, such as `exponential 50ms ×2 up to 2s, full jitter`. A
  /// friend, so that durations are not converted for it.
  [[nodiscard]] friend std::string to_text(const schedule& s) {
    return s.text();
  }

private:
  [[nodiscard]] std::string text() const;

  std::vector<segment> segments_;
};

/// Prepares a change from `present`, which is detached, to `next`, and detaches
/// `next`. If the two are equal, `next` gets the functions of `present` with
/// their state. Returns whether they are equal.
bool take_over_schedule(schedule& next, const schedule& present);

template <>
struct enum_names<schedule::shape> {
  static constexpr std::string_view value[] = {
    "constant", "linear", "exponential", "fibonacci", "decorrelated", "list"};
};

} // namespace caisson
