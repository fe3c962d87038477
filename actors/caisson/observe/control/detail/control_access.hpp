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
#include <string_view>

namespace caisson::detail {

/// Where a request comes from.
enum class requester : std::uint8_t {
  /// Brings neither the token nor a session.
  stranger,
  /// Brings the token of the control file.
  owner,
  /// Brings the cookie of a session, and comes from the server's own page.
  browser,
  /// Brings the cookie of a session, but another page has sent it.
  other_page,
};

/// Lets in who brings the token, and browsers that were opened with a ticket.
/// Its functions may be called by several threads at once.
///
/// A ticket is 128 random bits in a link, and is traded for a session once. The
/// cookie of a session is sent by a browser with each request, also with those
/// that pages of others make. So requests with a cookie count only if their
/// `Host` is this machine (a name of somebody's that leads here is not), and,
/// if they can change anything, if their `Origin` is that host.
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

  [[nodiscard]] requester who_asks(const http_request& x) const;

  [[nodiscard]] std::string new_ticket();

  /// Takes the ticket, and returns the value of a header `Set-Cookie` with a
  /// new session; nothing if there is no such ticket any more.
  [[nodiscard]] std::optional<std::string>
  open_session(const std::string& ticket);

private:
  struct secret {
    std::string text;
    clock::time_point until;
  };

  [[nodiscard]] bool has_token(const http_request& x) const;
  [[nodiscard]] bool has_session(const http_request& x) const;
  static void add(std::deque<secret>& to, secret x, std::size_t most);
  [[nodiscard]] std::deque<secret>::const_iterator
  find(const std::deque<secret>& in, const std::string& text) const;

  const std::string token_;
  const std::function<clock::time_point()> now_;
  /// Browsers keep cookies by host, without the port: so each server of a
  /// machine has a name of its own for it.
  const std::string cookie_;

  mutable std::mutex mutex_;
  std::deque<secret> tickets_;
  std::deque<secret> sessions_;
};

/// Whether a header `Host` names this machine: an address or a name of the
/// loopback interface, with or without a port.
[[nodiscard]] bool is_loopback_host(std::string_view host) noexcept;

} // namespace caisson::detail
