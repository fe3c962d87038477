// A worker that sends commands to a Redis server.
#pragma once

#include <caisson/adapters/blocking_pool.hpp>
#include <caisson/adapters/redis/messages.hpp>
#include <caisson/gate/worker_kind.hpp>

#include <cstdint>
#include <string>

namespace caisson {

/// The settings of a worker for one Redis server.
struct redis_client_config {
  /// The server: a name or an IP address, or the path of a socket, which begins
  /// with `/`.
  std::string host = "127.0.0.1";

  /// 1 to 65535, default 6379.
  std::uint16_t port = 6379;

  /// Empty: the default user, if there is a password.
  std::string user = {};

  /// Empty: none.
  std::string password = {};

  /// 0 to 65535, default 0.
  std::uint32_t database = 0;

  /// How many commands are in progress at once, each with a thread and a
  /// connection of its own: 1 to 1024, default 4.
  std::uint32_t threads = 4;

  /// How many further messages wait for a thread: 0 to 1000000, default 64.
  /// Beyond that they are answered with `transport_errc::busy`.
  std::uint32_t max_waiting = 64;

  /// How long one command may take at most, whatever its caller's deadline is:
  /// 1ms to 24h, default 30s.
  duration max_time = std::chrono::seconds(30);

  /// How long a thread is kept without work: 1ms to 24h, default 1min. Then it
  /// ends, and its connection is closed.
  duration idle_timeout = std::chrono::minutes(1);

  /// How long to try to connect at most: 1ms to 1h, default 1s. A call's
  /// deadline applies, too.
  duration connect_timeout = std::chrono::seconds(1);

  /// How large a reply may be, in bytes as it is sent: 1024 to 1073741824
  /// (1 GiB), default 16777216 (16 MiB). Beyond it the answer is
  /// `transport_errc::too_large`.
  std::int64_t max_reply = 16 << 20;

  /// Whether the connection is encrypted by TLS, version 1.2 or later. Without,
  /// **whoever is in between can read and change all of it**, the password
  /// included.
  bool tls = false;

  /// Whether the server must have a valid certificate for `host`, before
  /// anything is sent. **Without, whoever is in between can read and change all
  /// of it**: for tests only.
  bool verify_server = true;

  /// The certificates of the authorities that are trusted, in a PEM file;
  /// empty: those that the system trusts. This file and the next two are read
  /// for each connection.
  std::string ca_file = {};

  /// The certificate that the server is shown, with those between it and its
  /// authority, in a PEM file; empty: none.
  std::string client_certificate = {};

  /// The key of `client_certificate`, in a PEM file without a password.
  std::string client_key = {};
};

void describe(field_visitor& v, redis_client_config& c);
void check(const redis_client_config& c, const setting_path& path,
           problems& out);

/// A worker for a gate that sends each `redis_command` to the server and
/// answers with its `redis_reply`, also if that is an error, or with a
/// `transport_errc`. The gate judges errors by `redis_error_rows`.
///
///     auto gate = spawn_gate(sys, redis_worker({.port = 6379}),
///                            stack{"cart"}
///                              .deadline({.timeout = 200ms})
///                              .retrier()
///                              .breaker()
///                              .semaphore({.permits = 4}));
///     self->request(gate, 1s, as_call(redis_command{{"GET", "cart:7"}}));
///
/// A connection that breaks is made again for the next command. When the server
/// cannot be reached, the worker ends, and the gate makes another as `s` says:
/// the first connection belongs to its start. After `READONLY` the connection
/// is made again, as the name may stand for another server by now.
///
/// Not for virtual time. Throws `config_error` if `c` is not valid.
[[nodiscard]] worker redis_worker(const redis_client_config& c,
                                  supervision_config s = patient_supervision());

/// The kind "redis" for files of gates: a `worker` with the fields of
/// `redis_client_config`. No report shows what `password` says.
[[nodiscard]] worker_kind redis_worker_kind();

} // namespace caisson
