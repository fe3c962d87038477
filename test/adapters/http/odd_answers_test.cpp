// Responses of which two readers could see another end, or another content.
#include <adapters/http/servers.hpp>

#include <string>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
using namespace std::string_literals;

namespace caisson::test {
namespace {

class odd_answers_test : public http_test {
protected:
  // What a worker makes of these bytes, after which the server says no more.
  answer answer_to(const std::string& text, const std::string& method = "GET") {
    scripted_server server{[&](raw_socket& x, int) {
      read_head(x);
      x.write(text);
      x.end_writing();
      while (!x.read().empty())
        ;
    }};
    auto w = spawn_http_worker(*sys, at_port(server.port()));
    return ask(w, wrap(http_request{method, "/"}).within(5s));
  }
};

TEST_F(odd_answers_test, are_garbled) {
  const auto ok = "HTTP/1.1 200 OK\r\n"s;
  const auto chunked = ok + "Transfer-Encoding: chunked\r\n\r\n";
  for (const auto& x : {
         "HTTP/1.1 000 OK\r\nContent-Length: 0\r\n\r\n"s,
         "HTTP/1.1 042 OK\r\nContent-Length: 0\r\n\r\n"s,
         "HTTP/1.1 20 OK\r\nContent-Length: 0\r\n\r\n"s,
         "HTTP/1.1 2000 OK\r\nContent-Length: 0\r\n\r\n"s,
         "HTTP/1.1  200 OK\r\nContent-Length: 0\r\n\r\n"s,
         "HTTP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n"s,
         "HTTP/1.1 101 Switching\r\n\r\n"s,
         "HTTP/1.1 100 Go\r\nContent-Length: 1\r\n\r\n" + ok + "\r\n",
         "\r\n" + ok + "Content-Length: 1\r\n\r\na",
         "HTTP/1.1 200 OK\nContent-Length: 1\n\na"s,
         ok + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nab",
         ok + "Content-Length: 1, 2\r\n\r\nab",
         ok + "Content-Length: +1\r\n\r\na",
         ok + "Content-Length: -1\r\n\r\na",
         ok + "Content-Length: %31\r\n\r\na",
         ok
           + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
         ok + "Transfer-Encoding: %63hunked\r\n\r\n0\r\n\r\n",
         ok + "Transfer-Encoding: gzip\r\n\r\na",
         "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"s,
         ok + "no colon\r\nContent-Length: 1\r\n\r\na",
         ok + "X : a\r\nContent-Length: 1\r\n\r\na",
         ok + "X: a\r\n b\r\nContent-Length: 1\r\n\r\na",
         ok + "X: a\rb\r\nContent-Length: 1\r\n\r\na",
         ok + "X: a\0b\r\nContent-Length: 1\r\n\r\na"s,
         chunked + "0x1\r\na\r\n0\r\n\r\n",
         chunked + "+1\r\na\r\n0\r\n\r\n",
         chunked + " 1\r\na\r\n0\r\n\r\n",
         chunked + "1zz\r\na\r\n0\r\n\r\n",
         chunked + "-ffffffffffffffff\r\na\r\n0\r\n\r\n",
         chunked + "1\na\r\n0\r\n\r\n",
         chunked + "1\r\nab\r\n0\r\n\r\n",
         chunked + "1\r\na\r\n-0\r\n\r\n",
       })
    EXPECT_EQ(answer_to(x).failure(), "garbled") << x;
}

TEST_F(odd_answers_test, are_lost_if_they_break_off) {
  const auto chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"s;
  for (const auto& x : {""s, "HTTP/1.1 200 OK\r\nX: a"s, chunked + "3\r\nab",
                        chunked + "3\r\nabc\r\n", chunked + "0\r\n"})
    EXPECT_EQ(answer_to(x).failure(), "lost") << x;
}

TEST_F(odd_answers_test, are_taken_if_they_are_right) {
  for (const auto& x : {
         "HTTP/1.1 200\r\nContent-Length: 1\r\n\r\na"s,
         "HTTP/1.1 200 OK\r\n\r\na"s,
         "HTTP/1.0 200 OK\r\n\r\na"s,
         "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n"
         "1;x=y\r\na\r\n0\r\nTrailer: b\r\n\r\n"s,
         "HTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n"
         "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na"s,
       }) {
    auto got = answer_to(x);
    ASSERT_EQ(got.status(), 200) << x << got.failure();
    EXPECT_EQ(got.response->body, "a") << x;
  }
}

TEST_F(odd_answers_test, have_no_body_where_there_is_none) {
  const auto rest = "Content-Length: 5\r\n\r\n"s;
  EXPECT_EQ(answer_to("HTTP/1.1 200 OK\r\n" + rest, "HEAD").status(), 200);
  EXPECT_EQ(answer_to("HTTP/1.1 304 Same\r\n" + rest).status(), 304);
  EXPECT_EQ(answer_to("HTTP/1.1 204 None\r\n\r\n").status(), 204);
}

TEST_F(odd_answers_test, keep_the_values_that_were_sent) {
  auto x = answer_to("HTTP/1.1 200 OK\r\nETag: \"a%20b%25\"\r\n"
                     "X-A: 1%0d%0aX-B: 2\r\nX-C: 100%\r\n"
                     "Content-Length: 0\r\n\r\n");
  ASSERT_EQ(x.status(), 200) << x.failure();
  EXPECT_EQ(header_of(x.response->headers, "etag"), "\"a%20b%25\"");
  EXPECT_EQ(header_of(x.response->headers, "x-a"), "1%0d%0aX-B: 2");
  EXPECT_EQ(header_of(x.response->headers, "x-c"), "100%");
}

TEST_F(odd_answers_test, keep_nothing_that_the_connection_names) {
  auto x = answer_to("HTTP/1.1 200 OK\r\nConnection: close, X-Hop\r\n"
                     "X-Hop: 1\r\nX-End: 2\r\nContent-Length: 0\r\n\r\n");
  ASSERT_EQ(x.status(), 200) << x.failure();
  EXPECT_EQ(x.response->headers.count("x-hop"), 0u);
  EXPECT_EQ(x.response->headers.count("x-end"), 1u);
}

TEST_F(odd_answers_test, are_asked_for_with_values_as_they_are) {
  std::string head;
  {
    scripted_server server{[&](raw_socket& x, int) {
      head = read_head(x);
      x.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
      read_head(x);
    }};
    auto w = spawn_http_worker(*sys, at_port(server.port()));
    auto got = ask(
      w, http_request{
           "PUT",
           "/a%20b?c=%25",
           {{"If-Match", "\"a%20b\""}, {"Connection", "x-hop"}, {"X-Hop", "1"}},
           "body"});
    EXPECT_EQ(got.status(), 200) << got.failure();
    caf::anon_send_exit(w, caf::exit_reason::user_shutdown);
  }
  EXPECT_EQ(head.find("PUT /a%20b?c=%25 HTTP/1.1\r\n"), 0u) << head;
  EXPECT_NE(head.find("\r\nif-match: \"a%20b\"\r\n"), std::string::npos)
    << head;
  EXPECT_NE(head.find("\r\nContent-Length: 4\r\n"), std::string::npos) << head;
  EXPECT_EQ(head.find("x-hop"), std::string::npos) << head;
}

} // namespace
} // namespace caisson::test
