// A worker that sends requests to an HTTP server, with or without TLS.
#pragma once

#include <caisson/adapters/blocking_pool.hpp>
#include <caisson/adapters/http/messages.hpp>
#include <caisson/gate/worker_kind.hpp>

#include <cstdint>
#include <string>

namespace caisson {

/// The settings of a worker for one HTTP server.
struct http_client_config {
  /// The server: `http://host`, `https://host` or `https://host:port`, with a
  /// name or an IP address (`[::1]` for IPv6), and without a path.
  std::string url = "http://127.0.0.1";

  /// How many requests are in progress at once: 1 to 10000, default 64. One
  /// thread serves them all.
  std::uint32_t max_in_progress = 64;

  /// How many further messages wait: 0 to 1000000, default 64. Beyond that they
  /// are answered with `transport_errc::busy`.
  std::uint32_t max_waiting = 64;

  /// How many connections there are at most: 1 to 10000, default 64. With
  /// HTTP/1.1 a request in progress needs one of its own, so that the smaller
  /// of this and `max_in_progress` applies; with HTTP/2 many share one.
  std::uint32_t max_connections = 64;

  /// How long one request may take at most, whatever its caller's deadline is:
  /// 1ms to 24h, default 30s.
  duration max_time = std::chrono::seconds(30);

  /// How long a connection is kept without a request: 1ms to 24h, default 1min.
  /// While there are requests on others, it is rounded up to a second.
  duration idle_timeout = std::chrono::minutes(1);

  /// How long it may take until there is a connection, from the look-up of the
  /// host's name to the end of the TLS handshake: 1ms to 1h, default 1s. A
  /// call's deadline applies, too.
  duration connect_timeout = std::chrono::seconds(1);

  /// How large a body may be once it is decompressed, in bytes: 0 to 1073741824
  /// (1 GiB), default 16777216 (16 MiB). Beyond it the answer is
  /// `transport_errc::too_large`.
  std::int64_t max_body = 16 << 20;

  /// The header that gives the server the milliseconds that are left; empty:
  /// none.
  std::string deadline_header = std::string{http_deadline_header};

  /// The header that gives the server the call's priority, unless that is 0;
  /// empty, the default: none. For servers of yours. A header of that name in a
  /// request is left out.
  std::string priority_header = {};

  /// The header that gives the server the call's key, such as the user's name,
  /// so that it can be fair, too; empty, the default: none. Otherwise as
  /// `priority_header`. Other servers to which a request is redirected do not
  /// get it, and a key that cannot be in a header is left out.
  std::string key_header = {};

  /// The certificates of the authorities that are trusted, in a PEM file;
  /// empty: those that the system trusts.
  std::string ca_file = {};

  /// The certificate that the server is shown, with those between it and its
  /// authority, in a PEM file; empty: none.
  std::string client_certificate = {};

  /// The key of `client_certificate`, in a PEM file without a password.
  std::string client_key = {};

  /// Whether the server must have a valid certificate for the host in `url`.
  /// **Without, whoever is in between can read and change all of it**: for
  /// tests only.
  bool verify_server = true;

  /// Whether HTTP/2 is spoken if the server offers it in the TLS handshake
  /// (ALPN). Requests then share connections.
  bool http2 = false;

  /// The proxy for all requests, `http://host:port` or
  /// `http://user:password@host:port`; empty: none, whatever the environment
  /// says. HTTPS goes through it by CONNECT.
  std::string proxy = {};

  /// Whether bodies are asked for in compressed form and decompressed.
  bool compression = false;

  /// How many redirections a request follows at most: 0 to 20, default 0. See
  /// docs/adapters.md#redirections.
  std::uint32_t redirects = 0;
};

void describe(field_visitor& v, http_client_config& c);
void check(const http_client_config& c, const setting_path& path,
           problems& out);

/// A worker for a gate that sends each `http_request` to the server and answers
/// with its `http_response`, whatever the status is, or with a
/// `transport_errc`. The gate judges responses by their status and
/// `Retry-After` (docs/answers.md). A body is asked for as it is
/// (`Accept-Encoding: identity`), and not decompressed, unless `compression`
/// says otherwise; a request's own `Accept-Encoding` turns that off.
///
///     auto gate = spawn_gate(sys, http_worker({.url = "https://catalog"}),
///                            stack{"catalog"}
///                              .deadline({.timeout = 2s})
///                              .retrier()
///                              .breaker()
///                              .semaphore({.permits = 64}));
///     self->request(gate, 5s, as_call({.target = "/items/7"}));
///
/// `s` says how the gate supervises it; it ends only with the gate. Not for
/// virtual time. Throws `config_error` if `c` is not valid.
[[nodiscard]] worker http_worker(const http_client_config& c,
                                 supervision_config s = patient_supervision());

/// The same as an actor, for those who supervise it themselves.
[[nodiscard]] caf::actor spawn_http_worker(caf::actor_system& sys,
                                           const http_client_config& c);

/// The kind "http" for files of gates: a `worker` with the fields of
/// `http_client_config`. No report shows what `proxy` says.
[[nodiscard]] worker_kind http_worker_kind();

} // namespace caisson
