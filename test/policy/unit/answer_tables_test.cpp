#include <support/source_dir.hpp>

#include <caisson/policy/answer_tables.hpp>

#include <fmt/format.h>

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace caisson {
namespace {

using enum answer_class;

struct meaning {
  answer_class kind;
  std::uint32_t max_attempts = 0;
  bool may_have_executed = true;

  friend bool operator==(const meaning&, const meaning&) = default;
  friend std::ostream& operator<<(std::ostream& out, const meaning& x) {
    return out << name_of(x.kind) << " ×" << x.max_attempts
               << (x.may_have_executed ? "" : ", not executed");
  }
};

meaning meaning_of(const answer_info& x) {
  EXPECT_EQ(x.retry_after, duration::zero());
  return {x.kind, x.max_attempts, x.may_have_executed};
}

// -- HTTP ---------------------------------------------------------------------

TEST(http_answer, each_status_means_what_the_matrix_says) {
  const std::map<int, meaning> special{
    {408, {retry}},       {409, {conflict}}, {425, {retry, 0, false}},
    {429, {shed}},        {501, {fail}},     {502, {retry}},
    {503, {retry_after}}, {504, {retry}},    {505, {fail}},
  };
  for (int status = 100; status <= 599; ++status) {
    auto expected = meaning{status < 400 ? ok : fail};
    if (status >= 500)
      expected = {retry, 2};
    if (auto i = special.find(status); i != special.end())
      expected = i->second;
    auto info = http_answer(status);
    EXPECT_EQ(meaning_of(info), expected) << status;
    EXPECT_EQ(info.code, (answer_code{answer_protocol::http,
                                      static_cast<std::uint32_t>(status)}));
  }
}

TEST(http_answer, what_is_no_status_means_the_same_as_500) {
  for (auto status :
       {0, 1, 99, 600, 999, 1000, -1, -200, std::numeric_limits<int>::max(),
        std::numeric_limits<int>::min()})
    EXPECT_EQ(meaning_of(http_answer(status)), (meaning{retry, 2})) << status;
}

// -- gRPC ---------------------------------------------------------------------

TEST(grpc_answer, each_code_means_what_the_matrix_says) {
  const meaning expected[] = {
    {ok},       // OK
    {fail},     // CANCELLED
    {retry, 2}, // UNKNOWN
    {fail},     // INVALID_ARGUMENT
    {retry},    // DEADLINE_EXCEEDED
    {fail},     // NOT_FOUND
    {conflict}, // ALREADY_EXISTS
    {fail},     // PERMISSION_DENIED
    {shed},     // RESOURCE_EXHAUSTED
    {fail},     // FAILED_PRECONDITION
    {conflict}, // ABORTED
    {fail},     // OUT_OF_RANGE
    {fail},     // UNIMPLEMENTED
    {retry, 2}, // INTERNAL
    {retry},    // UNAVAILABLE
    {retry, 1}, // DATA_LOSS
    {fail},     // UNAUTHENTICATED
  };
  for (int code = 0; code <= 16; ++code) {
    auto info = grpc_answer(code);
    EXPECT_EQ(meaning_of(info), expected[code]) << code;
    EXPECT_EQ(info.code.protocol, answer_protocol::grpc);
    EXPECT_EQ(info.code.value, static_cast<std::uint32_t>(code));
  }
  for (auto code : {17, 100, -1})
    EXPECT_EQ(meaning_of(grpc_answer(code)), (meaning{retry, 2})) << code;
}

TEST(grpc_rows, are_named_as_their_codes) {
  auto rows = grpc_rows();
  ASSERT_EQ(rows.size(), 18u);
  for (const auto& row : rows.first(17)) {
    auto pattern = parse_answer_name("grpc:" + std::string{row.codes});
    if (row.codes == "OK")
      continue;
    ASSERT_TRUE(pattern) << row.codes;
    EXPECT_EQ(pattern->first, row.first);
    EXPECT_EQ(pattern->last, row.last);
  }
}

// -- SQL ----------------------------------------------------------------------

TEST(sqlstate_answer, each_code_means_what_the_matrix_says) {
  const std::map<std::string_view, meaning> expected{
    {"00000", {ok}},
    {"01004", {ok}},
    {"02000", {ok}},
    {"07001", {fail}},
    {"08000", {retry}},
    {"08001", {retry, 0, false}},
    {"08003", {retry}},
    {"08004", {retry, 0, false}},
    {"08006", {retry}},
    {"08007", {retry}},
    {"08P01", {fail}},
    {"08S01", {retry}},
    {"0A000", {fail}},
    {"21000", {fail}},
    {"22001", {fail}},
    {"22P02", {fail}},
    {"23502", {fail}},
    {"23503", {fail}},
    {"23505", {conflict}},
    {"23514", {fail}},
    {"23P01", {conflict}},
    {"25006", {retry, 2, false}},
    {"25P02", {fail}},
    {"26000", {fail}},
    {"28P01", {fail}},
    {"34000", {fail}},
    {"3D000", {fail}},
    {"3F000", {fail}},
    {"40000", {retry, 0, false}},
    {"40001", {retry, 0, false}},
    {"40002", {fail}},
    {"40003", {retry}},
    {"40P01", {retry, 0, false}},
    {"42501", {fail}},
    {"42601", {fail}},
    {"42P01", {fail}},
    {"44000", {fail}},
    {"53000", {shed}},
    {"53100", {shed}},
    {"53200", {shed}},
    {"53300", {shed, 0, false}},
    {"54000", {fail}},
    {"55000", {fail}},
    {"55P03", {retry}},
    {"57014", {retry, 2}},
    {"57P01", {retry}},
    {"57P02", {retry}},
    {"57P03", {retry, 0, false}},
    {"57P04", {fail}},
    {"58030", {retry, 2}},
    {"HY000", {retry, 2}},
    {"HYT00", {retry, 2}},
    {"HYT01", {retry, 0, false}},
    {"P0001", {fail}},
    {"XX000", {retry, 1}},
    {"XX001", {retry, 1}},
    {"99999", {retry, 2}},
    {"ZZZZZ", {retry, 2}},
  };
  for (const auto& [code, expected_meaning] : expected) {
    auto info = sqlstate_answer(code);
    EXPECT_EQ(meaning_of(info), expected_meaning) << code;
    EXPECT_EQ(to_text(info.code), "sqlstate:" + std::string{code});
  }
}

TEST(sqlstate_answer, is_silent_about_what_is_no_sqlstate) {
  for (auto text :
       {"", "0", "4000", "400011", "40p01", "ok", "\xff\xff\xff\xff\xff"}) {
    auto info = sqlstate_answer(text);
    EXPECT_EQ(info.kind, unknown) << text;
    EXPECT_EQ(info.code, answer_code{}) << text;
  }
}

// -- the tables as such -------------------------------------------------------

// A row that no code can get to would only seem to mean something.
TEST(answer_rows, none_is_hidden_by_those_before_it) {
  for (auto rows : {http_rows(), grpc_rows(), sqlstate_rows()}) {
    std::set<std::string_view> seen;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      EXPECT_TRUE(seen.insert(rows[i].codes).second) << rows[i].codes;
      EXPECT_LE(rows[i].first, rows[i].last) << rows[i].codes;
      for (std::size_t j = 0; j < i; ++j)
        EXPECT_FALSE(rows[j].first <= rows[i].first
                     && rows[i].last <= rows[j].last)
          << rows[i].codes << " is within " << rows[j].codes;
    }
  }
}

std::string attempts_in_words(std::uint32_t n) {
  switch (n) {
    case 0:
      return "";
    case 1:
      return "once";
    case 2:
      return "twice";
    default:
      return fmt::format("{} times", n);
  }
}

std::string rendered(std::span<const answer_row> rows) {
  std::string out = "| code | class | at most | done | reason |\n"
                    "| --- | --- | --- | --- | --- |\n";
  for (const auto& x : rows)
    out += fmt::format("| {} | `{}` | {} | {} | {} |\n", x.codes,
                       name_of(x.info.kind),
                       attempts_in_words(x.info.max_attempts),
                       x.info.may_have_executed ? "" : "no", x.why);
  return out;
}

TEST(answer_rows, say_of_few_codes_that_no_server_has_answered) {
  auto marks = [](const answer_info& x) {
    return std::string{x.unanswered ? "unanswered" : ""}
           + (x.out_of_time ? ", out of time" : "");
  };
  for (int status = 100; status <= 599; ++status)
    EXPECT_EQ(marks(http_answer(status)), status == 502 ? "unanswered"
                                          : status == 504
                                            ? "unanswered, out of time"
                                            : "")
      << status;
  for (int code = 0; code <= 20; ++code)
    EXPECT_EQ(marks(grpc_answer(code)), code == 14  ? "unanswered"
                                        : code == 4 ? "unanswered, out of time"
                                                    : "")
      << code;
  for (auto code : {"08000", "08001", "08004", "08006", "25006", "57P01",
                    "57P02", "57P03", "HYT01"})
    EXPECT_EQ(marks(sqlstate_answer(code)), "unanswered") << code;
  for (auto code : {"57014", "HYT00"})
    EXPECT_EQ(marks(sqlstate_answer(code)), "unanswered, out of time") << code;
  for (auto code :
       {"00000", "08P01", "25001", "23505", "40001", "53300", "57P04", "XX000"})
    EXPECT_EQ(marks(sqlstate_answer(code)), "") << code;
}

TEST(answer_rows, are_the_tables_of_the_page) {
  std::ifstream file{test::source_path("docs/answers.md")};
  std::string page{std::istreambuf_iterator<char>{file}, {}};
  for (auto rows : {http_rows(), grpc_rows(), sqlstate_rows()}) {
    auto table = rendered(rows);
    EXPECT_NE(page.find("\n" + table + "\n"), std::string::npos)
      << "docs/answers.md has no such table:\n"
      << table;
  }
}

} // namespace
} // namespace caisson
