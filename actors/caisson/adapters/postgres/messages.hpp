// Statements and results of SQL as messages.
#pragma once

#include <caisson/caf/messages.hpp>
#include <caisson/engine/answers.hpp>
#include <caisson/engine/transport_errc.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace caisson {

/// A value as text, as PostgreSQL writes it, or NULL.
struct sql_value {
  /// Empty if it is NULL. Without a zero byte: PostgreSQL has none in texts,
  /// and a worker refuses a query with one.
  std::string text = {};
  /// Whether it is NULL, whatever `text` is.
  bool is_null = false;

  /// NULL.
  static sql_value null() { return {{}, true}; }

  friend bool operator==(const sql_value&, const sql_value&) = default;
};
CAISSON_MESSAGE(sql_value, text, is_null)

/// One statement, with `$1`, `$2`, … for its parameters.
struct sql_statement {
  /// A single statement; one that is empty, or concerns the session, is refused
  /// (see `is_empty` and `is_of_session`).
  std::string text = {};
  /// The values of `$1`, `$2`, … in order: at most 65535.
  std::vector<sql_value> params = {};
};
CAISSON_MESSAGE(sql_statement, text, params)

/// The isolation level of a transaction, as in PostgreSQL.
enum class sql_isolation : std::uint8_t {
  /// The server's default, `read committed` unless it was changed.
  standard,
  read_committed,
  repeatable_read,
  serializable,
};

[[nodiscard]] std::string_view name_of(sql_isolation x) noexcept;

CAISSON_ENUM(sql_isolation, sql_isolation::serializable)

/// A whole transaction: all of its statements are carried out, or none. So a
/// failed one is repeated as a whole.
struct sql_query {
  /// At least one, in the order in which they are carried out.
  std::vector<sql_statement> statements = {};
  /// The level of the transaction.
  sql_isolation isolation = sql_isolation::standard;
  /// It changes no table, which the server sees to, whatever the statements
  /// say. Functions may have effects besides, such as locks.
  bool read_only = false;
};
CAISSON_MESSAGE(sql_query, statements, isolation, read_only)

/// One statement as a transaction.
[[nodiscard]] inline sql_query sql(std::string text,
                                   std::vector<sql_value> params = {}) {
  sql_query x;
  x.statements.push_back({std::move(text), std::move(params)});
  return x;
}

/// What one statement gave.
struct sql_table {
  /// The names of the columns; none for a statement such as UPDATE alone.
  std::vector<std::string> columns = {};
  /// The rows in the server's order, each with a value for each column.
  std::vector<std::vector<sql_value>> rows = {};
  /// How many rows it changed, or gave.
  std::int64_t affected = 0;
};
CAISSON_MESSAGE(sql_table, columns, rows, affected)

/// What the server says.
struct sql_result {
  /// `00000`: all was done. Otherwise why nothing was.
  std::string sqlstate = "00000";
  /// The error for people; it may contain values.
  std::string message = {};
  /// One for each statement, if all was done.
  std::vector<sql_table> tables = {};
};
CAISSON_MESSAGE(sql_result, sqlstate, message, tables)

/// Whether there is nothing but blanks, semicolons and comments.
[[nodiscard]] bool is_empty(const sql_statement& x) noexcept;

/// Whether it begins or ends a transaction or a part of one (`COMMIT`,
/// `SAVEPOINT`), changes the session beyond its transaction (`SET`, but not
/// `SET LOCAL`; `LISTEN`, `PREPARE`), or speaks a protocol of its own (`COPY`).
/// Calls share connections and have a transaction each, so that a
/// `postgres_worker` refuses these.
[[nodiscard]] bool is_of_session(const sql_statement& x);

/// The query as a call: marked as idempotent if it is read only, and otherwise
/// as not.
[[nodiscard]] call as_call(sql_query x);

/// What results mean to the policies: by SQLSTATE (docs/answers.md).
[[nodiscard]] answer_adapter sql_adapter();

} // namespace caisson

CAF_BEGIN_TYPE_ID_BLOCK(caisson_sql, caisson::first_adapter_type_id + 60)
CAF_ADD_TYPE_ID(caisson_sql, (caisson::sql_query))
CAF_ADD_TYPE_ID(caisson_sql, (caisson::sql_result))
CAF_END_TYPE_ID_BLOCK(caisson_sql)

namespace caisson {

/// On CAF 1.x, to be called before any actor system exists.
void init_sql_types();

/// Prepares a config for these messages: for other nodes, and for the names of
/// errors in logs. On CAF 1.x nothing is left to be done here.
void register_sql_types(caf::actor_system_config& cfg);

} // namespace caisson
