// A worker that sends requests to an HTTP server.
#pragma once

#include <caisson/adapters/blocking_pool.hpp>
#include <caisson/adapters/http/messages.hpp>

#include <cstdint>
#include <string>

namespace caisson {

/// The settings of a worker for one HTTP server.
struct http_client_config {
  /// The server: a name or an IP address. A name is looked up for each new
  /// connection, which nothing limits but the system's resolver.
  std::string host = "127.0.0.1";

  /// 1 to 65535, default 80.
  std::uint16_t port = 80;

  /// How many requests are in progress at once, each with a thread and a
  /// connection of its own: 1 to 1024, default 8.
  std::uint32_t threads = 8;

  /// How many further messages wait for a thread: 0 to 1000000, default 64.
  /// Beyond that they are answered with `transport_errc::busy`.
  std::uint32_t max_waiting = 64;

  /// How long one request may take at most, whatever its caller's deadline is:
  /// 1ms to 24h, default 30s.
  duration max_time = std::chrono::seconds(30);

  /// How long a thread is kept without work: 1ms to 24h, default 1min. Then it
  /// ends, and its connection is closed.
  duration idle_timeout = std::chrono::minutes(1);

  /// How long to try to connect at most, to each address of the host: 1ms to
  /// 1h, default 1s. A call's deadline applies, too.
  duration connect_timeout = std::chrono::seconds(1);

  /// How large a body may be, in bytes: 0 to 1073741824 (1 GiB), default
  /// 16777216 (16 MiB). Beyond it the answer is `transport_errc::too_large`.
  std::int64_t max_body = 16 << 20;

  /// The header that gives the server the milliseconds that are left; empty:
  /// none.
  std::string deadline_header = std::string{http_deadline_header};
};

void describe(field_visitor& v, http_client_config& c);
void check(const http_client_config& c, const setting_path& path,
           problems& out);

/// A worker for a gate that sends each `http_request` to the server and answers
/// with its `http_response`, whatever the status is, or with a
/// `transport_errc`. The gate judges responses by their status and
/// `Retry-After` (docs/answers.md). Redirections are not followed. A body is
/// asked for as it is (`Accept-Encoding: identity`) unless the request says
/// otherwise, and never decompressed.
///
///     auto gate = spawn_gate(sys, http_worker({.host = "10.0.0.7"}),
///                            stack{"catalog"}
///                              .deadline({.timeout = 2s})
///                              .retrier()
///                              .breaker()
///                              .semaphore({.permits = 8}));
///     self->request(gate, 5s, as_call({.target = "/items/7"}));
///
/// HTTP/1.1 without TLS. `s` says how the gate supervises it; it ends only
/// with the gate. Not for virtual time. Throws `config_error` if `c` is not
/// valid.
[[nodiscard]] worker http_worker(const http_client_config& c,
                                 supervision_config s = patient_supervision());

/// The same as an actor, for those who supervise it themselves.
[[nodiscard]] caf::actor spawn_http_worker(caf::actor_system& sys,
                                           const http_client_config& c);

} // namespace caisson
