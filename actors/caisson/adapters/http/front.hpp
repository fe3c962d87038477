// An HTTP server whose requests become calls through gates.
#pragma once

#include <caisson/adapters/http/errors.hpp>
#include <caisson/adapters/http/messages.hpp>
#include <caisson/caf/caf.hpp>
#include <caisson/settings/settings.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace caisson {

/// The settings of a front.
struct http_front_config {
  /// Where to listen: an IP address or a name of this machine. Default:
  /// `127.0.0.1`, so that only programs on this machine can reach it.
  std::string host = "127.0.0.1";

  /// 0 to 65535; 0, the default: any free port.
  std::uint16_t port = 0;

  /// The certificate that clients are shown, with those between it and its
  /// authority, in a PEM file: the front then speaks HTTPS, by TLS 1.2 or
  /// later. Empty, the default: HTTP without TLS. This file and the next two
  /// are read again for new connections when they have changed; as long as they
  /// cannot be used, what they were before is (`tls_problem`).
  std::string certificate = {};

  /// The key of `certificate`, in a PEM file without a password.
  std::string key = {};

  /// Clients must have a certificate of an authority in this PEM file, or there
  /// is no connection. Empty, the default: they need none.
  std::string client_ca_file = {};

  /// How many requests are answered at once, each by a thread: 1 to 1024,
  /// default 32.
  std::uint32_t threads = 32;

  /// How many further requests, complete ones, wait for a thread: 0 to 100000,
  /// default 64. Beyond that they are answered with 503.
  std::uint32_t max_waiting = 64;

  /// How many connections are open at once: 1 to 100000, default 512. For one
  /// more, that without a complete request for the longest time is closed.
  std::uint32_t max_connections = 512;

  /// The same for one address (with IPv6: one network of 64 bits): 1 to 100000,
  /// default 128. Behind a proxy all clients have its address.
  std::uint32_t max_per_peer = 128;

  /// How long a request may take, counted from when it is complete: 1ms to 24h,
  /// default 10s. Clients may ask for less by `deadline_header`.
  duration timeout = std::chrono::seconds(10);

  /// How long the handshake of TLS may take: 1ms to 1h, default 2s.
  duration handshake_timeout = std::chrono::seconds(2);

  /// How long the head of a request may take to arrive: 1ms to 1h, default 2s.
  duration head_timeout = std::chrono::seconds(2);

  /// How long a request may take to arrive, and a response to be taken: 1ms to
  /// 1h, default 5s.
  duration read_timeout = std::chrono::seconds(5);

  /// How long a connection is kept without a request: 1ms to 1h, default 5s.
  duration idle_timeout = std::chrono::seconds(5);

  /// How large the body of a request may be, in bytes: 0 to 1073741824 (1 GiB),
  /// default 1048576 (1 MiB). Larger ones are answered with 413.
  std::int64_t max_body = 1 << 20;

  /// How many bytes the responses may have together that clients have not taken
  /// yet: 1048576 (1 MiB) to 1099511627776 (1 TiB), default 67108864 (64 MiB).
  /// Beyond that the connections are closed whose clients have taken nothing
  /// for the longest time; one response alone may be larger.
  std::int64_t max_unread = 64 << 20;

  /// What `Retry-After` says if the gate does not know when: 1s to 24h, in
  /// whole seconds, default 1s.
  duration retry_after = std::chrono::seconds(1);

  /// The header by which clients say how many milliseconds they wait; empty:
  /// none.
  std::string deadline_header = std::string{http_deadline_header};

  /// The header by which clients say how important a request is, as a whole
  /// number; empty, the default: none. Whoever can reach the front can send it:
  /// only for clients of yours. What `http_route::to_call` sets goes first.
  std::string priority_header = {};

  /// The header by which clients say whose request it is: the call's key, at
  /// most `max_key_length` bytes. Otherwise as `priority_header`.
  std::string key_header = {};
};

void describe(field_visitor& v, http_front_config& c);
void check(const http_front_config& c, const setting_path& path, problems& out);

/// Where a request goes.
struct http_route {
  /// A gate, or another actor.
  caf::actor to;

  /// The request as a call. The front sets its deadline. Default: `as_call`,
  /// for workers that take an `http_request`.
  std::function<call(const http_request&)> to_call = {};

  /// The answer, which is no error, as a response. Default: it is one
  /// (`http_response`); any other is answered with 500.
  std::function<http_response(const caf::message&)> to_response = {};
};

/// Chooses the route of a request; nothing: 404. Called by several threads at
/// once. It, and the functions of a route, may throw: the answer is 500.
using http_router = std::function<std::optional<http_route>(
  const http_request&)>;

/// A server that sends each request through a gate as a call, and answers with
/// what the gate says. Each request is answered once, by its deadline: a gate
/// answers by then, and what other actors do not answer is answered with 504.
///
///     http_front front{sys, gate, {.port = 8080}};
///
/// It has threads of its own, one for all connections and one for each request
/// that is answered, and ends with the object: it finishes the requests in
/// progress. It must not outlive the actor system. HTTP/1.1, with TLS if it has
/// a `certificate`; multipart and compressed requests are answered with 415.
class http_front {
public:
  /// All requests go to `gate`. Throws `config_error` if `c` is not valid, and
  /// `std::runtime_error` if it cannot listen there.
  http_front(caf::actor_system& sys, caf::actor gate, http_front_config c = {});

  /// The same, with a route for each request.
  http_front(caf::actor_system& sys, http_router routes,
             http_front_config c = {});

  ~http_front();

  http_front(const http_front&) = delete;
  http_front& operator=(const http_front&) = delete;

  /// The port that it listens on.
  [[nodiscard]] std::uint16_t port() const noexcept;

  /// How many requests were answered.
  [[nodiscard]] std::uint64_t answered() const noexcept;

  /// How many requests were rejected for want of a thread, and connections
  /// for want of a place.
  [[nodiscard]] std::uint64_t rejected() const noexcept;

  /// How many handshakes of TLS came to nothing: the client took too long or
  /// broke off, has no certificate, or does not speak TLS at all.
  [[nodiscard]] std::uint64_t failed_handshakes() const noexcept;

  /// Why the certificates that were changed cannot be used, so that the front
  /// goes on with the earlier ones; empty: they can be.
  [[nodiscard]] std::string tls_problem() const;

private:
  struct parts;
  std::unique_ptr<parts> parts_;
};

} // namespace caisson
