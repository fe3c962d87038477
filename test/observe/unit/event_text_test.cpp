#include <caisson/observe/event_text.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <string>
#include <utility>

namespace caisson {
namespace {

using namespace std::chrono_literals;

constexpr utc_time new_year = std::chrono::sys_days{std::chrono::year{2026} / 1
                                                    / 1};

event opened_breaker() {
  event x;
  x.number = 7;
  x.gate = "payments";
  x.layer = "breaker";
  x.kind = event_kind::state_changed;
  x.from = "closed";
  x.to = "open";
  x.detail = "5 in a row";
  x.call = std::numeric_limits<std::uint64_t>::max();
  x.delay = 1500ms;
  return x;
}

TEST(event_as_json, has_its_fields_in_order) {
  EXPECT_EQ(to_json(opened_breaker(), new_year + 3h + 4min + 5s + 6ns),
            R"({"time":"2026-01-01T03:04:05.000000006Z","gate":"payments",)"
            R"("number":7,"kind":"state_changed","layer":"breaker",)"
            R"("from":"closed","to":"open","detail":"5 in a row",)"
            R"("delay_ns":1500000000,"call":"18446744073709551615"})");
}

TEST(event_as_json, names_the_trace_of_a_traced_call) {
  auto x = opened_breaker();
  x.trace_id = "4bf92f3577b34da6a3ce929d0e0e4736";
  x.span_id = "00f067aa0ba902b7";
  x.parent_span_id = "0000000000000001";
  EXPECT_TRUE(to_json(x, new_year)
                .ends_with(R"(,"trace_id":"4bf92f3577b34da6a3ce929d0e0e4736",)"
                           R"("span_id":"00f067aa0ba902b7",)"
                           R"("parent_span_id":"0000000000000001"})"));
}

TEST(event_as_json, escapes_what_json_does_not_allow) {
  struct {
    std::string in;
    std::string out;
  } const table[] = {
    {"a\"b\\c", R"(a\"b\\c)"},
    {"line\nbreak\ttab\rreturn", R"(line\nbreak\ttab\u000dreturn)"},
    {std::string("\0\x1f\x7f", 3), R"(\u0000\u001f\u007f)"},
    {"grün 😀", "grün 😀"},
    {"\xff\xfe", "\xef\xbf\xbd\xef\xbf\xbd"},
    {"cut \xe2\x82", "cut \xef\xbf\xbd\xef\xbf\xbd"},
    {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
  };
  for (const auto& row : table) {
    auto x = opened_breaker();
    x.detail = row.in;
    EXPECT_NE(to_json(x, new_year).find("\"detail\":\"" + row.out + "\","),
              std::string::npos)
      << to_json(x, new_year);
  }
}

std::string detail_in_json(std::string text) {
  auto x = opened_breaker();
  x.detail = std::move(text);
  auto line = to_json(x, new_year);
  auto from = line.find("\"detail\":\"") + 10;
  return line.substr(from, line.find("\",\"delay_ns\"") - from);
}

TEST(event_as_json, cuts_long_texts_between_characters) {
  EXPECT_EQ(detail_in_json(std::string(1024, 'x')), std::string(1024, 'x'));
  EXPECT_EQ(detail_in_json(std::string(1025, 'x')),
            std::string(1021, 'x') + "…");
  EXPECT_EQ(detail_in_json(std::string(1'000'000, '\n')).size(), 1020u + 3u);
  // Three bytes each: 340 of them, and the sign.
  std::string euros;
  for (int i = 0; i < 400; ++i)
    euros += "€";
  EXPECT_EQ(detail_in_json(euros), euros.substr(0, 3 * 340) + "…");
}

TEST(json_string, is_quoted_and_escaped) {
  EXPECT_EQ(json_string(""), "\"\"");
  EXPECT_EQ(json_string("say \"hi\"\n"), R"("say \"hi\"\n")");
}

TEST(event_as_json, has_a_bounded_length) {
  auto x = opened_breaker();
  for (auto* text : {&x.gate, &x.layer, &x.from, &x.to, &x.detail, &x.trace_id,
                     &x.span_id, &x.parent_span_id})
    *text = std::string(100'000, '\x01');
  x.number = x.call;
  x.delay = duration::min();
  EXPECT_LE(to_json(x, new_year).size(), max_json_line);
}

TEST(event_as_json, counts_what_is_missing) {
  EXPECT_EQ(dropped_to_json(12, new_year),
            R"({"time":"2026-01-01T00:00:00.000000000Z","kind":"dropped",)"
            R"("dropped":12})");
}

TEST(event_as_line, has_all_fields_that_are_set) {
  EXPECT_EQ(to_text(opened_breaker()),
            "payments/breaker: state_changed closed -> open (5 in a row), "
            "delay 1.5 s, call 18446744073709551615");
  event x;
  x.gate = "payments";
  x.kind = event_kind::expired;
  EXPECT_EQ(to_text(x), "payments: expired");
  x.call = 3;
  x.to = "up";
  x.trace_id = "4bf9";
  x.span_id = "00f0";
  EXPECT_EQ(to_text(x), "payments: expired up, call 3, trace 4bf9, span 00f0");
}

TEST(event_as_line, rounds_how_long_something_took) {
  event x;
  x.gate = "payments";
  x.kind = event_kind::retried;
  x.delay = 48'882'255ns;
  x.call = 1;
  EXPECT_EQ(to_text(x), "payments: retried, delay 48.9 ms, call 1");
  EXPECT_NE(to_json(x, new_year).find("\"delay_ns\":48882255,"),
            std::string::npos);
}

TEST(event_as_line, rounds_how_long_a_call_has_waited) {
  const std::pair<std::string, std::string> table[] = {
    {"waited 48882255ns", "waited 48.9 ms"},
    {"key a: waited 1999632911ns", "key a: waited 2.00 s"},
    {"waited 200ms", "waited 200 ms"},
    {"key waited 48882255ns", "key waited 48882255ns"},
    {"waited long", "waited long"},
    {"waited ", "waited "},
    {"key waited ", "key waited "},
  };
  for (const auto& [detail, text] : table) {
    event x;
    x.gate = "g";
    x.kind = event_kind::rejected;
    x.detail = detail;
    EXPECT_EQ(to_text(x), "g: rejected (" + text + ")");
  }
}

TEST(event_as_line, is_one_line_and_not_too_long) {
  event x;
  x.gate = "two\nlines\x1b[2J";
  x.detail = std::string(100'000, '\x01');
  auto line = to_text(x);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_EQ(line.find('\x1b'), std::string::npos);
  EXPECT_LT(line.size(), 2000u);
}

TEST(time_of_an_event, is_written_as_rfc_3339) {
  EXPECT_EQ(to_text(utc_time{}), "1970-01-01T00:00:00.000000000Z");
  EXPECT_EQ(to_text(utc_time{-1ns}), "1969-12-31T23:59:59.999999999Z");
  EXPECT_EQ(
    to_text(utc_time{std::chrono::sys_days{std::chrono::year{2024} / 2 / 29}}),
    "2024-02-29T00:00:00.000000000Z");
}

} // namespace
} // namespace caisson
