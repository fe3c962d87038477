// The value of a call, or why there is none.
#pragma once

#include <caisson/base/time.hpp>
#include <caisson/caf/caf.hpp>
#include <caisson/caf/error.hpp>

#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

namespace caisson {

namespace detail {

/// How a call ended.
struct call_end {
  /// No error: there is a value.
  caf::error error = {};
  bool may_have_executed = true;
  duration retry_after = duration::zero();
  /// What a function of the user's threw, if the error is that.
  std::exception_ptr thrown = {};
};

} // namespace detail

/// A call has ended without a value, by decision of a policy.
class call_error : public std::runtime_error {
public:
  /// Its `what()` is `to_text(err)`.
  explicit call_error(caf::error err)
    : std::runtime_error(to_text(err)), error_(std::move(err)) {}

  /// Why the call has ended, as in `result::error`.
  [[nodiscard]] const caf::error& error() const noexcept { return error_; }

private:
  caf::error error_;
};

/// The value of a call, or why there is none.
template <class T>
class [[nodiscard]] result {
public:
  /// What is kept of a value: nothing of a `void` function.
  using stored_type = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

  /// Made by guards and requests.
  explicit result(stored_type value) : value_(std::move(value)) {}
  /// Made by guards and requests, of a call without a value.
  explicit result(detail::call_end failure) : failure_(std::move(failure)) {}

  /// Whether there is a value.
  [[nodiscard]] bool ok() const noexcept { return value_.has_value(); }
  /// Whether there is a value.
  explicit operator bool() const noexcept { return ok(); }

  /// The value. Without one, throws what the function has thrown in the last
  /// attempt, or `call_error` if a policy has ended the call.
  stored_type& value() & {
    require();
    return *value_;
  }
  /// The value, which cannot be changed; throws as above.
  const stored_type& value() const& {
    require();
    return *value_;
  }
  /// The value, to be moved out; throws as above.
  stored_type&& value() && {
    require();
    return std::move(*value_);
  }

  /// The value, or `other` if there is none.
  template <class U>
  [[nodiscard]] stored_type value_or(U&& other) const& {
    return value_ ? *value_ : static_cast<stored_type>(std::forward<U>(other));
  }
  /// The value, moved out, or `other` if there is none.
  template <class U>
  [[nodiscard]] stored_type value_or(U&& other) && {
    return value_ ? std::move(*value_)
                  : static_cast<stored_type>(std::forward<U>(other));
  }

  /// @pre ok()
  stored_type& operator*() & noexcept { return *value_; }
  const stored_type& operator*() const& noexcept { return *value_; }
  stored_type&& operator*() && noexcept { return std::move(*value_); }
  stored_type* operator->() noexcept { return &*value_; }
  const stored_type* operator->() const noexcept { return &*value_; }

  /// Why there is no value: an `errc` if a policy has ended the call, CAF's
  /// `runtime_error` with a text if the function has thrown; no error if there
  /// is a value. `err == errc::breaker_open` compares.
  [[nodiscard]] const caf::error& error() const noexcept {
    return failure_.error;
  }

  /// The error as a text for people, such as `breaker_open by payments, retry
  /// after 2.00 s`.
  [[nodiscard]] std::string text() const { return to_text(failure_.error); }

  /// What the function has thrown in the last attempt; null if there is a
  /// value, or a policy has ended the call.
  [[nodiscard]] const std::exception_ptr& exception() const noexcept {
    return failure_.thrown;
  }

  /// When to try again, according to the policy that has ended the call or to
  /// the last `attempt_error`; zero if unknown.
  [[nodiscard]] duration retry_after() const noexcept {
    return failure_.retry_after;
  }

  /// Whether the function may have had an effect. False only if it certainly
  /// had none.
  [[nodiscard]] bool may_have_executed() const noexcept {
    return failure_.may_have_executed;
  }

private:
  void require() const {
    if (value_)
      return;
    if (failure_.thrown)
      std::rethrow_exception(failure_.thrown);
    throw call_error{failure_.error};
  }

  std::optional<stored_type> value_;
  detail::call_end failure_ = {};
};

} // namespace caisson
