#include <caisson/policy/answer_class.hpp>

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace caisson {
namespace {

// -- names --------------------------------------------------------------------

TEST(answer_class, every_class_has_its_name) {
  const std::string_view names[] = {"unknown",  "ok",   "retry", "retry_after",
                                    "conflict", "fail", "shed"};
  for (int i = 0; i <= static_cast<int>(last_answer_class); ++i) {
    auto x = static_cast<answer_class>(i);
    EXPECT_EQ(name_of(x), names[i]);
    EXPECT_EQ(answer_class_named(names[i]), x);
  }
  EXPECT_EQ(std::size(names), static_cast<std::size_t>(last_answer_class) + 1);
  EXPECT_EQ(answer_class_named("Retry"), std::nullopt);
  EXPECT_EQ(answer_class_named(""), std::nullopt);
  EXPECT_EQ(name_of(static_cast<answer_class>(77)), "unknown");
}

TEST(answer_code, reads_as_it_stands_in_lists) {
  using enum answer_protocol;
  EXPECT_EQ(to_text(answer_code{}), "");
  EXPECT_EQ(to_text({http, 503}), "http:503");
  EXPECT_EQ(to_text({grpc, 14}), "grpc:unavailable");
  EXPECT_EQ(to_text({grpc, 99}), "grpc:99");
  for (std::string five : {"40001", "40P01", "00000", "ZZZZZ", "HYT00"})
    EXPECT_EQ(to_text({sqlstate, packed_sqlstate(five).value()}),
              "sqlstate:" + five);
}

TEST(answer_code, an_sqlstate_is_five_digits_and_capitals) {
  EXPECT_EQ(packed_sqlstate("00000"), 0u);
  EXPECT_EQ(packed_sqlstate("0000Z"), 35u);
  EXPECT_EQ(packed_sqlstate("00010"), 36u);
  EXPECT_EQ(packed_sqlstate("ZZZZZ"), 36u * 36 * 36 * 36 * 36 - 1);
  for (auto text :
       {"", "4000", "400011", "40p01", "40 01", "4000-", "4000\xe9"})
    EXPECT_EQ(packed_sqlstate(text), std::nullopt) << text;
}

// -- names on lists -----------------------------------------------------------

bool name_matches(std::string_view name, answer_code c,
                  answer_class k = answer_class::retry) {
  auto pattern = parse_answer_name(name);
  return pattern && pattern->matches(k, c);
}

answer_code http_code(std::uint32_t x) {
  return {answer_protocol::http, x};
}

answer_code grpc_code(std::uint32_t x) {
  return {answer_protocol::grpc, x};
}

answer_code sql_code(std::string_view five) {
  return {answer_protocol::sqlstate, packed_sqlstate(five).value()};
}

TEST(answer_name, names_an_http_status_or_a_range) {
  EXPECT_TRUE(name_matches("http:503", http_code(503)));
  EXPECT_FALSE(name_matches("http:503", http_code(502)));
  EXPECT_FALSE(name_matches("http:503", grpc_code(503)));
  EXPECT_FALSE(name_matches("http:503", answer_code{}));
  for (auto status : {400u, 404u, 499u})
    EXPECT_TRUE(name_matches("http:4xx", http_code(status)));
  for (auto status : {399u, 500u})
    EXPECT_FALSE(name_matches("http:4xx", http_code(status)));
  for (auto status : {0u, 100u, 599u, 1000u})
    EXPECT_TRUE(name_matches("http:*", http_code(status)));
}

TEST(answer_name, names_a_grpc_code_by_name_or_number) {
  for (auto name : {"grpc:unavailable", "grpc:UNAVAILABLE", "grpc:14"}) {
    EXPECT_TRUE(name_matches(name, grpc_code(14))) << name;
    EXPECT_FALSE(name_matches(name, grpc_code(13))) << name;
  }
  EXPECT_TRUE(name_matches("grpc:resource_exhausted", grpc_code(8)));
  EXPECT_TRUE(name_matches("grpc:1", grpc_code(1)));
  EXPECT_TRUE(name_matches("grpc:16", grpc_code(16)));
  EXPECT_TRUE(name_matches("grpc:*", grpc_code(1)));
  EXPECT_TRUE(name_matches("grpc:*", grpc_code(99)));
  EXPECT_FALSE(name_matches("grpc:*", http_code(500)));
}

TEST(answer_name, names_an_sqlstate_or_its_beginning) {
  EXPECT_TRUE(name_matches("sqlstate:40001", sql_code("40001")));
  EXPECT_FALSE(name_matches("sqlstate:40001", sql_code("40002")));
  for (auto code : {"40000", "40P01", "40ZZZ"})
    EXPECT_TRUE(name_matches("sqlstate:40*", sql_code(code))) << code;
  for (auto code : {"3ZZZZ", "41000"})
    EXPECT_FALSE(name_matches("sqlstate:40*", sql_code(code))) << code;
  EXPECT_TRUE(name_matches("sqlstate:4000*", sql_code("4000Z")));
  EXPECT_TRUE(name_matches("sqlstate:*", sql_code("ZZZZZ")));
  EXPECT_FALSE(name_matches("sqlstate:*", http_code(500)));
}

TEST(answer_name, names_a_class_of_any_protocol) {
  using enum answer_class;
  for (auto k : {retry, retry_after, conflict, fail, shed}) {
    auto name = "class:" + std::string{name_of(k)};
    EXPECT_TRUE(name_matches(name, http_code(503), k));
    EXPECT_TRUE(name_matches(name, answer_code{}, k));
    EXPECT_FALSE(name_matches(name, http_code(503), k == fail ? shed : fail));
    EXPECT_FALSE(name_matches(name, answer_code{}, unknown));
  }
}

TEST(answer_name, refuses_all_other_forms) {
  for (auto name : {"http:",          "http:99",         "http:099",
                    "http:600",       "http:0xx",        "http:6xx",
                    "http:5xX",       "http:5x",         "http:5*",
                    "http: 503",      "http:503 ",       "http:-50",
                    "http:**",        "grpc:",           "grpc:ok",
                    "grpc:0",         "grpc:17",         "grpc:un*",
                    "grpc:unavail",   "grpc:-1",         "grpc:unavailable ",
                    "sqlstate:",      "sqlstate:4000",   "sqlstate:400011",
                    "sqlstate:40p01", "sqlstate:40001*", "sqlstate:4*0",
                    "sqlstate:**",    "class:",          "class:ok",
                    "class:unknown",  "class:Shed",      "class:*"}) {
    EXPECT_TRUE(is_answer_name(name)) << name;
    EXPECT_EQ(parse_answer_name(name), std::nullopt) << name;
  }
  for (auto name : {"", "http", "HTTP:503", "app:3", "shed", "xhttp:503"}) {
    EXPECT_FALSE(is_answer_name(name)) << name;
    EXPECT_EQ(parse_answer_name(name), std::nullopt) << name;
  }
}

} // namespace
} // namespace caisson
