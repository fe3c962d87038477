// The server under the fronts, with a loop that the test can hold up.
#include <adapters/http/fronts.hpp>

#include <caisson/adapters/http/server.hpp>

#include <atomic>
#include <latch>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

using detail::http_answer;
using detail::http_server;

const std::string request = "GET / HTTP/1.1\r\nHost: a\r\n"
                            "Connection: close\r\n\r\n";

std::string rest_of(const raw_socket& x) {
  std::string all;
  for (auto part = x.read(); !part.empty(); part = x.read())
    all += part;
  return all;
}

// However many come while it is busy, and without being read at first.
TEST(http_server, answers_all_requests_that_are_complete) {
  std::latch held{1};
  std::latch all_sent{1};
  std::latch answer{1};
  std::atomic<bool> first{true};
  http_server server{"127.0.0.1",
                     0,
                     {.threads = 4, .max_connections = 3, .max_per_peer = 3},
                     {.serve =
                        [&](const http_request&, time_point) {
                          answer.wait();
                          return http_answer{http_response{}};
                        },
                      .time_for = [&](const http_headers&) -> duration {
                        if (first.exchange(false)) {
                          held.count_down();
                          all_sent.wait();
                        }
                        return 1h;
                      }}};
  std::vector<raw_socket> clients;
  for (int i = 0; i < 6; ++i) {
    clients.push_back(raw_socket::connected_to(server.port()));
    clients.back().write(request);
    if (i == 0)
      held.wait();
  }
  all_sent.count_down();
  for (int i = 3; i < 6; ++i)
    EXPECT_EQ(status_in(rest_of(clients[static_cast<std::size_t>(i)])), 503);
  answer.count_down();
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(status_in(rest_of(clients[static_cast<std::size_t>(i)])), 200);
  EXPECT_EQ(server.rejected(), 3u);
}

TEST(http_server, sends_no_body_to_head_also_if_it_is_busy) {
  std::latch answer{1};
  std::latch held{1};
  http_server server{"127.0.0.1",
                     0,
                     {.threads = 1, .max_waiting = 0},
                     {.serve = [&](const http_request&, time_point) {
                       held.count_down();
                       answer.wait();
                       return http_answer{http_response{}};
                     }}};
  auto first = raw_socket::connected_to(server.port());
  first.write(request);
  held.wait();
  auto second = raw_socket::connected_to(server.port());
  second.write("HEAD" + request.substr(3));
  auto response = rest_of(second);
  EXPECT_EQ(status_in(response), 503);
  EXPECT_TRUE(response.ends_with("\r\n\r\n")) << response;
  answer.count_down();
  EXPECT_EQ(status_in(rest_of(first)), 200);
}

// The next request of the client, which nobody reads any more, must not make
// the system throw the answer away.
// Whatever the worker says; the next answer on the connection is not mixed up.
TEST(http_server, sends_no_body_with_a_status_that_has_none) {
  for (auto status : {204, 205, 304})
    for (auto shared : {false, true}) {
      http_server server{
        "127.0.0.1",
        0,
        {.threads = 1},
        {.serve = [&](const http_request&, time_point) -> http_answer {
          http_response head{status, {{"x-is", "this"}}, "body"};
          return shared
                   ? http_answer{head,
                                 std::make_shared<std::string>("shared body")}
                   : http_answer{head};
        }}};
      auto client = raw_socket::connected_to(server.port());
      client.write(request);
      auto response = rest_of(client);
      EXPECT_TRUE(response.starts_with("HTTP/1.1 " + std::to_string(status)));
      EXPECT_TRUE(response.ends_with("\r\n\r\n")) << response;
      EXPECT_NE(response.find("x-is: this\r\n"), std::string::npos);
      EXPECT_EQ(response.find("content-length: 0\r\n") != std::string::npos,
                status == 205)
        << response;
    }
}

TEST(http_server, finishes_an_answer_when_it_ends) {
  constexpr std::size_t size = 8 << 20;
  std::latch answer{1};
  std::latch held{1};
  std::optional<http_server> server;
  server.emplace(
    "127.0.0.1", std::uint16_t{0}, detail::http_server_limits{},
    detail::http_service{.serve = [&](const http_request&, time_point) {
      held.count_down();
      answer.wait();
      return http_answer{http_response{200, {}, std::string(size, 'x')}};
    }});
  auto client = raw_socket::connected_to(server->port());
  const std::string open = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
  client.write(open);
  held.wait();
  client.write(open);
  std::thread ending{[&] { server.reset(); }};
  std::this_thread::sleep_for(50ms);
  answer.count_down();
  EXPECT_GT(rest_of(client).size(), size);
  ending.join();
}

// Bodies are made anew as soon as the last one is too old.
TEST(http_server, keeps_few_shared_bodies_for_clients_that_do_not_read) {
  constexpr std::size_t size = 16 << 20;
  std::atomic<int> served{0};
  http_server server{"127.0.0.1",
                     0,
                     {.max_bodies = 2},
                     {.serve = [&](const http_request&, time_point) {
                       // Two clients share the second one.
                       static std::shared_ptr<const std::string> body;
                       if (served != 2)
                         body = std::make_shared<std::string>(size, 'x');
                       ++served;
                       return http_answer{http_response{}, body};
                     }}};
  std::vector<raw_socket> clients;
  for (std::uint64_t i = 0; i < 4; ++i) {
    clients.push_back(raw_socket::connected_to(server.port()));
    clients.back().write(request);
    char c = 0;
    EXPECT_EQ(::recv(clients.back().fd(), &c, 1, MSG_PEEK), 1);
  }
  EXPECT_LT(rest_of(clients[0]).size(), size);
  for (std::size_t i = 1; i < 4; ++i)
    EXPECT_GT(rest_of(clients[i]).size(), size) << i;
}

} // namespace
} // namespace caisson::test
