#include <caisson/adapters/postgres/client.hpp>

#include <caisson/adapters/detail/tls_settings.hpp>
#include <caisson/adapters/postgres/detail/connection_text.hpp>
#include <caisson/adapters/postgres/detail/opener.hpp>
#include <caisson/adapters/postgres/detail/pipeline.hpp>
#include <caisson/adapters/postgres/detail/received_bytes.hpp>

#include <fmt/format.h>

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace caisson {

namespace {

using steady = std::chrono::steady_clock;

using detail::postgres_connection;
using detail::postgres_failure;
using detail::postgres_opener;
using detail::postgres_pipeline;

std::string begin_text(const sql_query& x) {
  std::string text = "BEGIN";
  if (x.isolation != sql_isolation::standard)
    text += fmt::format(" ISOLATION LEVEL {}", name_of(x.isolation));
  if (x.read_only)
    text += " READ ONLY";
  return text;
}

// A little less than what is left, so that the answer comes in time.
std::int64_t milliseconds_of(duration left) {
  auto margin = std::min<duration>(left / 10, std::chrono::milliseconds(50));
  auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(left - margin)
              .count();
  return std::max<std::int64_t>(ms, 1);
}

// How long the server works on a statement. A transaction that reads only gets
// its snapshot with it, after which no server lets it begin to write.
void add_timeout(postgres_pipeline& to, bool read_only, duration left) {
  auto ms = milliseconds_of(left);
  if (read_only)
    to.add(fmt::format("SELECT pg_catalog.set_config('statement_timeout', "
                       "'{}', true)",
                       ms),
           "SELECT 1");
  else
    to.add(fmt::format("SET LOCAL statement_timeout = {}", ms), "SET");
}

bool has_zero(const std::string& x) {
  return x.find('\0') != std::string::npos;
}

// Why it is not sent; empty: it is. libpq takes texts that end with a zero, and
// counts parameters in 16 bits.
std::string_view problem_with(const sql_query& x) {
  if (x.statements.empty())
    return "no statement";
  for (const auto& s : x.statements) {
    if (has_zero(s.text)
        || std::any_of(s.params.begin(), s.params.end(),
                       [](const auto& p) { return has_zero(p.text); }))
      return "a zero";
    if (s.params.size() > 65'535)
      return "too many parameters";
    if (is_empty(s))
      return "an empty statement";
    if (is_of_session(s))
      return "a statement that concerns the session or its transactions";
  }
  return {};
}

// A connection in pipeline mode: all of a transaction is sent at once, and
// takes one round trip.
class postgres_session final : public blocking_session {
public:
  postgres_session(const postgres_client_config& c,
                   std::shared_ptr<postgres_opener> opener)
    : config_(c), opener_(std::move(opener)) {}

  void reset() noexcept override { connection_.reset(); }

  /// Throws if there is no server.
  void connect_first() {
    if (auto problem = connect(never); !problem.empty())
      throw std::runtime_error{problem};
  }

  result run(const job& x) override {
    auto* query = portable::get_if<sql_query>(x.content);
    if (!query)
      return {caf::make_message(make_error(caf::sec::unexpected_message))};
    if (auto problem = problem_with(*query); !problem.empty())
      return failed({transport_errc::bad_request, std::string{problem}});
    if (connection_ && is_stale())
      reset();
    if (!connection_) {
      if (auto problem = connect(x.until); !problem.empty()) {
        // A call that had too little time says nothing about the server.
        auto cut_short = signal().interrupted() || steady::now() >= x.until;
        return {failed({transport_errc::not_connected, problem}).answer,
                cut_short};
      }
    }
    auto left = time_until(x.until, steady::now());
    if (left <= duration::zero())
      return failed({transport_errc::busy, "no time is left"});
    return carry_out(*query, x.until, left);
  }

private:
  static result failed(const postgres_failure& x) {
    return {caf::make_message(make_error(x.code, x.text))};
  }

  // Nothing is expected now: what has come is the end, or nobody's.
  [[nodiscard]] bool is_stale() const {
    pollfd x{PQsocket(connection_.get()), POLLIN, 0};
    return ::poll(&x, 1, 0) != 0 || detail::has_buffered_bytes(*connection_);
  }

  postgres_pipeline pipeline() {
    return {*connection_, signal(), config_.max_result};
  }

  // -- the connection ---------------------------------------------------------

  // Returns why there is none.
  std::string connect(time_point until) {
    until = std::min<time_point>(until,
                                 steady::now() + config_.connect_timeout);
    auto x = opener_->open(signal(), until);
    connection_ = std::move(x.connection);
    if (connection_ && config_.tls && PQsslInUse(connection_.get()) != 1) {
      reset();
      return "the connection does not use TLS";
    }
    if (connection_)
      if (auto failure = set_up_session(until)) {
        x.problem = failure->text.empty() ? "connect timed out" : failure->text;
        reset();
      }
    return x.problem;
  }

  // Makes the server notice that a connection was closed, so that it does not
  // work on for nobody; not all servers can, which does not matter.
  std::optional<postgres_failure> set_up_session(time_point until) {
    notices_end_ = true;
    auto all = pipeline();
    add_watch(all);
    auto failure = all.play(until);
    notices_end_ = !all.refused();
    return failure;
  }

  void add_watch(postgres_pipeline& to) const {
    if (notices_end_)
      to.add("SET client_connection_check_interval = 100", "SET");
  }

  // So that nothing of a transaction reaches the next one, which is another
  // caller's: settings, locks, temporary tables.
  void add_reset(postgres_pipeline& to) const {
    to.add("DISCARD ALL", "DISCARD ALL");
    add_watch(to);
  }

  // Whether the server waits for the next transaction.
  [[nodiscard]] bool is_idle() const {
    return PQstatus(connection_.get()) == CONNECTION_OK
           && PQtransactionStatus(connection_.get()) == PQTRANS_IDLE;
  }

  // -- a transaction ----------------------------------------------------------

  result carry_out(const sql_query& query, time_point until, duration left) {
    sql_result answer;
    answer.tables.resize(query.statements.size());
    auto all = pipeline();
    all.add(begin_text(query), "BEGIN");
    add_timeout(all, query.read_only, left);
    for (std::size_t i = 0; i < query.statements.size(); ++i)
      all.add(query.statements[i], answer.tables[i]);
    all.add("COMMIT", "COMMIT");
    add_reset(all);
    auto failure = all.play(until);
    // What is committed is done, whatever becomes of the connection.
    if (all.done() >= query.statements.size() + 3) {
      if (failure || all.refused() || !is_idle())
        reset();
      return {caf::make_message(std::move(answer))};
    }
    if (!failure)
      restore(until);
    else
      reset();
    // What it said before the connection broke is its answer.
    if (failure && (!all.refused() || failure->code == transport_errc::garbled))
      return failed(*failure);
    return {caf::make_message(sql_result{all.sqlstate(), all.message(), {}})};
  }

  // Ends a transaction that failed, and keeps the connection if it can.
  void restore(time_point until) {
    auto all = pipeline();
    all.add("ROLLBACK", "ROLLBACK");
    add_reset(all);
    if (all.play(until) || all.refused() || !is_idle())
      reset();
  }

  postgres_client_config config_;
  std::shared_ptr<postgres_opener> opener_;
  postgres_connection connection_;
  bool notices_end_ = true;
};

} // namespace

void describe(field_visitor& v, postgres_client_config& c) {
  using namespace std::chrono_literals;
  v.on({"connection", "as libpq reads it; what is not in it comes from libpq's "
                      "environment variables"},
       c.connection);
  v.on({"password", "the password, in place of one in `connection`; empty: "
                    "none"},
       c.password);
  describe_blocking_pool(v, c);
  v.on({"connect_timeout", "how long to try to connect at most"},
       c.connect_timeout, {1ms, 1h});
  v.integer({"max_result", "how large a result may be, in bytes"}, c.max_result,
            {1'024, 1 << 30});
  detail::describe_tls(v, c);
}

void check(const postgres_client_config& c, const setting_path& path,
           problems& out) {
  detail::check_postgres_connection(c, path, out);
}

worker postgres_worker(const postgres_client_config& c, supervision_config s) {
  require_valid(c);
  auto opener = std::make_shared<postgres_opener>(
    detail::postgres_connection_text(c), c.threads);
  blocking_worker_kind kind{
    .name = "caisson.postgres_worker",
    .make = [=] { return std::make_unique<postgres_session>(c, opener); },
    .first =
      [=] {
        auto x = std::make_unique<postgres_session>(c, opener);
        x->connect_first();
        return x;
      },
    .ends_if_unreachable = true,
    .adapter = sql_adapter()};
  return blocking_worker(kind, pool_config_of(c), std::move(s));
}

worker_kind postgres_worker_kind() {
  return worker_kind::of<postgres_client_config>(
    "postgres", postgres_worker,
    {.secrets = {"connection", "password"},
     .supervision = patient_supervision()});
}

} // namespace caisson
