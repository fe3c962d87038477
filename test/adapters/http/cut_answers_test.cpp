// Servers that break the connection, or answer before they have the request.
#include <adapters/http/servers.hpp>

#include <sys/socket.h>

#include <string>

using namespace std::chrono_literals;
using namespace std::string_literals;

namespace caisson::test {
namespace {

// The other side reads what came until then, and then an error.
void break_off(const raw_socket& x) {
  linger how{1, 0};
  ::setsockopt(x.fd(), SOL_SOCKET, SO_LINGER, &how, sizeof how);
}

// Until the other side has taken it.
void write_slowly(const raw_socket& x, const std::string& text) {
  x.write(text);
  std::this_thread::sleep_for(50ms);
}

class cut_answers_test : public http_test {
protected:
  answer answer_of(const scripted_server& server, const http_request& x) {
    auto w = spawn_http_worker(*sys, at_port(server.port()));
    auto out = ask(w, wrap(x).within(5s));
    caf::anon_send_exit(w, caf::exit_reason::user_shutdown);
    return out;
  }

  // More than the sockets between take.
  const http_request large{"POST", "/", {}, std::string(16 << 20, 'x')};
};

TEST_F(cut_answers_test, end_where_the_connection_ends_in_good_order) {
  for (auto breaks : {false, true}) {
    scripted_server server{[&](raw_socket& x, int) {
      read_head(x);
      write_slowly(x, "HTTP/1.1 200 OK\r\n\r\nhalf");
      if (breaks)
        break_off(x);
    }};
    auto got = answer_of(server, {});
    EXPECT_EQ(got.failure(), breaks ? "lost" : "");
    EXPECT_EQ(got.response ? got.response->body : "", breaks ? "" : "half");
  }
}

TEST_F(cut_answers_test, are_read_when_the_request_cannot_be_written) {
  scripted_server server{[&](raw_socket& x, int) {
    read_head(x);
    write_slowly(x, "HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n\r\nbig");
  }};
  auto got = answer_of(server, large);
  EXPECT_EQ(got.status(), 413) << got.failure();
  EXPECT_EQ(got.response ? got.response->body : "", "big");
}

// Its end is no end of a body then.
TEST_F(cut_answers_test, are_lost_without_a_length_if_writing_fails) {
  scripted_server server{[&](raw_socket& x, int) {
    read_head(x);
    write_slowly(x, "HTTP/1.1 413 Too Large\r\n\r\nbig");
    break_off(x);
  }};
  EXPECT_EQ(answer_of(server, large).failure(), "lost");
}

TEST_F(cut_answers_test, are_taken_before_the_request_is_written) {
  std::atomic<bool> done{false};
  scripted_server server{[&](raw_socket& x, int n) {
    read_head(x);
    x.write("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 413 Too Large\r\n"
            "Content-Length: 0\r\n\r\n");
    while (n == 0 && !done)
      std::this_thread::sleep_for(1ms);
  }};
  auto w = spawn_http_worker(*sys, at_port(server.port()));
  auto got = ask(w, wrap(large).within(5s));
  EXPECT_EQ(got.status(), 413) << got.failure();
  EXPECT_LT(got.took, 3s);
  done = true;
  // With a connection of its own: the rest of the body would be a request.
  EXPECT_EQ(ask(w, wrap(http_request{}).within(5s)).status(), 413);
  EXPECT_EQ(server.connections(), 2);
}

TEST_F(cut_answers_test, do_not_end_a_request_that_is_wanted) {
  std::string got;
  scripted_server server{[&](raw_socket& x, int) {
    got = read_head(x);
    x.write("HTTP/1.1 100 Continue\r\n\r\n");
    while (got.size() < large.body.size())
      got += x.read();
    x.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
  }};
  auto out = answer_of(server, large);
  EXPECT_EQ(out.status(), 200) << out.failure();
}

TEST_F(cut_answers_test, hide_the_connection) {
  const std::string head
    = "HTTP/1.1 200 OK\r\nConnection: x-hop\r\nX-Hop: 1\r\n"
      "Keep-Alive: timeout=5\r\nUpgrade: h2c\r\n"
      "Trailer: x\r\nTE: x\r\nProxy-Authenticate: Basic\r\n"
      "Proxy-Connection: close\r\nETag: \"1\"\r\n";
  for (const auto& rest : {"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"s,
                           "Content-Length: 1\r\n\r\na"s}) {
    scripted_server server{[&](raw_socket& x, int) {
      read_head(x);
      x.write(head + rest);
    }};
    auto got = answer_of(server, {});
    ASSERT_EQ(got.status(), 200) << got.failure();
    EXPECT_EQ(got.response->headers, (http_headers{{"etag", "\"1\""}}));
  }
}

TEST_F(cut_answers_test, to_head_report_how_long_the_body_would_be) {
  scripted_server server{[&](raw_socket& x, int) {
    read_head(x);
    x.write("HTTP/1.1 200 OK\r\nContent-Length: 12345\r\n\r\n");
  }};
  auto got = answer_of(server, {"HEAD"});
  ASSERT_EQ(got.status(), 200) << got.failure();
  EXPECT_EQ(header_of(got.response->headers, "content-length"), "12345");
}

TEST_F(cut_answers_test, have_a_limited_number_of_headers) {
  std::string many;
  for (int i = 0; i < 129; ++i)
    many += "X" + std::to_string(i) + ": 1\r\n";
  scripted_server server{[&](raw_socket& x, int) {
    read_head(x);
    x.write("HTTP/1.1 200 OK\r\n" + many + "Content-Length: 0\r\n\r\n");
    x.end_writing();
    while (!x.read().empty())
      ;
  }};
  EXPECT_EQ(answer_of(server, {}).failure(), "garbled");
}

} // namespace
} // namespace caisson::test
