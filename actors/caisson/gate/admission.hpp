// The right to do work that ends somewhere else than it begins.
#pragma once

#include <caisson/caf/error.hpp>
#include <caisson/gate/detail/guard/guard_host.hpp>
#include <caisson/policy/answer_class.hpp>

#include <optional>
#include <string>
#include <utility>

namespace caisson {

/// What a guard says of work that begins in one place and ends in another, such
/// as a stream: admitted until it is over, or refused. Move-only. It may move
/// to other threads, and is used by one at a time. A guard must not end before
/// its admissions: its destructor waits for them.
class [[nodiscard]] admission {
public:
  /// Neither admitted nor refused: `error` is none.
  admission() = default;
  /// Made by guards.
  admission(detail::guard_host& host, detail::opened_call x)
    : host_(x.token == 0 ? nullptr : &host), opened_(std::move(x)) {}

  /// Takes it over; `other` is over.
  admission(admission&& other) noexcept
    : host_(std::exchange(other.host_, nullptr)),
      opened_(std::move(other.opened_)) {}

  /// Cancels what it was before.
  admission& operator=(admission&& other) noexcept {
    cancel();
    host_ = std::exchange(other.host_, nullptr);
    opened_ = std::move(other.opened_);
    return *this;
  }

  /// As `cancel`.
  ~admission() { cancel(); }

  /// Whether the work was admitted and is not over yet.
  explicit operator bool() const noexcept { return host_ != nullptr; }

  /// Why it was refused: an `errc`; no error if it was not.
  [[nodiscard]] const caf::error& error() const noexcept {
    return opened_.refused.error;
  }
  /// When to try again after a refusal; zero if unknown.
  [[nodiscard]] duration retry_after() const noexcept {
    return opened_.refused.retry_after;
  }

  /// What is known of the call: its key, its trace, and as `deadline_ns` until
  /// when the layers wait for a result.
  [[nodiscard]] const call_options& options() const noexcept {
    return opened_.options;
  }
  /// When the layers stop waiting for a result; `never` if they do not.
  [[nodiscard]] time_point deadline() const noexcept {
    auto ns = opened_.options.deadline_ns;
    return ns == 0 ? never : time_point{duration{ns}};
  }

  // Each of these ends it, and gives permits back; the first one counts.

  /// The work has succeeded.
  void succeed() noexcept { end(detail::attempt_result{}); }
  /// The work has failed, which means `info`; `text` is for people.
  void fail(std::string text, answer_info info) noexcept {
    end(detail::attempt_result{{}, std::move(text), info});
  }
  /// The work says nothing about what it was for.
  void cancel() noexcept { end(std::nullopt); }

private:
  void end(const std::optional<detail::attempt_result>& how) noexcept {
    if (auto* host = std::exchange(host_, nullptr))
      host->close(opened_.token, how);
  }

  detail::guard_host* host_ = nullptr;
  detail::opened_call opened_ = {};
};

} // namespace caisson
