// A worker that sends transactions to a PostgreSQL server.
#pragma once

#include <caisson/adapters/blocking_pool.hpp>
#include <caisson/adapters/postgres/messages.hpp>
#include <caisson/gate/worker_kind.hpp>

#include <cstdint>
#include <string>

namespace caisson {

/// The settings of a worker for one PostgreSQL server.
struct postgres_client_config {
  /// As libpq reads it, `host=10.0.0.7 dbname=shop` or
  /// `postgresql://10.0.0.7/shop`; what is not in it comes from libpq's
  /// environment variables. It may contain a password. Without `tls` below it
  /// also says whether there is TLS (`sslmode`), by default without any check
  /// of the server, and only if the server has it.
  std::string connection = {};

  /// The password, in place of one in `connection`; empty: what that says, or
  /// what libpq finds elsewhere (`PGPASSWORD`, `~/.pgpass`).
  std::string password = {};

  /// How many transactions are in progress at once, each with a thread and a
  /// connection of its own: 1 to 1024, default 4.
  std::uint32_t threads = 4;

  /// How many further messages wait for a thread: 0 to 1000000, default 64.
  /// Beyond that they are answered with `transport_errc::busy`.
  std::uint32_t max_waiting = 64;

  /// How long one transaction may take at most, whatever its caller's deadline
  /// is: 1ms to 24h, default 30s.
  duration max_time = std::chrono::seconds(30);

  /// How long a thread is kept without work: 1ms to 24h, default 1min. Then it
  /// ends, and its connection is closed.
  duration idle_timeout = std::chrono::minutes(1);

  /// How long to try to connect at most: 1ms to 1h, default 2s. A call's
  /// deadline applies, too.
  duration connect_timeout = std::chrono::seconds(2);

  /// How large the names and values of a result may be in all, in bytes: 1024
  /// to 1073741824 (1 GiB), default 16777216 (16 MiB). Beyond it the answer is
  /// `transport_errc::too_large`.
  std::int64_t max_result = 16 << 20;

  /// Whether the connection must be encrypted by TLS, version 1.2 or later, as
  /// the next four fields say; then `connection` must have a `host`, and must
  /// not have keywords such as `sslmode` itself. What libpq's environment
  /// variables and the files in `~/.postgresql` say of TLS has no effect.
  bool tls = false;

  /// Whether the server must have a valid certificate for the `host`, before
  /// anything is sent. **Without, whoever is in between can read and change all
  /// of it**: for tests only.
  bool verify_server = true;

  /// The certificates of the authorities that are trusted, in a PEM file;
  /// empty: those that the system trusts, for which libpq must be version 16 or
  /// later. This file and the next two are read for each connection.
  std::string ca_file = {};

  /// The certificate that the server is shown, with those between it and its
  /// authority, in a PEM file; empty: none.
  std::string client_certificate = {};

  /// The key of `client_certificate`, in a PEM file without a password, which
  /// only its owner may read.
  std::string client_key = {};
};

void describe(field_visitor& v, postgres_client_config& c);
void check(const postgres_client_config& c, const setting_path& path,
           problems& out);

/// A worker for a gate that carries out each `sql_query` as one transaction,
/// and answers with its `sql_result`, also if the server turned it down, or
/// with a `transport_errc`. The gate judges results by their SQLSTATE: a
/// serialization failure has done nothing and is repeated, a unique violation
/// is a conflict.
///
///     auto gate = spawn_gate(sys,
///                            postgres_worker({.connection = "dbname=shop"}),
///                            stack{"orders"}
///                              .deadline({.timeout = 1s})
///                              .retrier()
///                              .breaker()
///                              .semaphore({.permits = 4}));
///     self->request(gate, 2s, as_call(sql("insert into orders values ($1)",
///                                         {{order}})));
///
/// The server gives a statement up a little before the call's
/// deadline (`statement_timeout`), so that the connection lasts; one that does
/// not answer by then either is closed. A connection that breaks is made again
/// for the next transaction. When the server cannot be reached, the worker
/// ends, and the gate makes another as `s` says: the first connection belongs
/// to its start.
///
/// A connection that breaks before the answer leaves open what became of the
/// transaction (`transport_errc::lost`).
///
/// Statements that concern the session or its transactions (`is_of_session`)
/// are refused with `bad_request`. After each transaction the session is reset,
/// so that the next call finds nothing of it.
///
/// Not for virtual time. Throws `config_error` if `c` is not valid.
[[nodiscard]] worker
postgres_worker(const postgres_client_config& c,
                supervision_config s = patient_supervision());

/// The kind "postgres" for files of gates: a `worker` with the fields of
/// `postgres_client_config`. No report shows what `connection` and `password`
/// say.
[[nodiscard]] worker_kind postgres_worker_kind();

} // namespace caisson
