// Answer adapters for HTTP, gRPC, SQLSTATEs and the user's own errors.
#pragma once

#include <caisson/caf/error.hpp>
#include <caisson/engine/answer_adapter.hpp>
#include <caisson/policy/answer_tables.hpp>
#include <caisson/policy/pushback.hpp>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace caisson {

/// The HTTP part of an answer; a status alone converts to it.
struct http_result {
  /// A status without these headers; implicit.
  http_result(int http_status) : status(http_status) {}
  /// A status and the two headers as they came; empty: absent.
  http_result(int http_status, std::string retry_after_header,
              std::string date_header = {})
    : status(http_status), retry_after(std::move(retry_after_header)),
      date(std::move(date_header)) {}

  /// The status code. A number that is none counts as 500.
  int status;

  /// The header `Retry-After`; empty: absent.
  std::string retry_after = {};

  /// The header `Date`: the server's clock, with which a date in `retry_after`
  /// is compared. Empty or invalid: the clock of this machine.
  std::string date = {};
};

/// The gRPC part of an answer; a code alone converts to it.
struct grpc_result {
  /// A code without the trailer; implicit.
  grpc_result(int grpc_code) : code(grpc_code) {}
  /// A code and the trailer `grpc-retry-pushback-ms` as it came; nothing:
  /// absent.
  grpc_result(int grpc_code, std::optional<std::string> retry_pushback_ms)
    : code(grpc_code), pushback(std::move(retry_pushback_ms)) {}

  /// The status code, 0 to 16. A number that is none counts as 2, UNKNOWN.
  int code;

  /// The trailer `grpc-retry-pushback-ms`.
  std::optional<std::string> pushback = {};
};

/// What such a result means. Successes have no `retry_after`.
[[nodiscard]] answer_info info_of(const http_result& x,
                                  const wall_clock& clock = wall_now);
/// What such a result means. A success has no `retry_after`; a pushback that is
/// no number, or negative, means that there is to be no retry.
[[nodiscard]] answer_info info_of(const grpc_result& x);

namespace detail {

/// Asks `f` about answers that are a single T; `judge` interprets the result.
template <class T, class Result, class F, class Judge>
answer_adapter adapter_for(F f, Judge judge) {
  return [f = std::move(f), judge = std::move(judge)](
           const caf::message& content) -> std::optional<answer_info> {
    auto* x = portable::get_if<T>(content);
    if (!x)
      return std::nullopt;
    return judge(Result(f(*x)));
  };
}

} // namespace detail

/// For answers that are a single T, which may be a `caf::error`: `f` gets it
/// and returns an HTTP status, or an `http_result`. It has no opinion on other
/// answers.
///
///     worker{service}.classified_by(
///       classify_http<reply>([](const reply& x) { return x.status; }))
template <class T, class F>
[[nodiscard]] answer_adapter classify_http(F f, wall_clock clock = wall_now) {
  return detail::adapter_for<T, http_result>(
    std::move(f), [clock = std::move(clock)](const http_result& x) {
      return info_of(x, clock);
    });
}

/// The same, with a gRPC code or a `grpc_result`.
template <class T, class F>
[[nodiscard]] answer_adapter classify_grpc(F f) {
  return detail::adapter_for<T, grpc_result>(
    std::move(f), [](const grpc_result& x) { return info_of(x); });
}

/// The same, with an SQLSTATE: a text of five characters. It has no opinion on
/// other texts.
template <class T, class F>
[[nodiscard]] answer_adapter classify_sqlstate(F f) {
  return detail::adapter_for<T, std::string>(
    std::move(f), [](const std::string& x) { return sqlstate_answer(x); });
}

/// What errors of the user's own categories mean, by name: `app:3` or `app:*`.
/// The first name that fits applies. Throws `std::invalid_argument` if a name
/// has another form.
[[nodiscard]] answer_adapter
classify_errors(std::vector<std::pair<std::string, answer_info>> table);

} // namespace caisson
