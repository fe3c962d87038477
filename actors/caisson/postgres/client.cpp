#include <caisson/postgres/client.hpp>

#include <fmt/format.h>
#include <libpq-fe.h>

#include <poll.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

namespace caisson {

namespace {

using steady = std::chrono::steady_clock;

struct sql_failure {
  transport_errc code;
  std::string text = {};
};

struct free_connection {
  void operator()(PGconn* x) const noexcept { PQfinish(x); }
};

struct free_result {
  void operator()(PGresult* x) const noexcept { PQclear(x); }
};

using connection_ptr = std::unique_ptr<PGconn, free_connection>;
using result_ptr = std::unique_ptr<PGresult, free_result>;

std::string begin_text(const sql_query& x) {
  std::string text = "BEGIN";
  if (x.isolation != sql_isolation::standard)
    text += fmt::format(" ISOLATION LEVEL {}", name_of(x.isolation));
  if (x.read_only)
    text += " READ ONLY";
  return text;
}

// A little less than what is left, so that the answer comes in time.
std::string timeout_text(duration left) {
  auto margin = std::min<duration>(left / 10, std::chrono::milliseconds(50));
  auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(left - margin)
              .count();
  return fmt::format("SET LOCAL statement_timeout = {}",
                     std::max<std::int64_t>(ms, 1));
}

bool has_zero(const std::string& x) {
  return x.find('\0') != std::string::npos;
}

// libpq takes texts that end with a zero, and counts parameters in 16 bits.
bool can_be_sent(const sql_query& x) {
  return !x.statements.empty()
         && std::none_of(
           x.statements.begin(), x.statements.end(), [](const auto& s) {
             return s.text.empty() || has_zero(s.text)
                    || s.params.size() > 65'535
                    || std::any_of(
                      s.params.begin(), s.params.end(),
                      [](const auto& p) { return has_zero(p.text); });
           });
}

// A connection in pipeline mode: all of a transaction is sent at once, and
// takes one round trip.
class postgres_session final : public blocking_session {
public:
  explicit postgres_session(postgres_client_config c) : config_(std::move(c)) {}

  void reset() noexcept override { connection_.reset(); }

  /// Throws if there is no server.
  void connect_first() {
    if (auto failure = connect(steady::now() + config_.connect_timeout))
      throw std::runtime_error{failure->text};
  }

  result run(const job& x) override {
    auto* query = portable::get_if<sql_query>(x.content);
    if (!query)
      return {caf::make_message(make_error(caf::sec::unexpected_message))};
    if (!can_be_sent(*query))
      return failed({transport_errc::bad_request, "no statement, or a zero"});
    if (connection_ && is_stale())
      reset();
    if (!connection_) {
      if (auto failure = connect(x.until)) {
        // A call that had too little time says nothing about the server.
        auto cut_short = signal().interrupted() || steady::now() >= x.until;
        return {failed(*failure).answer, cut_short};
      }
    }
    auto left = time_until(x.until, steady::now());
    if (left <= duration::zero())
      return failed({transport_errc::busy, "no time is left"});
    return carry_out(*query, x.until, left);
  }

private:
  static result failed(const sql_failure& x) {
    return {caf::make_message(make_error(x.code, x.text))};
  }

  // Nothing is expected now: what has come is the end, or nobody's.
  [[nodiscard]] bool is_stale() const {
    pollfd x{PQsocket(connection_.get()), POLLIN, 0};
    return ::poll(&x, 1, 0) != 0;
  }

  // -- the connection ---------------------------------------------------------

  std::optional<sql_failure> connect(time_point until) {
    until = std::min<time_point>(until,
                                 steady::now() + config_.connect_timeout);
    connection_.reset(PQconnectStart(config_.connection.c_str()));
    auto failure = opened(until);
    if (!failure)
      failure = greeted(until);
    if (failure)
      reset();
    return failure;
  }

  std::optional<sql_failure> opened(time_point until) {
    auto* c = connection_.get();
    if (!c)
      return sql_failure{transport_errc::not_connected, "no memory"};
    for (auto state = PGRES_POLLING_WRITING; state != PGRES_POLLING_OK;) {
      if (PQstatus(c) == CONNECTION_BAD || state == PGRES_POLLING_FAILED)
        return sql_failure{transport_errc::not_connected, PQerrorMessage(c)};
      short events = state == PGRES_POLLING_READING ? POLLIN : POLLOUT;
      auto came = signal().wait(PQsocket(c), events, until);
      if (came != interruption::wake::ready)
        return sql_failure{transport_errc::not_connected,
                           "no connection in time"};
      state = PQconnectPoll(c);
    }
    PQsetNoticeProcessor(
      c, [](void*, const char*) {}, nullptr);
    if (PQsetnonblocking(c, 1) != 0 || PQenterPipelineMode(c) != 1)
      return sql_failure{transport_errc::not_connected, PQerrorMessage(c)};
    return std::nullopt;
  }

  // Makes the server notice that a connection was closed, so that it does not
  // work on for nobody; not all servers can, which does not matter.
  std::optional<sql_failure> greeted(time_point until) {
    auto failure = queue({"SET client_connection_check_interval = 100", {}})
                     ? flushed(until)
                     : lost();
    results ignored{0};
    if (!failure)
      failure = received(until, ignored);
    if (failure)
      failure->code = transport_errc::not_connected;
    return failure;
  }

  // -- a transaction ----------------------------------------------------------

  // What came of a pipeline.
  struct results {
    /// How many statements are between BEGIN, SET and COMMIT.
    std::size_t statements;
    sql_result answer = {};
    /// The server has said that the transaction is carried out, whatever
    /// becomes of the connection.
    bool committed = false;
  };

  result carry_out(const sql_query& query, time_point until, duration left) {
    results all{query.statements.size()};
    auto failure = sent(query, until, left);
    if (!failure)
      failure = received(until, all);
    auto turned_down = all.answer.sqlstate != "00000";
    if (turned_down)
      all.answer.tables.clear();
    if (failure) {
      reset();
      // What it said before the connection broke is its answer.
      if (!turned_down && !all.committed)
        return failed(*failure);
      return {caf::make_message(std::move(all.answer))};
    }
    if (PQtransactionStatus(connection_.get()) != PQTRANS_IDLE
        && rolled_back(until))
      reset();
    if (connection_ && PQstatus(connection_.get()) == CONNECTION_BAD)
      reset();
    return {caf::make_message(std::move(all.answer))};
  }

  std::optional<sql_failure> sent(const sql_query& query, time_point until,
                                  duration left) {
    auto ok = queue({begin_text(query), {}}) && queue({timeout_text(left), {}});
    for (const auto& x : query.statements)
      ok = ok && queue(x);
    ok = ok && queue({"COMMIT", {}});
    return ok ? flushed(until) : lost();
  }

  // Appends a statement to what is to be sent.
  bool queue(const sql_statement& x) {
    std::vector<const char*> values;
    values.reserve(x.params.size());
    for (const auto& p : x.params)
      values.push_back(p.is_null ? nullptr : p.text.c_str());
    return PQsendQueryParams(connection_.get(), x.text.c_str(),
                             static_cast<int>(values.size()), nullptr,
                             values.data(), nullptr, nullptr, 0)
           == 1;
  }

  std::optional<sql_failure> flushed(time_point until) {
    auto* c = connection_.get();
    if (PQpipelineSync(c) != 1)
      return lost();
    for (;;) {
      auto state = PQflush(c);
      if (state == 0)
        return std::nullopt;
      // What the server says meanwhile is taken in, or it might not read on.
      if (state < 0 || PQconsumeInput(c) != 1)
        return lost();
      if (auto failure = wait(POLLIN | POLLOUT, until))
        return failure;
    }
  }

  // Reads up to the end of the pipeline. The results are those of BEGIN, of
  // SET, of the statements and of COMMIT, each followed by a null.
  std::optional<sql_failure> received(time_point until, results& all) {
    auto* c = connection_.get();
    auto n = all.statements;
    all.answer.tables.resize(n);
    sql_table other;
    std::int64_t size = 0;
    for (std::size_t i = 0;;) {
      result_ptr x;
      if (auto failure = next(until, x))
        return failure;
      if (!x) {
        ++i;
        // Row by row, so that a large result is noticed before it is here.
        PQsetSingleRowMode(c);
        continue;
      }
      auto* table = i >= 2 && i < n + 2 ? &all.answer.tables[i - 2] : &other;
      switch (PQresultStatus(x.get())) {
        case PGRES_PIPELINE_SYNC:
          return next(until, x);
        case PGRES_SINGLE_TUPLE:
        case PGRES_TUPLES_OK:
        case PGRES_COMMAND_OK:
          size += add(*x, *table);
          if (size > config_.max_result)
            return sql_failure{transport_errc::too_large};
          all.committed = all.committed || i == n + 2;
          break;
        case PGRES_FATAL_ERROR:
          if (auto failure = noted(*x, all))
            return failure;
          break;
        case PGRES_PIPELINE_ABORTED:
        case PGRES_EMPTY_QUERY:
          break;
        default:
          return sql_failure{transport_errc::bad_request,
                             "COPY is not for a worker"};
      }
    }
  }

  // The next result, or null at the end of those of one statement.
  std::optional<sql_failure> next(time_point until, result_ptr& x) {
    auto* c = connection_.get();
    while (PQisBusy(c) == 1) {
      if (auto failure = wait(POLLIN, until))
        return failure;
      if (PQconsumeInput(c) != 1)
        return lost();
    }
    x.reset(PQgetResult(c));
    return std::nullopt;
  }

  // Returns how many bytes it holds.
  static std::int64_t add(const PGresult& x, sql_table& table) {
    std::int64_t size = 0;
    auto columns = PQnfields(&x);
    if (table.columns.empty())
      for (int k = 0; k < columns; ++k)
        size += static_cast<std::int64_t>(
          table.columns.emplace_back(PQfname(&x, k)).size());
    for (int i = 0; i < PQntuples(&x); ++i) {
      auto& row = table.rows.emplace_back();
      for (int k = 0; k < columns; ++k) {
        auto length = PQgetlength(&x, i, k);
        size += length + static_cast<std::int64_t>(sizeof(sql_value));
        if (PQgetisnull(&x, i, k) == 1)
          row.push_back(sql_value::null());
        else
          row.push_back({std::string(PQgetvalue(&x, i, k),
                                     static_cast<std::size_t>(length))});
      }
    }
    std::string_view count = PQcmdTuples(const_cast<PGresult*>(&x));
    std::from_chars(count.data(), count.data() + count.size(), table.affected);
    return size;
  }

  // The first error is why; those after it follow from it. One without a code
  // is libpq's own, and one after the end of the transaction concerns the
  // connection: it broke.
  std::optional<sql_failure> noted(const PGresult& x, results& all) {
    const auto* state = PQresultErrorField(&x, PG_DIAG_SQLSTATE);
    auto& answer = all.answer;
    if (answer.sqlstate != "00000")
      return std::nullopt;
    if (!state || all.committed)
      return lost();
    answer.sqlstate = state;
    const auto* text = PQresultErrorField(&x, PG_DIAG_MESSAGE_PRIMARY);
    answer.message = text ? text : "";
    return std::nullopt;
  }

  // Ends a transaction that failed; returns why it could not.
  std::optional<sql_failure> rolled_back(time_point until) {
    if (PQstatus(connection_.get()) == CONNECTION_BAD
        || !queue({"ROLLBACK", {}}))
      return lost();
    if (auto failure = flushed(until))
      return failure;
    results ignored{0};
    return received(until, ignored);
  }

  std::optional<sql_failure> wait(short events, time_point until) {
    auto fd = PQsocket(connection_.get());
    // libpq has closed it, and nothing would ever come.
    if (fd < 0)
      return lost();
    switch (signal().wait(fd, events, until)) {
      case interruption::wake::timeout:
        return sql_failure{transport_errc::timed_out};
      case interruption::wake::interrupted:
        return sql_failure{transport_errc::lost, "cancelled"};
      case interruption::wake::ready:
        break;
    }
    return std::nullopt;
  }

  [[nodiscard]] sql_failure lost() const {
    return {transport_errc::lost, PQerrorMessage(connection_.get())};
  }

  postgres_client_config config_;
  connection_ptr connection_;
};

} // namespace

void describe(field_visitor& v, postgres_client_config& c) {
  using namespace std::chrono_literals;
  v.on({"connection", "as libpq reads it; what is not in it comes from libpq's "
                      "environment variables"},
       c.connection);
  describe_blocking_pool(v, c);
  v.on({"connect_timeout", "how long to try to connect at most"},
       c.connect_timeout, {1ms, 1h});
  v.integer({"max_result", "how large a result may be, in bytes"}, c.max_result,
            {1'024, 1 << 30});
}

worker postgres_worker(const postgres_client_config& c, supervision_config s) {
  require_valid(c);
  blocking_worker_kind kind{
    .name = "caisson.postgres_worker",
    .make = [c] { return std::make_unique<postgres_session>(c); },
    .first =
      [c] {
        auto x = std::make_unique<postgres_session>(c);
        x->connect_first();
        return x;
      },
    .ends_if_unreachable = true,
    .adapter = sql_adapter()};
  return blocking_worker(kind, pool_config_of(c), std::move(s));
}

} // namespace caisson
