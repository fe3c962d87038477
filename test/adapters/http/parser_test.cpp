// The parser sees the same however the bytes of a message are divided.
#include <caisson/adapters/http/parser.hpp>

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace caisson::test {
namespace {

using detail::http_parser;

std::string seen_by(http_parser::kind k, std::string_view text,
                    std::size_t first, std::size_t step) {
  http_parser x{k, {.body = 20}};
  std::size_t n = 0;
  for (auto size = first; n < text.size(); size = step) {
    auto took = x.feed(text.substr(n, size));
    n += took;
    if (took < size)
      break;
  }
  auto whole = x.end();
  std::string out = std::to_string(n) + (whole ? " whole " : " not ")
                    + std::to_string(static_cast<int>(x.why()));
  for (const auto& [name, value] : x.headers())
    out.append(" ").append(name).append("=").append(value);
  return out + ' ' + x.method() + x.target() + std::to_string(x.status()) + ' '
         + x.body();
}

TEST(http_parser, does_not_care_how_bytes_are_divided) {
  constexpr std::string_view texts[] = {
    "\r\nPOST /a HTTP/1.1\r\nHost: a\r\nX: 1\r\nX: 2\r\n"
    "Content-Length: 5\r\n\r\nhellorest",
    "POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
    "3\r\nabc\r\n2;x\r\nde\r\n0\r\nT: 1\r\n\r\nrest",
    "POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
    "3\r\nabcd\r\n",
    "POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
    "14\r\n01234567890123456789\r\n1\r\nx",
    "GET /a HTTP/1.1\r\nHost: a\rb\r\n\r\n",
    "HTTP/1.1 100 Go\r\nX: 1\r\n\r\nHTTP/1.1 200 OK\r\nY: 2\r\n\r\nto the end",
    "HTTP/1.1 200 OK\r\nY: 2\r\n\r\nlonger than twenty bytes",
    "HTTP/1.1 200 OK\r\nContent-Length: 21\r\n\r\nx",
  };
  for (auto text : texts) {
    auto k = text.starts_with("HTTP") ? http_parser::kind::response
                                      : http_parser::kind::request;
    auto at_once = seen_by(k, text, text.size(), text.size());
    EXPECT_EQ(seen_by(k, text, 1, 1), at_once);
    for (std::size_t i = 1; i < text.size(); ++i)
      EXPECT_EQ(seen_by(k, text, i, text.size()), at_once) << i;
  }
}

TEST(http_parser, begins_anew_after_each_message) {
  http_parser x{http_parser::kind::request};
  const std::string text = "GET /a HTTP/1.1\r\nHost: a\r\nX: 1\r\n\r\n";
  EXPECT_EQ(x.feed(text + text), text.size());
  EXPECT_EQ(x.at(), http_parser::stage::done);
  x.begin();
  EXPECT_EQ(x.at(), http_parser::stage::start);
  EXPECT_TRUE(x.headers().empty());
  EXPECT_EQ(x.feed(text), text.size());
  EXPECT_EQ(x.headers().size(), 2u);
}

// Such as one after a body: nothing of a request has come.
TEST(http_parser, has_not_begun_with_an_empty_line) {
  http_parser x{http_parser::kind::request};
  EXPECT_EQ(x.feed("\r\n"), 2u);
  EXPECT_EQ(x.at(), http_parser::stage::start);
  EXPECT_EQ(x.feed("G"), 1u);
  EXPECT_EQ(x.at(), http_parser::stage::head);
}

TEST(http_parser, limits_what_is_around_a_body) {
  http_parser x{http_parser::kind::request, {.body = 10}};
  (void)x.feed("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n"
               "\r\n");
  std::string many;
  while (many.size() < 100'000)
    many += "00000000000000000000000000000000000000000000001;"
            + std::string(150, 'x') + "\r\nx\r\n";
  (void)x.feed(many);
  EXPECT_EQ(x.at(), http_parser::stage::failed);
  http_parser y{http_parser::kind::request};
  (void)y.feed("GET / HTTP/1.1\r\n");
  while (y.at() == http_parser::stage::head)
    (void)y.feed("X: 1\r\n");
  EXPECT_EQ(y.why(), http_parser::fault::large_head);
}

TEST(http_parser, removes_what_the_connection_names) {
  http_headers all{{"a", "1"}, {"b", "2"}, {"content-length", "3"}};
  detail::drop_named_by_connection(all, " A ,, content-length,c");
  EXPECT_EQ(all, (http_headers{{"b", "2"}, {"content-length", "3"}}));
}

} // namespace
} // namespace caisson::test
