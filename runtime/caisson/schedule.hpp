// Backoff schedules: how long to wait before the next try.
#pragma once

#include <caisson/field.hpp>
#include <caisson/random.hpp>
#include <caisson/time.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace caisson {

/// How a delay d is spread at random. Jitter is always drawn from the
/// schedule's own value and never compounds from one delay to the next.
enum class jitter : std::uint8_t {
  /// d
  none,
  /// uniform in [0, d)
  full,
  /// d/2 + uniform in [0, d/2)
  equal,
  /// uniform in [d - f·d, d + f·d), f the jitter factor; the interval is cut
  /// off at the longest delay allowed, so that delays do not pile up there
  factor,
};

template <>
struct enum_names<jitter> {
  static constexpr std::string_view value[] = {"none", "full", "equal",
                                               "factor"};
};

/// A sequence of delays, finite or endless: one or more segments in order.
/// A value type; the place within the sequence is a `cursor` that the user
/// keeps, so that one schedule serves any number of calls.
///
///     schedule::exponential(50ms).limit(2s).jittered(jitter::full)
///     schedule::constant(10ms).take(3).then(schedule::fibonacci(100ms))
class schedule {
public:
  enum class shape : std::uint8_t {
    constant,     // base
    linear,       // base + n·step
    exponential,  // base·factorⁿ
    fibonacci,    // base·F(n): 1, 1, 2, 3, 5, 8 …
    decorrelated, // uniform in [base, factor·previous); first: base
    custom,       // a function of n, from code only
  };

  /// The n-th delay, n = 0, 1, …; nothing ends the segment. If it throws,
  /// what uses the schedule goes on without a delay; each use says how. Each
  /// gate calls a copy of its own, so that a function may remember things
  /// without locks, unless its copies share them.
  using function = std::function<std::optional<duration>(std::uint32_t n)>;

  /// A function within a schedule, as a value. Copies share what it remembers,
  /// but `detached` does not; all of them are equal, and different from one
  /// that was made anew.
  class custom_function {
  public:
    /// None.
    custom_function() = default;

    explicit custom_function(function f)
      : origin_(std::make_shared<const function>(std::move(f))),
        called_(origin_) {}

    [[nodiscard]] explicit operator bool() const noexcept {
      return called_ && *called_;
    }

    std::optional<duration> operator()(std::uint32_t n) const {
      return (*called_)(n);
    }

    [[nodiscard]] custom_function detached() const;

    friend bool operator==(const custom_function& x,
                           const custom_function& y) noexcept {
      return x.origin_ == y.origin_;
    }

  private:
    // Tells which function this is a copy of, and is never called by copies
    // that were detached.
    std::shared_ptr<const function> origin_;
    std::shared_ptr<const function> called_;
  };

  struct segment {
    shape kind = shape::constant;
    /// The first delay, 0 or more; more than 0 where it is multiplied
    /// (exponential, fibonacci, decorrelated).
    duration base = duration::zero();
    /// For `linear`: what each further delay adds, 0 or more.
    duration step = duration::zero();
    /// For `exponential` and `decorrelated` (3 in the original form): 1 to
    /// 1000000.
    double factor = 2.0;
    /// No delay is longer than this, jitter included. At least `base`.
    duration max = unlimited;
    /// Not for `decorrelated`, which is random by itself.
    jitter spread = jitter::none;
    /// For `jitter::factor`: 0 to 1.
    double spread_factor = 0.25;
    /// How many delays this segment has, up to 1000000; 0: no limit.
    std::uint32_t take = 0;
    /// The segment ends before the sum of its delays would exceed this.
    duration until = unlimited;
    custom_function custom = {};

    friend bool operator==(const segment&, const segment&) = default;
  };

  /// A place within a schedule. Trivially copyable, 32 bytes at most.
  struct cursor {
    duration previous = duration::zero();
    duration elapsed = duration::zero();
    std::uint32_t index = 0;
    std::uint32_t segment = 0;
  };

  /// No delays at all: exhausted from the start.
  schedule() = default;

  explicit schedule(std::vector<segment> segments)
    : segments_(std::move(segments)) {}

  static schedule constant(duration delay);
  static schedule linear(duration base, duration step);
  static schedule exponential(duration base, double factor = 2.0);
  static schedule fibonacci(duration base);

  /// AWS's "decorrelated jitter": uniform in [base, factor·previous), at most
  /// `max`. Source: M. Brooker, "Exponential Backoff And Jitter", 2015.
  static schedule decorrelated(duration base, duration max,
                               double factor = 3.0);
  static schedule custom(function f);

  /// The same with no delay of the last segment longer than `max`.
  [[nodiscard]] schedule limit(duration max) const;
  /// The same with jitter in the last segment. `f` counts for
  /// `jitter::factor` only.
  [[nodiscard]] schedule jittered(jitter spread, double f = 0.25) const;
  /// The same with the last segment ending after `n` delays; without the last
  /// segment if `n` is 0.
  [[nodiscard]] schedule take(std::uint32_t n) const;
  /// The same with the last segment ending before the sum of its delays would
  /// exceed `sum`.
  [[nodiscard]] schedule until(duration sum) const;
  /// This one, and when it is exhausted, `next`.
  [[nodiscard]] schedule then(const schedule& next) const;

  /// The next delay, or nothing if the schedule is exhausted. Never negative,
  /// never overflows. Decides from `at` and `random` alone. Throws what a
  /// custom function throws; the next call asks for the same delay then.
  [[nodiscard]] std::optional<duration> next(cursor& at,
                                             random_source& random) const;

  /// The same with custom functions that share nothing with any other copy.
  /// What a policy is given is used by many gates, each on its own thread.
  [[nodiscard]] schedule detached() const;

  [[nodiscard]] bool empty() const noexcept { return segments_.empty(); }

  /// Whether any of its delays is drawn at random.
  [[nodiscard]] bool random() const noexcept;

  [[nodiscard]] const std::vector<segment>& segments() const noexcept {
    return segments_;
  }

  friend bool operator==(const schedule&, const schedule&) = default;

private:
  std::vector<segment> segments_;
};

/// For a user whose schedule changes from `present`, which is detached, to
/// `next`: detaches it. If the two are equal, `next` gets the functions of
/// `present`, which remember what they have. Returns whether they are equal.
bool take_over(schedule& next, const schedule& present);

template <>
struct enum_names<schedule::shape> {
  static constexpr std::string_view value[] = {
    "constant", "linear", "exponential", "fibonacci", "decorrelated"};
};

/// One line for people, such as `exponential 50ms ×2 up to 2s, full jitter`.
[[nodiscard]] std::string to_text(const schedule& s);

} // namespace caisson
