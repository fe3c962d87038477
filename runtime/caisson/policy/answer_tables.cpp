#include <caisson/policy/answer_tables.hpp>

#include <algorithm>

namespace caisson {

namespace {

constexpr auto ok = answer_class::ok;
constexpr auto retry = answer_class::retry;
constexpr auto conflict = answer_class::conflict;
constexpr auto fail = answer_class::fail;
constexpr auto shed = answer_class::shed;
constexpr auto any = ~std::uint32_t{0};

// For the server's faults of unknown cause: a second attempt shows whether it
// was transient, a third one shows nothing more.
constexpr answer_info once_more{.kind = retry, .max_attempts = 2};
constexpr answer_info never_again{.kind = retry, .max_attempts = 1};
constexpr answer_info not_done{.kind = retry, .may_have_executed = false};
// Who answers is not the server that was to do it.
constexpr answer_info no_answer{.kind = retry, .unanswered = true};
constexpr answer_info no_answer_in_time{
  .kind = retry, .unanswered = true, .out_of_time = true};
constexpr answer_info too_slow{
  .kind = retry, .max_attempts = 2, .unanswered = true, .out_of_time = true};
constexpr answer_info not_asked{
  .kind = retry, .may_have_executed = false, .unanswered = true};

// -- HTTP ---------------------------------------------------------------------

constexpr answer_row http_table[] = {
  {"1xx", 100, 199, {.kind = ok}, "no failure"},
  {"2xx", 200, 299, {.kind = ok}, "done"},
  {"3xx", 300, 399, {.kind = ok}, "the caller follows it"},
  {"408", 408, 408, {.kind = retry}, "the server got the request too slowly"},
  {"409",
   409,
   409,
   {.kind = conflict},
   "perhaps with what an earlier attempt did"},
  {"425", 425, 425, not_done, "the server did not want to act on early data"},
  {"429",
   429,
   429,
   {.kind = shed},
   "too many requests of this caller; the server works"},
  {"4xx", 400, 499, {.kind = fail}, "the request is at fault"},
  {"501", 501, 501, {.kind = fail}, "the server will never know this method"},
  {"502", 502, 502, no_answer, "a gateway got no valid answer from upstream"},
  {"503",
   503,
   503,
   {.kind = answer_class::retry_after},
   "overloaded or in maintenance, for a while"},
  {"504", 504, 504, no_answer_in_time,
   "a gateway got no answer from upstream in time"},
  {"505", 505, 505, {.kind = fail}, "the server will never know this version"},
  {"5xx", 500, 599, once_more, "the server is at fault, possibly transient"},
  {"others", 0, any, once_more, "no status at all: as 500 (RFC 9110)"},
};

// -- gRPC ---------------------------------------------------------------------

constexpr answer_row grpc_table[] = {
  {"OK", 0, 0, {.kind = ok}, "done"},
  {"CANCELLED", 1, 1, {.kind = fail}, "the caller no longer wants it"},
  {"UNKNOWN", 2, 2, once_more, "as HTTP 500: often an exception"},
  {"INVALID_ARGUMENT", 3, 3, {.kind = fail}, "the request is at fault"},
  {"DEADLINE_EXCEEDED", 4, 4, no_answer_in_time,
   "too slow; it may nevertheless have been done"},
  {"NOT_FOUND", 5, 5, {.kind = fail}, "the request is at fault"},
  {"ALREADY_EXISTS", 6, 6, {.kind = conflict}, "perhaps by an earlier attempt"},
  {"PERMISSION_DENIED", 7, 7, {.kind = fail}, "the request is at fault"},
  {"RESOURCE_EXHAUSTED",
   8,
   8,
   {.kind = shed},
   "a quota of this caller, or the server's own limit"},
  {"FAILED_PRECONDITION",
   9,
   9,
   {.kind = fail},
   "the caller must put the state right first"},
  {"ABORTED",
   10,
   10,
   {.kind = conflict},
   "to be repeated at a higher level: read again, then write"},
  {"OUT_OF_RANGE", 11, 11, {.kind = fail}, "the request is at fault"},
  {"UNIMPLEMENTED",
   12,
   12,
   {.kind = fail},
   "the server will never know this method"},
  {"INTERNAL", 13, 13, once_more, "as HTTP 500"},
  {"UNAVAILABLE", 14, 14, no_answer, "usually transient; retry only this call"},
  {"DATA_LOSS", 15, 15, never_again,
   "the server is at fault, and cannot recover"},
  {"UNAUTHENTICATED", 16, 16, {.kind = fail}, "the request is at fault"},
  {"others", 0, any, once_more, "as UNKNOWN (gRPC)"},
};

// -- SQL ----------------------------------------------------------------------

constexpr std::uint32_t packed(std::string_view prefix, std::uint32_t fill) {
  std::uint32_t x = 0;
  for (std::size_t i = 0; i < 5; ++i) {
    auto c = i < prefix.size() ? prefix[i] : '\0';
    auto digit = c >= 'A' ? c - 'A' + 10 : c - '0';
    x = x * 36 + (c == '\0' ? fill : static_cast<std::uint32_t>(digit));
  }
  return x;
}

// `codes` is a whole code, or its beginning and a star.
constexpr answer_row sql(std::string_view codes, answer_info info,
                         std::string_view why) {
  auto prefix = codes.substr(0, codes.find('*'));
  return {codes, packed(prefix, 0), packed(prefix, 35), info, why};
}

constexpr answer_row sqlstate_table[] = {
  sql("00*", {.kind = ok}, "done"),
  sql("01*", {.kind = ok}, "done, with a warning"),
  sql("02*", {.kind = ok}, "no data"),
  sql("07*", {.kind = fail}, "the request is at fault (dynamic SQL)"),
  sql("08001", not_asked, "no connection was made"),
  sql("08004", not_asked, "the server refused the connection"),
  sql("08P01", {.kind = fail}, "the client broke the protocol"),
  sql("08*", no_answer,
      "the connection broke: what was sent may have been done"),
  sql("0A*", {.kind = fail}, "the server does not know this feature"),
  sql("21*", {.kind = fail}, "the request is at fault (cardinality)"),
  sql("22*", {.kind = fail}, "the request is at fault (data)"),
  sql("23505", {.kind = conflict}, "unique: perhaps by an earlier attempt"),
  sql("23P01", {.kind = conflict}, "exclusion: perhaps by an earlier attempt"),
  sql("23*", {.kind = fail}, "the request is at fault (constraint)"),
  sql("25006",
      {.kind = retry,
       .may_have_executed = false,
       .max_attempts = 2,
       .unanswered = true},
      "read only, as after a change of the primary"),
  sql("25*", {.kind = fail}, "the request is at fault (transaction state)"),
  sql("26*", {.kind = fail}, "no such prepared statement"),
  sql("28*", {.kind = fail}, "the request is at fault (authorization)"),
  sql("34*", {.kind = fail}, "no such cursor"),
  sql("3D*", {.kind = fail}, "no such database"),
  sql("3F*", {.kind = fail}, "no such schema"),
  sql("40002", {.kind = fail}, "a constraint failed at the commit"),
  sql("40003", {.kind = retry}, "whether it was done is unknown"),
  sql("40*", not_done,
      "rolled back, as after 40001 (serialization) and 40P01 (deadlock)"),
  sql("42*", {.kind = fail}, "the request is at fault (syntax, access)"),
  sql("44*", {.kind = fail}, "the request is at fault (check option)"),
  sql("53300", {.kind = shed, .may_have_executed = false},
      "too many connections"),
  sql("53*", {.kind = shed}, "the server is short of something"),
  sql("54*", {.kind = fail}, "the request is too large or too complex"),
  sql("55P03", {.kind = retry}, "the lock was not available"),
  sql("55*", {.kind = fail}, "the state of an object forbids it"),
  sql("57014", too_slow, "a time limit of the server's, or an operator"),
  sql("57P01", no_answer, "the server is being stopped"),
  sql("57P02", no_answer, "the server crashed"),
  sql("57P03", not_asked, "the server is starting or stopping"),
  sql("57P04", {.kind = fail}, "the database is gone"),
  sql("58*", once_more, "the server's disk or system is at fault"),
  sql("HYT00", too_slow, "a time limit of the driver's"),
  sql("HYT01", not_asked, "no connection was made in time"),
  sql("P0*", {.kind = fail}, "raised by a procedure"),
  sql("XX*", never_again, "an internal error, or corrupt data"),
  sql("*", once_more, "an unknown cause: as HTTP 500"),
};

answer_info look_up(std::span<const answer_row> rows, answer_code code) {
  auto has_code = [&](const answer_row& x) {
    return x.first <= code.value && code.value <= x.last;
  };
  auto info = std::find_if(rows.begin(), rows.end(), has_code)->info;
  info.code = code;
  return info;
}

} // namespace

std::span<const answer_row> http_rows() noexcept {
  return http_table;
}

std::span<const answer_row> grpc_rows() noexcept {
  return grpc_table;
}

std::span<const answer_row> sqlstate_rows() noexcept {
  return sqlstate_table;
}

answer_info http_answer(int status) noexcept {
  // A negative one becomes a large one, which is no status either.
  return look_up(http_table,
                 {answer_protocol::http, static_cast<std::uint32_t>(status)});
}

answer_info grpc_answer(int code) noexcept {
  return look_up(grpc_table,
                 {answer_protocol::grpc, static_cast<std::uint32_t>(code)});
}

answer_info sqlstate_answer(std::string_view five) noexcept {
  auto code = packed_sqlstate(five);
  if (!code)
    return {};
  return look_up(sqlstate_table, {answer_protocol::sqlstate, *code});
}

} // namespace caisson
