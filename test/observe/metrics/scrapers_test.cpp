// A server of metrics whose clients are slow, many, or odd.
#include <caisson/gate.hpp>
#include <caisson/observe/metrics/server.hpp>

#include <examples/http_get.hpp>
#include <gtest/gtest.h>
#include <system/sockets.hpp>

#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

class scrapers_test : public testing::Test {
protected:
  std::string response_to(const std::string& request) const {
    auto x = raw_socket::connected_to(server.port());
    x.write(request + "Host: a\r\nConnection: close\r\n\r\n");
    std::string all;
    for (auto part = x.read(); !part.empty(); part = x.read())
      all += part;
    return all;
  }

  static bool is(const std::string& answer, int status) {
    return answer.substr(0, 12) == "HTTP/1.1 " + std::to_string(status);
  }

  system_config cfg;
  caf::actor_system sys{cfg};
  metrics_server server{sys, "127.0.0.1:0"};
};

// The page is made by threads that no slow client has.
TEST_F(scrapers_test, that_are_slow_do_not_keep_others_from_it) {
  auto begin = std::chrono::steady_clock::now();
  std::vector<raw_socket> slow;
  for (int i = 0; i < 100; ++i) {
    slow.push_back(raw_socket::connected_to(server.port()));
    slow.back().write("GET /metrics HTTP/1.1\r\nHo");
  }
  for (int i = 0; i < 10; ++i)
    EXPECT_TRUE(is(demo::http_get(server.port(), "/metrics"), 200));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 1500ms);
}

TEST_F(scrapers_test, get_what_they_ask_for) {
  auto page = response_to("GET /metrics?a=1 HTTP/1.1\r\n");
  EXPECT_TRUE(is(page, 200)) << page;
  EXPECT_NE(page.find("content-type: text/plain; version=0.0.4"),
            std::string::npos);
  EXPECT_NE(page.find("caisson_gates 0\n"), std::string::npos);
  auto head = response_to("HEAD /metrics HTTP/1.1\r\n");
  EXPECT_TRUE(is(head, 200)) << head;
  EXPECT_EQ(head.find("caisson_gates"), std::string::npos);
  EXPECT_TRUE(is(response_to("POST /metrics HTTP/1.1\r\n"), 405));
  EXPECT_TRUE(is(response_to("GET /other HTTP/1.1\r\n"), 404));
  EXPECT_TRUE(
    is(response_to("POST /metrics HTTP/1.1\r\nContent-Length: 1\r\n"), 413));
  EXPECT_TRUE(is(response_to("nonsense\r\n"), 400));
}

TEST_F(scrapers_test, get_it_packed_only_if_they_say_so) {
  auto packed = [&](const std::string& value) {
    return response_to("GET /metrics HTTP/1.1\r\nAccept-Encoding: " + value
                       + "\r\n")
             .find("content-encoding: gzip\r\n")
           != std::string::npos;
  };
  for (auto x : {"gzip", "br, gzip", "deflate,GZIP"})
    EXPECT_TRUE(packed(x)) << x;
  for (auto x : {"", "identity", "gzip;q=0", "xgzip", "gzipx"})
    EXPECT_FALSE(packed(x)) << x;
}

TEST(metrics_address, may_be_of_ipv6) {
  system_config cfg;
  caf::actor_system sys{cfg};
  try {
    metrics_server server{sys, "[::1]:0"};
    EXPECT_GT(server.port(), 0);
  } catch (const std::runtime_error& x) {
    GTEST_SKIP() << x.what();
  }
}

} // namespace
} // namespace caisson::test
