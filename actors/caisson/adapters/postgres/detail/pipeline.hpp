// Statements that are sent to PostgreSQL at once, and what comes of them.
#pragma once

#include <caisson/adapters/interruption.hpp>
#include <caisson/adapters/postgres/messages.hpp>

#include <libpq-fe.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace caisson::detail {

struct postgres_failure {
  transport_errc code;
  std::string text = {};
};

/// One round trip. After a failure the connection is of no use any more.
///
/// Believes nothing that is not in order: each statement must have its own
/// answer, and what begins and ends transactions the right one.
class postgres_pipeline {
public:
  /// For a connection in pipeline mode that does not block. `most`: how large
  /// the names and values of all tables may be, in bytes.
  postgres_pipeline(PGconn& connection, interruption& signal,
                    std::int64_t most);

  /// Appends a statement of the caller, whose rows go to `table`.
  void add(const sql_statement& x, sql_table& table);

  /// Appends one that must be answered by this tag, such as `COMMIT`.
  void add(const std::string& text, std::string_view tag);

  /// Sends all, and reads all answers. Whether it failed or not, the functions
  /// below say what the server has answered.
  std::optional<postgres_failure> play(time_point until);

  /// How many of the statements, from the first on, were carried out.
  [[nodiscard]] std::size_t done() const noexcept { return done_; }

  /// Whether the server has turned one down, and skipped those after it.
  [[nodiscard]] bool refused() const noexcept { return !sqlstate_.empty(); }

  [[nodiscard]] const std::string& sqlstate() const { return sqlstate_; }
  [[nodiscard]] const std::string& message() const { return message_; }

private:
  struct free_result {
    void operator()(PGresult* x) const noexcept { PQclear(x); }
  };

  using result_ptr = std::unique_ptr<PGresult, free_result>;
  using failure = std::optional<postgres_failure>;

  struct step {
    std::string_view tag;
    sql_table* table;
  };

  void queue(const sql_statement& x, const step& s);
  failure flush(time_point until);
  failure receive(time_point until);
  failure take(const PGresult& x);
  failure finish(time_point until);
  failure carried_out(const PGresult& x);
  failure turned_down(const PGresult& x);
  failure next(time_point until, result_ptr& x);
  failure take_in();
  void count_input();
  void note_rest();
  failure wait(short events, time_point until);
  failure add_rows(const PGresult& x);
  [[nodiscard]] postgres_failure lost() const;

  PGconn& connection_;
  interruption& signal_;
  std::int64_t most_;
  std::vector<step> steps_;
  bool queued_ = true;
  /// Whose answer is read, and whether all of it is here but the null.
  std::size_t at_ = 0;
  bool is_answered_ = false;
  std::size_t done_ = 0;
  std::string sqlstate_;
  std::string message_;
  std::int64_t size_ = 0;
  std::int64_t received_ = 0;
  /// What TLS or TCP had counted before; nothing where neither counts.
  std::optional<std::int64_t> received_before_;
  /// What libpq has left on the socket, where neither counts.
  std::int64_t rest_ = 0;
};

} // namespace caisson::detail
