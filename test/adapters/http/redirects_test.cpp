// Redirections, proxies and compressed bodies.
#include <adapters/http/tls_servers.hpp>

#include <caisson/adapters/http_client/detail/origin.hpp>

#include <mutex>
#include <vector>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

class http_ways_test : public http_test {
protected:
  // What has come to a server: method, target, some headers and the body.
  struct seen {
    std::string line;
    std::string authorization;
    std::string cookie;
    std::string custom_header;
    std::string body;
  };

  void keep(const httplib::Request& x) {
    std::lock_guard guard{mutex};
    all.push_back(
      {x.method + ' ' + x.target, x.get_header_value("authorization"),
       x.get_header_value("cookie"), x.get_header_value("x-mine"), x.body});
  }

  seen last() {
    std::lock_guard guard{mutex};
    return all.empty() ? seen{} : all.back();
  }

  // Sends `/STATUS?to=WHERE` there, and answers all else.
  void set_handlers(httplib::Server& s) {
    auto serve = [this](const httplib::Request& in, httplib::Response& out) {
      keep(in);
      if (in.has_param("to")) {
        out.status = std::stoi(in.path.substr(1));
        out.set_header("Location", in.get_param_value("to"));
      } else if (in.path == "/early") {
        out.status = 425;
      } else {
        out.set_content("here", "text/plain");
      }
    };
    s.Get(".*", serve);
    s.Post(".*", serve);
    s.Put(".*", serve);
  }

  std::function<void(httplib::Server&)> handlers() {
    return [this](httplib::Server& s) { set_handlers(s); };
  }

  answer answer_of(const http_client_config& c, const http_request& x) {
    auto w = spawn_http_worker(*sys, c);
    auto out = ask(w, wrap(x).within(5s));
    caf::anon_send_exit(w, caf::exit_reason::user_shutdown);
    return out;
  }

  static std::string url_of(std::uint16_t port) {
    return "http://127.0.0.1:" + std::to_string(port);
  }

  const http_headers secrets{
    {"Authorization", "Bearer 7"}, {"Cookie", "a=b"}, {"X-Mine", "1"}};
  std::mutex mutex;
  std::vector<seen> all;
  real_server server{[this](httplib::Server& s) { set_handlers(s); }};
};

TEST_F(http_ways_test, redirections_are_answers_by_default) {
  auto x = answer_of(at_port(server.port()), {"GET", "/302?to=/b"});
  EXPECT_EQ(x.status(), 302);
  EXPECT_EQ(header_of(x.response->headers, "location"), "/b");
  EXPECT_EQ(all.size(), 1u);
}

TEST_F(http_ways_test, redirections_are_followed_as_often_as_allowed) {
  auto c = at_port(server.port());
  c.redirects = 2;
  auto x = answer_of(c, {"GET", "/302?to=%2F307%3Fto%3D%2Fb", secrets, ""});
  EXPECT_EQ(x.status(), 200) << x.failure();
  EXPECT_EQ(all.size(), 3u);
  EXPECT_EQ(last().line, "GET /b");
  EXPECT_EQ(last().authorization, "Bearer 7");
  c.redirects = 1;
  EXPECT_EQ(answer_of(c, {"GET", "/302?to=%2F307%3Fto%3D%2Fb"}).status(), 307);
}

TEST_F(http_ways_test, redirections_change_the_method_as_they_say) {
  struct {
    const char* method;
    int status;
    const char* then;
    const char* body;
  } const rows[] = {
    {"POST", 301, "GET", ""},      {"POST", 302, "GET", ""},
    {"POST", 303, "GET", ""},      {"POST", 307, "POST", "body"},
    {"POST", 308, "POST", "body"}, {"PUT", 301, "PUT", "body"},
    {"PUT", 302, "PUT", "body"},   {"PUT", 303, "GET", ""},
    {"GET", 301, "GET", ""},       {"GET", 308, "GET", ""},
  };
  auto c = at_port(server.port());
  c.redirects = 1;
  auto w = spawn_http_worker(*sys, c);
  for (const auto& row : rows) {
    auto target = "/" + std::to_string(row.status) + "?to=/b";
    std::string body = row.method == std::string{"GET"} ? "" : "body";
    EXPECT_EQ(ask(w, http_request{row.method, target, {}, body}).status(), 200);
    EXPECT_EQ(last().line, std::string{row.then} + " /b") << row.status;
    EXPECT_EQ(last().body, row.body) << row.method << row.status;
  }
}

TEST_F(http_ways_test, no_other_server_gets_credentials) {
  real_server other{handlers()};
  auto c = at_port(server.port());
  c.redirects = 1;
  auto x = answer_of(
    c, {"GET", "/302?to=" + url_of(other.port()) + "/c", secrets, ""});
  EXPECT_EQ(x.status(), 200) << x.failure();
  EXPECT_EQ(last().line, "GET /c");
  EXPECT_EQ(last().authorization, "");
  EXPECT_EQ(last().cookie, "");
  EXPECT_EQ(last().custom_header, "1");
}

TEST_F(http_ways_test, redirections_never_leave_tls) {
  tls_server safe{handlers()};
  auto c = trusting(safe.url());
  c.redirects = 3;
  auto x = answer_of(c, {"GET", "/302?to=" + url_of(server.port()) + "/c"});
  EXPECT_EQ(x.status(), 302) << transport_text_of(x.error);
  EXPECT_EQ(all.size(), 1u);
  EXPECT_EQ(answer_of(c, {"GET", "/302?to=/d"}).status(), 200);
  // The other way round is fine.
  auto up = at_port(server.port());
  up.redirects = 1;
  up.ca_file = c.ca_file;
  EXPECT_EQ(answer_of(up, {"GET", "/302?to=" + safe.url() + "/e"}).status(),
            200);
  EXPECT_EQ(last().line, "GET /e");
}

TEST_F(http_ways_test, redirections_to_what_is_no_server_are_answers) {
  auto c = at_port(server.port());
  c.redirects = 3;
  for (const auto* to : {"ftp://a/", "file:///etc/passwd", "gopher://a",
                         "http://", "http://u:p@127.0.0.1/", "http://a:99999/"})
    EXPECT_EQ(answer_of(c, {"GET", std::string{"/302?to="} + to}).status(), 302)
      << to;
}

// The first server may have done something.
TEST_F(http_ways_test, a_redirection_to_nobody_may_have_been_executed) {
  auto c = at_port(server.port());
  c.redirects = 1;
  auto x = answer_of(c, {"GET", "/302?to=" + url_of(dead_port())});
  EXPECT_EQ(x.failure(), "lost");
}

// 425 says that nothing was done, by the server that says so.
TEST_F(http_ways_test, after_a_redirection_425_does_not_mean_not_done) {
  auto c = at_port(server.port());
  c.redirects = 1;
  EXPECT_EQ(answer_of(c, {"POST", "/early"}).status(), 425);
  EXPECT_EQ(answer_of(c, {"POST", "/303?to=/early"}).failure(), "lost");
}

TEST(http_url, keeps_the_zone_of_an_address) {
  auto x = detail::http_url_of("http://[FE80::1%25eth0]:8080/a?b=c");
  ASSERT_TRUE(x);
  EXPECT_EQ(x->text(), "http://[fe80::1%25eth0]:8080/a?b=c");
  EXPECT_EQ(detail::http_url_of(*x, "/d")->text(),
            "http://[fe80::1%25eth0]:8080/d");
}

// -- compressed bodies --------------------------------------------------------

TEST_F(http_ways_test, bodies_are_decompressed_if_wanted) {
  std::string text(100'000, 'x');
  std::string asked_for;
  real_server zipping{[&](httplib::Server& s) {
    s.Get("/", [&](const httplib::Request& in, httplib::Response& out) {
      asked_for = in.get_header_value("accept-encoding");
      out.set_content(text, "text/plain");
    });
  }};
  auto c = at_port(zipping.port());
  c.compression = true;
  auto x = answer_of(c, {});
  ASSERT_EQ(x.status(), 200) << transport_text_of(x.error);
  EXPECT_NE(asked_for.find("gzip"), std::string::npos);
  EXPECT_EQ(x.response->body, text);
  EXPECT_EQ(x.response->headers.count("content-encoding"), 0u);
  EXPECT_EQ(answer_of(at_port(zipping.port()), {}).response->body, text);
  EXPECT_EQ(asked_for, "identity");
  // Whoever asks for it gets it as it is.
  auto raw = answer_of(c, {"GET", "/", {{"Accept-Encoding", "gzip"}}, ""});
  ASSERT_EQ(raw.status(), 200);
  EXPECT_EQ(header_of(raw.response->headers, "content-encoding"), "gzip");
  EXPECT_LT(raw.response->body.size(), 1'000u);
  // What is small on the way is not small in memory.
  c.max_body = 99'999;
  EXPECT_EQ(answer_of(c, {}).failure(), "too_large");
  c.max_body = 100'000;
  EXPECT_EQ(answer_of(c, {}).status(), 200);
}

TEST_F(http_ways_test, compressed_bodies_that_are_wrong_are_garbled) {
  scripted_server wrong{[](raw_socket& x, int) {
    read_head(x);
    x.write("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n"
            "Content-Length: 5\r\n\r\nhello");
  }};
  auto c = at_port(wrong.port());
  c.compression = true;
  EXPECT_EQ(answer_of(c, {}).failure(), "garbled");
}

// -- proxies ------------------------------------------------------------------

// Connects one client after the other to where it wants, or refuses.
struct proxy {
  explicit proxy(bool refuses = false)
    : server([this, refuses](raw_socket& client, int) {
        auto head = read_head(client);
        {
          std::lock_guard guard{mutex};
          heads += head;
        }
        if (refuses)
          return client.write("HTTP/1.1 403 Forbidden\r\n"
                              "Content-Length: 0\r\n\r\n");
        auto tunnel = head.starts_with("CONNECT ");
        auto at = head.find(':', tunnel ? 0 : head.find("://") + 3) + 1;
        auto to = raw_socket::connected_to(
          static_cast<std::uint16_t>(std::stoi(head.substr(at))));
        if (tunnel)
          client.write("HTTP/1.1 200 Connected\r\nX-Of-Proxy: 1\r\n\r\n");
        else
          to.write(head);
        for (;;) {
          pollfd both[] = {{client.fd(), POLLIN, 0}, {to.fd(), POLLIN, 0}};
          if (::poll(both, 2, 10'000) <= 0)
            return;
          auto from_client = both[0].revents != 0;
          auto bytes = from_client ? client.read() : to.read();
          if (bytes.empty())
            return;
          (from_client ? to : client).write(bytes);
        }
      }) {}

  std::string bytes() {
    std::lock_guard guard{mutex};
    return heads;
  }

  std::mutex mutex;
  std::string heads;
  scripted_server server;
};

TEST_F(http_ways_test, tls_goes_through_a_proxy) {
  tls_server safe{handlers()};
  proxy between;
  auto c = trusting(safe.url());
  c.proxy = "http://user:pass@127.0.0.1:"
            + std::to_string(between.server.port());
  auto x = answer_of(c, {"GET", "/a", secrets, ""});
  ASSERT_EQ(x.status(), 200) << transport_text_of(x.error);
  EXPECT_EQ(x.response->headers.count("x-of-proxy"), 0u);
  EXPECT_EQ(last().authorization, "Bearer 7");
  auto bytes = between.bytes();
  EXPECT_EQ(bytes.find("CONNECT 127.0.0.1:" + std::to_string(safe.port())), 0u)
    << bytes;
  EXPECT_NE(bytes.find("Proxy-Authorization: Basic"), std::string::npos);
  EXPECT_EQ(bytes.find("Bearer"), std::string::npos);
}

TEST_F(http_ways_test, plain_requests_go_through_a_proxy) {
  proxy between;
  auto c = at_port(server.port());
  c.proxy = url_of(between.server.port());
  auto x = answer_of(c, {"GET", "/a%20b?c"});
  ASSERT_EQ(x.status(), 200) << transport_text_of(x.error);
  EXPECT_EQ(between.bytes().find("GET " + url_of(server.port()) + "/a%20b?c "),
            0u)
    << between.bytes();
}

TEST_F(http_ways_test, nothing_is_sent_if_the_proxy_refuses) {
  tls_server safe{handlers()};
  proxy between{true};
  auto c = trusting(safe.url());
  c.proxy = url_of(between.server.port());
  EXPECT_EQ(answer_of(c, {"POST"}).failure(), "not_connected");
  c.proxy = url_of(dead_port());
  EXPECT_EQ(answer_of(c, {"POST"}).failure(), "not_connected");
  EXPECT_TRUE(all.empty());
  c.proxy = "ftp://a";
  EXPECT_THROW((void)http_worker(c), config_error);
}

} // namespace
} // namespace caisson::test
