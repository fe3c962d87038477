// Conditions that hold unless the code is wrong, checked in every build.
#pragma once

#include <caisson/base/time.hpp>

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace caisson {

/// What `CAISSON_ENSURE` throws if its condition is false: the code is wrong,
/// and what it worked on cannot be trusted any more. Do not catch it in a
/// policy: the gate does, answers its calls with `internal_error`, and ends.
class invariant_violation : public std::logic_error {
public:
  using std::logic_error::logic_error;
};

/// From now on a violated invariant ends the process, after its text was
/// written to stderr (or, with `false`, throws): so that no test passes in
/// spite of it. On from the start in builds with AddressSanitizer and if the
/// runtime is compiled with `CAISSON_ABORT_ON_VIOLATION`. Thread-safe.
void abort_on_violation(bool x) noexcept;

/// Whether it does.
[[nodiscard]] bool aborts_on_violation() noexcept;

namespace detail {

/// A number, a duration or a text of a message.
class ensured_value {
public:
  enum class kind : std::uint8_t { natural, integer, real, time, text };

  template <std::integral T>
  ensured_value(T x) noexcept
    : kind_(std::is_signed_v<T> ? kind::integer : kind::natural),
      number_(static_cast<std::uint64_t>(x)) {}
  template <class T>
    requires std::is_enum_v<T> ensured_value(T x)
  noexcept : ensured_value(static_cast<std::underlying_type_t<T>>(x)) {}
  ensured_value(double x) noexcept : kind_(kind::real), real_(x) {}
  ensured_value(duration x) noexcept
    : kind_(kind::time), number_(static_cast<std::uint64_t>(x.count())) {}
  template <std::convertible_to<std::string_view> T>
  ensured_value(const T& x) noexcept : kind_(kind::text), text_(x) {}

  /// Calls `f` with what it is; durations are texts for people.
  template <class F>
  void visit(F f) const {
    switch (kind_) {
      case kind::natural:
        return f(number_);
      case kind::integer:
        return f(static_cast<std::int64_t>(number_));
      case kind::real:
        return f(real_);
      case kind::time:
        return f(rounded_text(duration{static_cast<std::int64_t>(number_)}));
      case kind::text:
        return f(text_);
    }
  }

private:
  kind kind_;
  std::uint64_t number_ = 0;
  double real_ = 0;
  std::string_view text_;
};

/// What the code works on, as the texts of violated invariants end with it.
class current_work {
public:
  /// Its state, for people; empty if there is none. It may be what
  /// is wrong.
  [[nodiscard]] virtual std::string describe() const = 0;

protected:
  ~current_work() = default;
};

inline constinit thread_local const current_work* present_work = nullptr;

/// As long as it lives, this thread works on that.
class work_scope {
public:
  explicit work_scope(const current_work& x) noexcept
    : outer_(std::exchange(present_work, &x)) {}
  ~work_scope() { present_work = outer_; }

  work_scope(const work_scope&) = delete;
  work_scope& operator=(const work_scope&) = delete;

private:
  const current_work* outer_;
};

[[noreturn, gnu::cold, gnu::noinline]] void
violated(const char* condition, const char* file, int line,
         std::string_view format, std::initializer_list<ensured_value> values);

// By value: the address of a variable that is given here would keep it out of
// registers also where nothing is wrong.
template <class... Ts>
[[noreturn, gnu::cold, gnu::always_inline]] inline void
violated_with(const char* condition, const char* file, int line,
              std::string_view format = {}, Ts... values) {
  violated(condition, file, line, format, {ensured_value{values}...});
}

} // namespace detail

} // namespace caisson

/// Checks, in every build, that a condition holds that only a mistake in the
/// code can break. Evaluates it once. If it is false, throws an
/// `invariant_violation` with the condition, the place and, if there is one,
/// the message: a format of fmt, and numbers, enumerators, durations and texts
/// for its gaps, which are evaluated only then. In a gate the state of the
/// current call follows. Or ends the process, see `abort_on_violation`.
///
/// Not for what callers, workers or files can get wrong. Not in destructors,
/// `noexcept` functions and on the way that a gate takes to its end: what is
/// thrown there ends the process.
///
/// `CAISSON_NO_ENSURE` is for `test/mutants/run --alone`, which measures what
/// tests notice without invariants. Never define it elsewhere: gates would go
/// on with what cannot be trusted.
#ifdef CAISSON_NO_ENSURE
#define CAISSON_ENSURE(condition, ...)                 \
  do {                                                 \
    /* Some conditions count on what they evaluate. */ \
    static_cast<void>(condition);                      \
  } while (false)
#else
#define CAISSON_ENSURE(condition, ...)                                       \
  do {                                                                       \
    if (!(condition)) [[unlikely]]                                           \
      ::caisson::detail::violated_with(#condition, __FILE__,                 \
                                       __LINE__ __VA_OPT__(, ) __VA_ARGS__); \
  } while (false)
#endif
