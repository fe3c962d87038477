// The worker for HTTPS servers: right ones, wrong ones, some that break off.
#include <adapters/http/tls_servers.hpp>

#include <fmt/format.h>

#include <csignal>
#include <fstream>

#include <sys/wait.h>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

class https_test : public http_test {
protected:
  void set_handlers(httplib::Server& s) {
    auto serve = [this](const httplib::Request& in, httplib::Response& out) {
      ++served;
      out.set_content("safe " + in.body, "text/plain");
    };
    s.Get("/", serve);
    s.Post("/", serve);
  }

  tls_server::handlers handlers() {
    return [this](httplib::Server& s) { set_handlers(s); };
  }

  answer answer_of(const http_client_config& c, http_request x = {}) {
    auto w = spawn_http_worker(*sys, c);
    auto out = ask(w, wrap(std::move(x)).within(5s));
    caf::anon_send_exit(w, caf::exit_reason::user_shutdown);
    return out;
  }

  // Which says that the server has got nothing, and what to do about it.
  void expect_refused(const http_client_config& c, const std::string& advice) {
    auto x = answer_of(c, {"POST", "/", {}, "secret"});
    EXPECT_EQ(x.failure(), "not_connected");
    EXPECT_NE(transport_text_of(x.error).find(advice), std::string::npos)
      << transport_text_of(x.error);
    EXPECT_EQ(served, 0);
  }

  std::atomic<int> served{0};
};

TEST_F(https_test, answers_of_a_server_whose_certificate_is_right) {
  tls_server server{handlers()};
  auto w = spawn_http_worker(*sys, trusting(server.url()));
  for (int i = 0; i < 3; ++i) {
    auto x = ask(w, http_request{"POST", "/", {}, "and sound"});
    ASSERT_EQ(x.status(), 200) << transport_text_of(x.error);
    EXPECT_EQ(x.response->body, "safe and sound");
  }
}

TEST_F(https_test, refuses_a_server_of_another_authority) {
  tls_server server{handlers()};
  expect_refused({.url = server.url()}, "`ca_file`");
  auto c = trusting(server.url());
  c.ca_file = certificates::all().pem("stranger");
  expect_refused(c, "`ca_file`");
}

TEST_F(https_test, refuses_a_certificate_of_another_host) {
  tls_server server{handlers(),
                    {.certificate = "elsewhere", .key = "elsewhere"}};
  expect_refused(trusting(server.url()), "`url`");
}

TEST_F(https_test, refuses_a_certificate_that_has_expired) {
  tls_server server{handlers(), {.certificate = "expired"}};
  expect_refused(trusting(server.url()), "expired");
}

TEST_F(https_test, takes_any_server_if_it_need_not_be_verified) {
  tls_server server{handlers(),
                    {.certificate = "elsewhere", .key = "elsewhere"}};
  EXPECT_EQ(answer_of({.url = server.url(), .verify_server = false}).status(),
            200);
}

TEST_F(https_test, shows_its_certificate) {
  for (auto version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    served = 0;
    tls_server server{handlers(),
                      {.clients_from = "authority", .max_version = version}};
    auto c = trusting(server.url());
    auto without = answer_of(c, {"POST"});
    // With 1.3 the server may say so only when the request has been sent.
    EXPECT_TRUE(without.failure() == "not_connected"
                || (without.failure() == "lost" && version == TLS1_3_VERSION))
      << without.failure();
    EXPECT_EQ(served, 0);
    c.client_certificate = certificates::all().pem("client");
    c.client_key = certificates::all().key("client");
    auto with = answer_of(c, {"POST"});
    EXPECT_EQ(with.status(), 200) << transport_text_of(with.error);
    c.client_key = certificates::all().key("elsewhere");
    served = 0;
    expect_refused(c, "`client_key`");
  }
}

TEST_F(https_test, speaks_no_old_version) {
  tls_server server{handlers(), {.max_version = TLS1_1_VERSION}};
  expect_refused(trusting(server.url()), "TLS 1.2");
}

TEST_F(https_test, has_sent_nothing_if_the_handshake_breaks_off) {
  scripted_server hasty{[](raw_socket& x, int) { (void)x.read(); }};
  auto url = "https://127.0.0.1:" + std::to_string(hasty.port());
  expect_refused(trusting(url), "TLS");
  scripted_server plain{[](raw_socket& x, int) {
    (void)x.read();
    x.write("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
  }};
  url = "https://127.0.0.1:" + std::to_string(plain.port());
  expect_refused(trusting(url), "TLS");
}

TEST_F(https_test, has_sent_nothing_if_the_handshake_takes_too_long) {
  scripted_server silent{[](raw_socket& x, int) {
    while (!x.read().empty())
      ;
  }};
  auto c = trusting("https://127.0.0.1:" + std::to_string(silent.port()));
  c.connect_timeout = 100ms;
  expect_refused(c, "in time");
  c.connect_timeout = 10s;
  auto w = spawn_http_worker(*sys, c);
  auto x = ask(w, wrap(http_request{}).within(100ms));
  EXPECT_EQ(x.failure(), "not_connected");
  EXPECT_LT(x.took, 2s);
}

// Even what is not idempotent.
TEST_F(https_test, is_repeated_by_a_gate_if_nothing_was_sent) {
  scripted_server hasty{[](raw_socket& x, int) { (void)x.read(); }};
  auto gate = spawn_gate(
    *sys,
    http_worker(trusting("https://127.0.0.1:" + std::to_string(hasty.port()))),
    stack{"web"}.retrier(
      {.max_attempts = 3, .backoff = schedule::constant(1ms)}));
  EXPECT_EQ(ask(gate, as_call({.method = "POST"})).failure(), "not_connected");
  EXPECT_TRUE(eventually([&] { return hasty.connections() == 3; }));
  stop_gate(gate);
}

TEST_F(https_test, refuses_files_that_cannot_be_used) {
  auto problem_of = [](http_client_config c) {
    return to_text(problems_of(std::move(c)));
  };
  const auto& all = certificates::all();
  EXPECT_EQ(problem_of(trusting("https://a")), "");
  EXPECT_NE(problem_of({.url = "https://a", .ca_file = "/none"}), "");
  EXPECT_NE(problem_of(trusting("http://a")), "");
  EXPECT_NE(
    problem_of({.url = "https://a", .client_certificate = all.pem("client")}),
    "");
  EXPECT_NE(problem_of({.url = "https://a", .client_key = all.key("client")}),
            "");
  auto contradiction = trusting("https://a");
  contradiction.verify_server = false;
  EXPECT_NE(problem_of(contradiction), "");
}

TEST_F(https_test, refuses_urls_that_are_no_server) {
  auto well = [](const std::string& url) {
    return problems_of(http_client_config{.url = url}).empty();
  };
  for (const auto* x : {"http://a", "http://a/", "https://a:8443",
                        "http://[::1]:80", "https://10.0.0.7", "HTTPS://A"})
    EXPECT_TRUE(well(x)) << x;
  for (const auto* x :
       {"", "a", "a:80", "ftp://a", "http://", "http://a/b", "http://a?b",
        "http://a#b", "http://u@a", "http://u:p@a", "http://a:0",
        "http://a:65536", "http://a b", "http://a\r\nb", "file:///etc/passwd"})
    EXPECT_FALSE(well(x)) << x;
}

// -- HTTP/2 -------------------------------------------------------------------

// nghttpd, if it is installed.
class h2_server {
public:
  h2_server() : port_(dead_port()) {
    const auto& all = certificates::all();
    auto root = all.files.name();
    std::ofstream{root + "/index.html"} << "second";
    auto port = std::to_string(port_);
    process_ = ::fork();
    if (process_ == 0) {
      ::execlp("nghttpd", "nghttpd", "-d", root.c_str(), port.c_str(),
               all.key("127.0.0.1").c_str(), all.pem("127.0.0.1").c_str(),
               nullptr);
      ::_exit(127);
    }
  }

  ~h2_server() {
    if (process_ > 0) {
      ::kill(process_, SIGKILL);
      ::waitpid(process_, nullptr, 0);
    }
  }

  h2_server(const h2_server&) = delete;
  h2_server& operator=(const h2_server&) = delete;

  [[nodiscard]] bool runs() {
    for (int i = 0; i < 400; ++i) {
      if (::waitpid(process_, nullptr, WNOHANG) != 0) {
        process_ = 0;
        return false;
      }
      try {
        (void)raw_socket::connected_to(port_);
        return true;
      } catch (const std::exception&) {
        std::this_thread::sleep_for(5ms);
      }
    }
    return false;
  }

  [[nodiscard]] std::uint16_t port() const { return port_; }

private:
  std::uint16_t port_;
  pid_t process_ = 0;
};

TEST_F(https_test, speaks_the_second_version_if_the_server_does) {
  h2_server server;
  if (!server.runs())
    GTEST_SKIP() << "nghttpd is not installed";
  auto c = trusting("https://127.0.0.1:" + std::to_string(server.port()));
  c.http2 = true;
  c.max_in_progress = 100;
  c.max_connections = 1;
  auto w = spawn_http_worker(*sys, c);
  std::vector<decltype(portable::ask_blocking(*self, w, 30s, http_request{}))>
    all;
  for (int i = 0; i < 100; ++i)
    all.push_back(portable::ask_blocking(
      *self, w, 30s, http_request{i % 2 == 0 ? "GET" : "HEAD", "/index.html"}));
  int good = 0;
  for (std::size_t i = 0; i < all.size(); ++i)
    std::move(all[i]).receive(
      [&](const http_response& x) {
        good += x.status == 200 && x.body == (i % 2 == 0 ? "second" : "");
      },
      [](const caf::error&) {});
  EXPECT_EQ(good, 100);
  EXPECT_EQ(ask(w, http_request{"GET", "/absent"}).status(), 404);
}

// The library sends what fits there, and fails with the rest once it has begun.
TEST_F(https_test, sends_no_more_headers_than_the_second_version_takes) {
  h2_server server;
  if (!server.runs())
    GTEST_SKIP() << "nghttpd is not installed";
  auto c = trusting("https://127.0.0.1:" + std::to_string(server.port()));
  c.http2 = true;
  auto w = spawn_http_worker(*sys, c);
  auto ask_with = [&](int headers, std::size_t size) {
    http_request x{"GET", "/index.html"};
    for (int i = 0; i < headers; ++i)
      x.headers.emplace(fmt::format("x-{:04}", i), std::string(size, 'v'));
    return ask(w, std::move(x));
  };
  EXPECT_EQ(ask_with(3'300, 1).status(), 200);
  EXPECT_EQ(ask_with(4'400, 3).failure(), "bad_request");
  EXPECT_EQ(ask_with(58, 1'000).status(), 200);
}

TEST_F(https_test, speaks_the_first_version_if_the_server_has_no_second) {
  tls_server server{handlers()};
  auto c = trusting(server.url());
  c.http2 = true;
  EXPECT_EQ(answer_of(c).status(), 200);
}

} // namespace
} // namespace caisson::test
