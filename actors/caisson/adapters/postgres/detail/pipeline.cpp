#include <caisson/adapters/postgres/detail/pipeline.hpp>

#include <caisson/adapters/postgres/detail/received_bytes.hpp>

#include <poll.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace caisson::detail {

namespace {

// How much more may come than the names and values of tables have: what frames
// them, remarks, and notifications.
constexpr std::int64_t most_besides = 1 << 20;

bool is_sqlstate(std::string_view x) {
  return x.size() == 5 && x != "00000"
         && std::all_of(x.begin(), x.end(), [](char c) {
              return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z');
            });
}

bool concerns_transactions(std::string_view tag) {
  return tag == "BEGIN" || tag == "START TRANSACTION" || tag == "COMMIT"
         || tag == "ROLLBACK" || tag == "PREPARE TRANSACTION";
}

postgres_failure garbled(std::string why) {
  return {transport_errc::garbled, std::move(why)};
}

} // namespace

postgres_pipeline::postgres_pipeline(PGconn& connection, interruption& signal,
                                     std::int64_t most)
  : connection_(connection), signal_(signal), most_(most),
    received_before_(received_bytes(connection)) {}

// -- what is sent -------------------------------------------------------------

void postgres_pipeline::add(const sql_statement& x, sql_table& table) {
  queue(x, {{}, &table});
}

void postgres_pipeline::add(const std::string& text, std::string_view tag) {
  queue({text, {}}, {tag, nullptr});
}

void postgres_pipeline::queue(const sql_statement& x, const step& s) {
  steps_.push_back(s);
  std::vector<const char*> values;
  values.reserve(x.params.size());
  for (const auto& p : x.params)
    values.push_back(p.is_null ? nullptr : p.text.c_str());
  queued_ = queued_
            && PQsendQueryParams(&connection_, x.text.c_str(),
                                 static_cast<int>(values.size()), nullptr,
                                 values.data(), nullptr, nullptr, 0)
                 == 1;
}

std::optional<postgres_failure> postgres_pipeline::play(time_point until) {
  if (!queued_)
    return lost();
  if (auto x = flush(until))
    return x;
  return receive(until);
}

postgres_pipeline::failure postgres_pipeline::flush(time_point until) {
  if (PQpipelineSync(&connection_) != 1)
    return lost();
  for (;;) {
    count_input();
    auto state = PQflush(&connection_);
    note_rest();
    if (state == 0)
      return std::nullopt;
    if (state < 0)
      return lost();
    // What the server says meanwhile is taken in, or it might not read on.
    if (auto x = take_in())
      return x;
    if (auto x = wait(POLLIN | POLLOUT, until))
      return x;
  }
}

// -- what is answered ---------------------------------------------------------

// The results of each statement are followed by a null, those of the last one
// by the end of the pipeline.
postgres_pipeline::failure postgres_pipeline::receive(time_point until) {
  for (;;) {
    result_ptr x;
    if (auto f = next(until, x))
      return f;
    if (!x) {
      if (!is_answered_)
        return garbled("no answer to a statement");
      ++at_;
      is_answered_ = false;
      // Row by row, so that a large result is noticed before it is here.
      PQsetSingleRowMode(&connection_);
      continue;
    }
    if (PQresultStatus(x.get()) == PGRES_PIPELINE_SYNC)
      return finish(until);
    if (at_ >= steps_.size() || is_answered_)
      return garbled("more answers than statements");
    if (auto f = take(*x))
      return f;
  }
}

postgres_pipeline::failure postgres_pipeline::finish(time_point until) {
  if (at_ < steps_.size())
    return garbled("the server is ready before it has answered");
  result_ptr none;
  if (auto f = next(until, none))
    return f;
  return none ? failure{garbled("more answers than statements")} : std::nullopt;
}

postgres_pipeline::failure postgres_pipeline::take(const PGresult& x) {
  switch (PQresultStatus(&x)) {
    case PGRES_SINGLE_TUPLE:
      return add_rows(x);
    case PGRES_TUPLES_OK:
    case PGRES_COMMAND_OK:
      return carried_out(x);
    case PGRES_FATAL_ERROR:
      return turned_down(x);
    case PGRES_PIPELINE_ABORTED:
      is_answered_ = true;
      return refused() ? std::nullopt
                       : failure{garbled("skipped without an error")};
    case PGRES_EMPTY_QUERY:
      return garbled("the server sees an empty statement");
    default:
      // The server may commit before it knows that nobody copies.
      return postgres_failure{
        transport_errc::lost,
        "the server began a COPY, which is not supported"};
  }
}

postgres_pipeline::failure postgres_pipeline::carried_out(const PGresult& x) {
  if (refused())
    return garbled("a statement is carried out after an error");
  const auto& expected = steps_[at_];
  std::string_view tag = PQcmdStatus(const_cast<PGresult*>(&x));
  if (expected.table ? concerns_transactions(tag) : tag != expected.tag)
    return garbled("an answer to another statement");
  if (auto f = add_rows(x))
    return f;
  is_answered_ = true;
  ++done_;
  return std::nullopt;
}

// The first error is why; those after it follow from it. One without any field
// is libpq's own: the connection broke.
postgres_pipeline::failure postgres_pipeline::turned_down(const PGresult& x) {
  if (!PQresultErrorField(&x, PG_DIAG_SEVERITY))
    return lost();
  is_answered_ = true;
  if (refused())
    return std::nullopt;
  const auto* state = PQresultErrorField(&x, PG_DIAG_SQLSTATE);
  if (!state || !is_sqlstate(state))
    return garbled("an error without a SQLSTATE");
  const auto* text = PQresultErrorField(&x, PG_DIAG_MESSAGE_PRIMARY);
  sqlstate_ = state;
  message_ = text ? text : "";
  return std::nullopt;
}

postgres_pipeline::failure postgres_pipeline::add_rows(const PGresult& x) {
  auto* table = steps_[at_].table;
  if (!table)
    return std::nullopt;
  auto columns = PQnfields(&x);
  if (table->columns.empty())
    for (int k = 0; k < columns; ++k)
      size_ += static_cast<std::int64_t>(
        table->columns.emplace_back(PQfname(&x, k)).size());
  for (int i = 0; i < PQntuples(&x); ++i) {
    auto& row = table->rows.emplace_back();
    for (int k = 0; k < columns; ++k) {
      auto length = PQgetlength(&x, i, k);
      size_ += length + static_cast<std::int64_t>(sizeof(sql_value));
      if (PQgetisnull(&x, i, k) == 1)
        row.push_back(sql_value::null());
      else
        row.push_back({std::string(PQgetvalue(&x, i, k),
                                   static_cast<std::size_t>(length))});
    }
  }
  std::string_view count = PQcmdTuples(const_cast<PGresult*>(&x));
  std::from_chars(count.data(), count.data() + count.size(), table->affected);
  return size_ > most_ ? failure{postgres_failure{transport_errc::too_large}}
                       : std::nullopt;
}

// -- bytes --------------------------------------------------------------------

// The next result, or null at the end of those of one statement.
postgres_pipeline::failure postgres_pipeline::next(time_point until,
                                                   result_ptr& x) {
  while (PQisBusy(&connection_) == 1) {
    if (auto f = wait(POLLIN, until))
      return f;
    if (auto f = take_in())
      return f;
  }
  x.reset(PQgetResult(&connection_));
  return std::nullopt;
}

postgres_pipeline::failure postgres_pipeline::take_in() {
  count_input();
  // TLS makes it a little more.
  if (received_ > most_ + most_ / 64 + most_besides)
    return postgres_failure{transport_errc::too_large};
  auto is_open = PQconsumeInput(&connection_) == 1;
  note_rest();
  if (!is_open)
    return lost();
  // libpq keeps those that nobody takes.
  while (auto* x = PQnotifies(&connection_))
    PQfreemem(x);
  return std::nullopt;
}

// Before each call of libpq, which also reads while it sends. Where nobody else
// counts, what comes while libpq reads is missed: rows are counted besides.
void postgres_pipeline::count_input() {
  if (received_before_)
    received_ = received_bytes(connection_).value_or(*received_before_)
                - *received_before_;
  else
    received_ += std::max<std::int64_t>(0, waiting_bytes(connection_) - rest_);
}

void postgres_pipeline::note_rest() {
  if (!received_before_)
    rest_ = waiting_bytes(connection_);
}

postgres_pipeline::failure postgres_pipeline::wait(short events,
                                                   time_point until) {
  auto fd = PQsocket(&connection_);
  // libpq has closed it, and nothing would ever come.
  if (fd < 0)
    return lost();
  if ((events & POLLIN) != 0 && has_buffered_bytes(connection_))
    return std::nullopt;
  switch (signal_.wait(fd, events, until)) {
    case interruption::wake::timeout:
      return postgres_failure{transport_errc::timed_out};
    case interruption::wake::interrupted:
      return postgres_failure{transport_errc::lost, "cancelled"};
    case interruption::wake::ready:
      break;
  }
  return std::nullopt;
}

postgres_failure postgres_pipeline::lost() const {
  return {transport_errc::lost, PQerrorMessage(&connection_)};
}

} // namespace caisson::detail
