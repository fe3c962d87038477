// Bytes that come on connections with TLS when nobody waits for them.
#include <adapters/http/tls_servers.hpp>

#include <netinet/in.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

/// Answers requests with what a function says: several texts are as many
/// records. Closes each connection without a word of TLS after an empty one.
class raw_tls_server {
public:
  using script = std::function<std::vector<std::string>(int connection,
                                                        int request)>;

  explicit raw_tls_server(script s) : script_(std::move(s)) {
    const auto& all = certificates::all();
    context_.reset(SSL_CTX_new(TLS_server_method()));
    auto ok = SSL_CTX_use_certificate_chain_file(context_.get(),
                                                 all.pem("127.0.0.1").c_str())
                == 1
              && SSL_CTX_use_PrivateKey_file(context_.get(),
                                             all.key("127.0.0.1").c_str(),
                                             SSL_FILETYPE_PEM)
                   == 1;
    EXPECT_TRUE(ok);
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof where;
    EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&where), size), 0);
    EXPECT_EQ(::listen(listener_, 8), 0);
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&where), &size);
    port_ = ntohs(where.sin_port);
    thread_ = std::thread{[this] { accept_all(); }};
  }

  ~raw_tls_server() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }

  raw_tls_server(const raw_tls_server&) = delete;
  raw_tls_server& operator=(const raw_tls_server&) = delete;

  [[nodiscard]] std::string url() const {
    return "https://127.0.0.1:" + std::to_string(port_);
  }
  /// How many requests have got all that they get.
  [[nodiscard]] int answered() const { return answered_; }
  /// How many connections went on with the session of an earlier one, and how
  /// many have ended.
  [[nodiscard]] int resumed() const { return resumed_; }
  [[nodiscard]] int ended() const { return ended_; }

private:
  void accept_all() {
    std::vector<std::thread> all;
    for (int n = 0;; ++n) {
      auto fd = ::accept(listener_, nullptr, nullptr);
      if (fd < 0)
        break;
      all.emplace_back([this, fd, n] { serve(fd, n); });
    }
    for (auto& x : all)
      x.join();
  }

  void serve(int fd, int connection) {
    std::unique_ptr<SSL, decltype(&SSL_free)> tls{SSL_new(context_.get()),
                                                  &SSL_free};
    SSL_set_fd(tls.get(), fd);
    std::string seen;
    char bytes[4096];
    auto open = SSL_accept(tls.get()) == 1;
    resumed_ += SSL_session_reused(tls.get());
    for (int request = 0; open;) {
      auto n = SSL_read(tls.get(), bytes, sizeof bytes);
      if (n <= 0)
        break;
      seen.append(bytes, static_cast<std::size_t>(n));
      if (seen.find("\r\n\r\n") == std::string::npos)
        continue;
      seen.clear();
      for (const auto& x : script_(connection, request++)) {
        open = open && !x.empty();
        if (open)
          SSL_write(tls.get(), x.data(), static_cast<int>(x.size()));
      }
      ++answered_;
    }
    ::close(fd);
    ++ended_;
  }

  struct context_deleter {
    void operator()(SSL_CTX* x) const { SSL_CTX_free(x); }
  };

  script script_;
  std::unique_ptr<SSL_CTX, context_deleter> context_;
  int listener_ = -1;
  int port_ = 0;
  std::atomic<int> answered_{0};
  std::atomic<int> resumed_{0};
  std::atomic<int> ended_{0};
  std::thread thread_;
};

std::string ok(const std::string& body) {
  return "HTTP/1.1 200 OK\r\ncontent-length: " + std::to_string(body.size())
         + "\r\n\r\n" + body;
}

class https_kept_test : public http_test {
protected:
  // The bodies of two requests by one worker, the second one sent when the
  // server has written everything.
  std::string bodies(raw_tls_server& server, bool http2) {
    auto c = trusting(server.url());
    c.http2 = http2;
    auto w = spawn_http_worker(*sys, c);
    std::string out;
    for (int i = 1; i <= 2; ++i) {
      auto x = ask(w, wrap(http_request{}).within(10s));
      out += (x.response ? x.response->body : x.failure()) + ' ';
      while (server.answered() < i)
        std::this_thread::yield();
    }
    caf::anon_send_exit(w, caf::exit_reason::user_shutdown);
    return out;
  }
};

// Also what OpenSSL has read with the end of a body, so that no socket has it.
TEST_F(https_kept_test, is_no_answer_to_the_next_request) {
  auto first = ok("first");
  auto head = first.substr(0, first.size() - 2);
  const std::vector<std::vector<std::string>> ways{
    {first + ok("evil")}, {first, ok("evil")}, {head, "st" + ok("evil")}};
  for (auto http2 : {false, true})
    for (const auto& records : ways) {
      raw_tls_server server{[&](int connection, int) {
        return connection > 0 ? std::vector{ok("second")} : records;
      }};
      EXPECT_EQ(bodies(server, http2), "first second ")
        << http2 << ' ' << records.front();
    }
}

// The library drops what it reads beyond an answer without a body, or beyond
// the last chunk if it decodes. The rest comes when the next request is there.
TEST_F(https_kept_test, is_no_answer_although_its_beginning_was_dropped) {
  struct odd_answer {
    std::string method;
    std::string text;
  };
  const odd_answer all[] = {
    {"HEAD", "HTTP/1.1 200 OK\r\ncontent-length: 90\r\n\r\nhalf of "},
    {"GET", "HTTP/1.1 204 None\r\n\r\nhalf of "},
    {"GET", "HTTP/1.1 304 Same\r\ncontent-length: 90\r\n\r\nhalf of "},
    {"GET", "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\nhalf of "},
    {"GET", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
            "1\r\nx\r\n0\r\n\r\nhalf of "},
  };
  for (const auto& odd : all)
    for (auto http2 : {false, true}) {
      raw_tls_server server{[&](int connection, int request) {
        return std::vector{connection > 0 ? ok("second")
                           : request > 0  ? ok("evil")
                                          : odd.text};
      }};
      auto c = trusting(server.url());
      c.http2 = http2;
      c.compression = true;
      auto w = spawn_http_worker(*sys, c);
      ask(w, wrap(http_request{odd.method}).within(10s));
      auto next = ask(w, wrap(http_request{}).within(10s));
      ASSERT_TRUE(next.response) << next.failure();
      EXPECT_EQ(next.response->body, "second") << odd.text << http2;
      caf::anon_send_exit(w, caf::exit_reason::user_shutdown);
    }
}

TEST_F(https_kept_test, without_that_a_connection_is_used_again) {
  raw_tls_server server{[](int connection, int request) {
    return std::vector{
      ok(std::to_string(connection) + std::to_string(request))};
  }};
  EXPECT_EQ(bodies(server, false), "00 01 ");
}

// A session goes on with the certificates of its beginning, which may have been
// replaced.
TEST_F(https_kept_test, no_session_is_resumed_with_files_of_certificates) {
  for (auto with_files : {false, true}) {
    raw_tls_server server{[](int, int) { return std::vector{ok("x")}; }};
    auto c = trusting(server.url());
    if (!with_files) {
      c.ca_file = "";
      c.verify_server = false;
    }
    c.idle_timeout = 10ms;
    auto w = spawn_http_worker(*sys, c);
    for (int i = 1; i <= 3; ++i) {
      EXPECT_EQ(ask(w, wrap(http_request{}).within(10s)).status(), 200);
      while (server.ended() < i)
        std::this_thread::yield();
    }
    EXPECT_EQ(server.resumed() > 0, !with_files);
    caf::anon_send_exit(w, caf::exit_reason::user_shutdown);
  }
}

// Somebody in between can end a connection, but not say so by TLS.
TEST_F(https_kept_test, an_end_that_is_not_announced_is_no_end_of_a_body) {
  raw_tls_server server{[](int, int) {
    return std::vector<std::string>{"HTTP/1.1 200 OK\r\n\r\npart", ""};
  }};
  EXPECT_EQ(bodies(server, false), "lost lost ");
}

TEST_F(https_kept_test, large_heads_are_refused) {
  raw_tls_server server{[](int, int) { return std::vector{ok("x")}; }};
  auto w = spawn_http_worker(*sys, trusting(server.url()));
  auto x = ask(w, http_request{"GET", '/' + std::string(70'000, 'x')});
  EXPECT_EQ(x.failure(), "bad_request");
  EXPECT_EQ(server.answered(), 0);
}

} // namespace
} // namespace caisson::test
