// An attempt at a call of a guard, and what its function says of failures.
#pragma once

#include <caisson/base/time.hpp>
#include <caisson/caf/messages.hpp>
#include <caisson/engine/answers.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>

namespace caisson {

/// What a function that a guard calls learns of its attempt. Valid during that
/// call of the function, and what an asynchronous one returns.
class attempt {
public:
  /// Made by guards.
  attempt(const call_options& x, const std::atomic<bool>& abandoned)
    : options_(x), abandoned_(abandoned) {}

  /// 1 for the first attempt at the call.
  [[nodiscard]] std::uint32_t number() const noexcept {
    return options_.attempt;
  }

  /// When the call is answered at the latest; `never` if it has all the time.
  [[nodiscard]] time_point deadline() const noexcept {
    return options_.deadline_ns == 0
             ? never
             : time_point{duration{options_.deadline_ns}};
  }

  /// The time until then, never negative; `unlimited` if there is no deadline.
  [[nodiscard]] duration time_left() const {
    return time_until(deadline(), std::chrono::steady_clock::now());
  }

  /// Whether the result is of no use any more: the call was answered, or
  /// another attempt takes the place of this one. Functions that take long can
  /// ask now and then, from any of their threads, and return early.
  [[nodiscard]] bool abandoned() const noexcept {
    return abandoned_.load(std::memory_order_relaxed);
  }

  /// The key of the call; empty if it has none.
  [[nodiscard]] const std::string& key() const noexcept { return options_.key; }
  /// The same for all attempts at a call and for no other call; empty without a
  /// retrier.
  [[nodiscard]] const std::string& idempotency_key() const noexcept {
    return options_.idempotency_key;
  }
  /// For the headers of a request; empty if the call is in no trace.
  [[nodiscard]] const std::string& traceparent() const noexcept {
    return options_.traceparent;
  }
  /// For the headers of a request; empty if the call has none.
  [[nodiscard]] const std::string& tracestate() const noexcept {
    return options_.propagated.tracestate();
  }
  /// For the headers of a request; empty if the call has none.
  [[nodiscard]] const std::string& baggage() const noexcept {
    return options_.propagated.baggage();
  }

private:
  const call_options& options_;
  const std::atomic<bool>& abandoned_;
};

/// An attempt has failed in a way that policies understand: the function throws
/// it, for instance with what an HTTP status means.
///
///     throw caisson::attempt_error{"503", caisson::http_answer(503)};
class attempt_error : public std::runtime_error {
public:
  /// `text` is for people, `info` for policies.
  attempt_error(const std::string& text, answer_info info)
    : std::runtime_error(text), info_(info) {}

  /// What the failure means.
  [[nodiscard]] const answer_info& info() const noexcept { return info_; }

private:
  answer_info info_;
};

/// Says what an exception of a function's means, or nothing. It need not know
/// `attempt_error`.
using exception_classifier = std::function<std::optional<answer_info>(
  const std::exception_ptr&)>;

} // namespace caisson
