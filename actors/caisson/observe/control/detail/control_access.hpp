// Decides who may ask a control server: owners of its file, and browsers.
#pragma once

#include <caisson/adapters/http/messages.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

namespace caisson::detail {

/// Who sends a request.
enum class requester : std::uint8_t {
  /// Brings neither the token nor a session.
  stranger,
  /// Brings the token of the control file.
  owner,
  /// Brings a session that was opened with a ticket.
  session,
};

/// Lets in who brings the token, and browsers that were opened with a ticket.
/// Its functions may be called by several threads at once.
///
/// A ticket is 128 random bits in a link, and is traded for a session once. A
/// session is 128 further bits, which the page sends as a bearer token. It is
/// no cookie: browsers send those to every port of a machine, and with requests
/// that pages of others make.
class control_access {
public:
  using clock = std::chrono::steady_clock;

  /// How long a ticket can be used, and how long a session lasts.
  static constexpr clock::duration ticket_time = std::chrono::minutes(5);
  static constexpr clock::duration session_time = std::chrono::hours(12);
  /// How many of each there are at most; the oldest one goes.
  static constexpr std::size_t max_tickets = 16;
  static constexpr std::size_t max_sessions = 64;

  explicit control_access(std::string token,
                          std::function<clock::time_point()> now = clock::now);

  [[nodiscard]] requester requester_of(const http_request& x) const;

  [[nodiscard]] std::string new_ticket();

  /// Takes the ticket, and returns a new session; nothing if there is no such
  /// ticket any more.
  [[nodiscard]] std::optional<std::string>
  open_session(const std::string& ticket);

private:
  struct secret {
    std::string text;
    clock::time_point until;
  };

  static void add(std::deque<secret>& to, secret x, std::size_t most);
  [[nodiscard]] std::deque<secret>::const_iterator
  find(const std::deque<secret>& in, const std::string& text) const;

  const std::string token_;
  const std::function<clock::time_point()> now_;

  mutable std::mutex mutex_;
  std::deque<secret> tickets_;
  std::deque<secret> sessions_;
};

} // namespace caisson::detail
