// A worker that calls a gRPC server, with or without TLS.
#pragma once

#include <caisson/adapters/blocking_pool.hpp>
#include <caisson/adapters/grpc/messages.hpp>

#include <cstdint>
#include <string>

namespace caisson {

/// The settings of a worker, or a channel, for one gRPC server.
struct grpc_client_config {
  /// The server: `host:port` with a name or an IP address (`[::1]:port` for
  /// IPv6), or `unix:/path` for a socket of this machine.
  std::string target = "127.0.0.1:50051";

  /// How many calls are in progress at once: 1 to 10000, default 64. They share
  /// one connection and one thread.
  std::uint32_t max_in_progress = 64;

  /// How many further messages wait: 0 to 1000000, default 64. Beyond that they
  /// are answered with `transport_errc::busy`.
  std::uint32_t max_waiting = 64;

  /// How long one call may take at most, whatever its caller's deadline is: 1ms
  /// to 24h, default 30s.
  duration max_time = std::chrono::seconds(30);

  /// How long an attempt to connect may take: 100ms to 1h, default 1s. A call's
  /// deadline applies, too.
  duration connect_timeout = std::chrono::seconds(1);

  /// How long to wait at most between two attempts to connect: 100ms to 1h,
  /// default 2s. The first wait is 100ms, and each one 1.6 times the last.
  duration max_reconnect_delay = std::chrono::seconds(2);

  /// How long the connection is kept without a call: 1s to 24h, default 5min.
  duration idle_timeout = std::chrono::minutes(5);

  /// While calls are in progress, how long the server may be silent until it is
  /// asked whether it is there: 10s to 24h; zero, the default: it is not asked.
  /// Without an answer for 20s the connection is given up. **Only as the server
  /// allows it**: one that is asked more often than every 5min, unless it says
  /// otherwise, ends the connection.
  duration keepalive = duration::zero();

  /// Whether a call waits for a connection until its deadline, and does not
  /// fail at once if the last attempt to connect has failed. Default: no, so
  /// that policies learn of it.
  bool wait_for_ready = false;

  /// How large the message of a request may be, in bytes: 0 to 1073741824 (1
  /// GiB), default 4194304 (4 MiB, which most servers take). Beyond it the
  /// answer is `transport_errc::bad_request`.
  std::int64_t max_request = 4 << 20;

  /// How large the message of a response may be, in bytes, as above. Beyond it
  /// the answer is `transport_errc::too_large`. Of one that is compressed, this
  /// is compared with what comes, and again with what comes out, which has
  /// taken memory by then.
  std::int64_t max_response = 4 << 20;

  /// How large the metadata of a call may be, in bytes as HTTP/2 counts them:
  /// 32 for each beside name and value, and about 700 for what gRPC adds: 1024
  /// to 16777216, default 8192, which servers of gRPC take. Beyond it the
  /// answer is `transport_errc::bad_request`; baggage of the call that does not
  /// fit is left out. **Not more than the server takes**: if one call has too
  /// much, it fails all calls of the connection.
  std::int64_t max_metadata = 8192;

  /// Who repeats calls. Default, false: the layers of the gate or guard, if
  /// there is a retrier, and gRPC never. True: gRPC, by the retry policy in
  /// `service_config`, and calls that the server has not looked at; have no
  /// retrier then, or both multiply.
  bool channel_retries = false;

  /// A service config for the channel, as JSON; empty: none. One that comes
  /// from the name server is ignored. A `retryPolicy` or `hedgingPolicy` in it
  /// requires `channel_retries`.
  std::string service_config = {};

  /// The metadata that gives the server the call's priority, unless that is 0;
  /// empty, the default: none. Such metadata in a request is left out.
  std::string priority_metadata = {};

  /// The metadata that gives the server the call's key, such as the user's
  /// name; empty, the default: none. A key that is no printable ASCII is left
  /// out, unless the name ends with `-bin`. Otherwise as above.
  std::string key_metadata = {};

  /// Whether the connection is encrypted by TLS.
  bool tls = false;

  /// Whether the server must have a valid certificate for the host in `target`.
  /// **Without, whoever is in between can read and change all of it**: for
  /// tests only.
  bool verify_server = true;

  /// The certificates of the authorities that are trusted, in a PEM file;
  /// empty: those of the system.
  std::string ca_file = {};

  /// The certificate that the server is shown, with those between it and its
  /// authority, in a PEM file; empty: none.
  std::string client_certificate = {};

  /// The key of `client_certificate`, in a PEM file without a password.
  std::string client_key = {};
};

void describe(field_visitor& v, grpc_client_config& c);
void check(const grpc_client_config& c, const setting_path& path,
           problems& out);

/// A worker for a gate that makes a unary call of each `grpc_request` and
/// answers with its `grpc_response`, whatever the status is, or with a
/// `transport_errc`: `not_connected` is certain to have sent nothing. The gate
/// judges responses by their code and `grpc-retry-pushback-ms`
/// (docs/answers.md). Their deadline is that of the call; one that is cancelled
/// is cancelled at the server.
///
///     auto gate = spawn_gate(sys, grpc_worker({.target = "prices:50051"}),
///                            stack{"prices"}
///                              .deadline({.timeout = 2s})
///                              .retrier()
///                              .breaker()
///                              .semaphore({.permits = 64}));
///     self->request(gate, 5s,
///                   grpc_call<PriceRequest>("/shop.Prices/Get", request));
///
/// `s` says how the gate supervises it; it ends only with the gate. Not for
/// virtual time. Throws `config_error` if `c` is not valid.
[[nodiscard]] worker grpc_worker(const grpc_client_config& c,
                                 supervision_config s = patient_supervision());

/// The same as an actor, for those who supervise it themselves.
[[nodiscard]] caf::actor spawn_grpc_worker(caf::actor_system& sys,
                                           const grpc_client_config& c);

} // namespace caisson
