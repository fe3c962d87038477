// An HTTP front with clients that break the rules, are slow, or too many.
#include <adapters/http/fronts.hpp>

#include <atomic>
#include <thread>
#include <utility>
#include <vector>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

TEST_F(http_front_test, refuses_what_is_no_request) {
  http_front front{*sys, gate, {.max_body = 100}};
  auto port = front.port();
  EXPECT_EQ(status_in(talk(port, "hello\r\n\r\n")), 400);
  EXPECT_EQ(status_in(talk(port, "\x16\x03\x01\x02\r\n\r\n")), 400);
  EXPECT_EQ(status_in(get(port, "/" + std::string(8'150, 'a'))), 200);
  EXPECT_EQ(status_in(talk(
              port, "GET http://a/ HTTP/1.1\r\nConnection: close\r\n\r\n")),
            400);
  std::string post = "POST /a HTTP/1.1\r\nHost: a\r\n";
  EXPECT_EQ(status_in(talk(port, post + "Content-Length: 101\r\n\r\n"
                                   + std::string(101, 'x'))),
            413);
  EXPECT_EQ(
    status_in(talk(port, post
                           + "Content-Type: multipart/form-data; boundary=x\r\n"
                             "Content-Length: 1\r\n\r\nx")),
    415);
  EXPECT_EQ(status_in(talk(port, post
                                   + "Content-Encoding: gzip\r\n"
                                     "Content-Length: 1\r\n\r\nx")),
            415);
  EXPECT_EQ(served, 1);
}

// Whatever the connection is said to be for.
TEST_F(http_front_test, refuses_forms_that_are_called_the_connections) {
  http_front front{*sys, gate};
  for (const std::string header :
       {"Content-Encoding: gzip", "Content-Type: multipart/form-data"}) {
    auto name = header.substr(0, header.find(':'));
    auto x = talk(front.port(), "POST /a HTTP/1.1\r\nHost: a\r\n" + header
                                  + "\r\nConnection: close, " + name
                                  + "\r\nContent-Length: 1\r\n\r\nx");
    EXPECT_EQ(status_in(x), 415) << x;
  }
  EXPECT_EQ(served, 0);
}

TEST_F(http_front_test, takes_a_limited_number_of_headers) {
  http_front front{*sys, gate};
  std::string headers;
  for (int i = 0; i < 126; ++i)
    headers += "X" + std::to_string(i) + ": 1\r\n";
  EXPECT_EQ(status_in(get(front.port(), "/echo", headers)), 200);
  EXPECT_EQ(status_in(get(front.port(), "/echo", headers + "Y: 1\r\n")), 431);
}

TEST_F(http_front_test, does_not_take_a_refused_body_for_a_request) {
  http_front front{*sys, gate};
  auto x = talk(front.port(),
                "POST /a HTTP/1.1\r\nHost: a\r\nContent-Encoding: gzip\r\n"
                "Content-Length: 40\r\n\r\n"
                "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n\r\n");
  EXPECT_EQ(status_in(x), 415);
  EXPECT_EQ(count(x, "HTTP/1.1"), 1u);
  EXPECT_EQ(served, 0);
}

TEST_F(http_front_test, refuses_requests_whose_end_is_not_certain) {
  http_front front{*sys, gate};
  const std::string next = "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n";
  for (auto& head : {
         "POST /a HTTP/1.1\r\nContent-Length: 0\r\n"
         "Transfer-Encoding: chunked\r\n",
         "POST /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n"
         "Content-Length: 0\r\n",
         "POST /a HTTP/1.1\r\nContent-Length: 0\r\nContent-Length: 43\r\n",
         "POST /a HTTP/1.1\r\nContent-Length: +0\r\n",
         "POST /a HTTP/1.1\r\nContent-Length: 0x2b\r\n",
         "POST /a HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n",
         "POST /a HTTP/1.1\r\nContent-Length:\r\n",
         "POST /a HTTP/1.1\r\nTransfer-Encoding: xchunked\r\n",
         "POST /a HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n",
         "GET /a HTTP/1.1\r\nContent-Length: 43\r\n",
         "HEAD /a HTTP/1.1\r\nContent-Length: 43\r\n",
         "OPTIONS /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n",
         "DELETE /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n",
       }) {
    auto x = talk(front.port(), std::string{head} + "Host: a\r\n\r\n" + next);
    EXPECT_EQ(status_in(x), 400) << head;
    EXPECT_EQ(count(x, "HTTP/1.1"), 1u) << head << x;
  }
  EXPECT_EQ(served, 0);
}

// Bodies that are allowed are read, so that the next request begins after them.
TEST_F(http_front_test, reads_the_bodies_of_all_methods) {
  http_front front{*sys, gate};
  const std::string whole = "Content-Length: 4\r\n\r\nbody";
  const std::string chunks = "Transfer-Encoding: chunked\r\n\r\n"
                             "4\r\nbody\r\n0\r\n\r\n";
  for (const auto& [method, body] :
       std::vector<std::pair<std::string, std::string>>{{"POST", whole},
                                                        {"POST", chunks},
                                                        {"PUT", whole},
                                                        {"PUT", chunks},
                                                        {"PATCH", whole},
                                                        {"PATCH", chunks},
                                                        {"DELETE", whole}}) {
    auto x = talk(front.port(), method + " /a HTTP/1.1\r\nHost: a\r\n" + body
                                  + "GET /next HTTP/1.1\r\nHost: a\r\n"
                                    "Connection: close\r\n\r\n");
    EXPECT_EQ(count(x, "HTTP/1.1 200"), 2u) << method << body << x;
    EXPECT_EQ(count(x, method + " /a body"), 1u) << method << body << x;
    EXPECT_EQ(count(x, "GET /next "), 1u) << method << body << x;
  }
}

TEST_F(http_front_test, reads_no_line_without_end) {
  http_front front{*sys, gate};
  for (auto& begin : {std::string{}, std::string{"GET / HTTP/1.1\r\nX: "},
                      std::string{"GET / HTTP/1.1\r\n"}}) {
    auto x = raw_socket::connected_to(front.port());
    x.write(begin);
    for (int i = 0; i < 200; ++i)
      x.write(std::string(10'000, 'a'));
    while (!x.read().empty())
      ;
  }
  EXPECT_EQ(status_in(get(front.port(), "/echo")), 200);
  EXPECT_EQ(served, 1);
}

TEST_F(http_front_test, does_not_wait_long_for_slow_clients) {
  http_front front{
    *sys, gate, {.threads = 1, .read_timeout = 100ms, .idle_timeout = 100ms}};
  auto begin = std::chrono::steady_clock::now();
  auto idle = raw_socket::connected_to(front.port());
  auto slow = raw_socket::connected_to(front.port());
  slow.write("GET / HT");
  EXPECT_EQ(status_in(get(front.port(), "/echo")), 200);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 3s);
}

// Whoever waits for a thread gets that of a connection that does nothing.
TEST_F(http_front_test, keeps_no_idle_connection_while_others_wait) {
  http_front front{*sys, gate, {.threads = 2, .idle_timeout = 20s}};
  auto begin = std::chrono::steady_clock::now();
  std::vector<raw_socket> idle;
  for (int i = 0; i < 2; ++i) {
    idle.push_back(raw_socket::connected_to(front.port()));
    idle.back().write("GET /echo HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_EQ(status_in(read_head(idle.back())), 200);
  }
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(status_in(get(front.port(), "/echo")), 200);
  // Nor one that always has a next request.
  std::atomic<bool> stop{false};
  std::vector<std::thread> eager;
  for (int i = 0; i < 2; ++i)
    eager.emplace_back([&] {
      while (!stop) {
        auto x = raw_socket::connected_to(front.port());
        for (std::string head = "x"; !head.empty() && !stop;) {
          x.write("GET /echo HTTP/1.1\r\nHost: a\r\n\r\n");
          head = read_head(x);
        }
      }
    });
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(status_in(get(front.port(), "/echo")), 200);
  stop = true;
  for (auto& x : eager)
    x.join();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s);
}

TEST_F(http_front_test, rejects_what_has_no_place) {
  http_front front{*sys, gate, {.threads = 1, .max_waiting = 1, .timeout = 2s}};
  std::vector<std::thread> clients;
  std::atomic<int> late{0};
  std::atomic<int> sent{0};
  for (int i = 0; i < 2; ++i) {
    clients.emplace_back([&] {
      auto x = raw_socket::connected_to(front.port());
      ++sent;
      x.write("GET /silence HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
      late += status_in(read_head(x)) == 504;
    });
    EXPECT_TRUE(eventually([&] { return sent == i + 1; }));
    std::this_thread::sleep_for(50ms);
  }
  EXPECT_TRUE(eventually([&] { return served == 1; }));
  auto x = get(front.port(), "/echo");
  EXPECT_TRUE(x.empty() || status_in(x) == 503) << x;
  EXPECT_EQ(front.rejected(), 1u);
  for (auto& t : clients)
    t.join();
  EXPECT_EQ(late, 2);
}

// Those that wait are not asked for when their time is over.
TEST_F(http_front_test, answers_those_that_wait_by_their_deadlines) {
  http_front front{*sys, gate, {.threads = 1, .timeout = 300ms}};
  auto begin = std::chrono::steady_clock::now();
  std::vector<raw_socket> clients;
  for (int i = 0; i < 10; ++i) {
    clients.push_back(raw_socket::connected_to(front.port()));
    clients.back().write("GET /silence HTTP/1.1\r\nHost: a\r\n\r\n");
  }
  for (auto& x : clients)
    EXPECT_EQ(status_in(read_head(x)), 504);
  auto took = std::chrono::steady_clock::now() - begin;
  EXPECT_GE(took, 300ms);
  EXPECT_LT(took, 1'500ms);
  // Those that came a moment later may have a moment left.
  EXPECT_LT(served, 10);
  EXPECT_EQ(front.answered(), 10u);
  // The connection is as good as before.
  clients.back().write("GET /echo HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(status_in(read_head(clients.back())), 200);
}

TEST_F(http_front_test, answers_one_that_waits_less_than_others) {
  http_front front{*sys, gate, {.threads = 1, .timeout = 2s}};
  auto begin = std::chrono::steady_clock::now();
  auto busy = raw_socket::connected_to(front.port());
  busy.write("GET /silence HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_TRUE(eventually([&] { return served == 1; }));
  EXPECT_EQ(status_in(get(front.port(), "/echo",
                          std::string{http_deadline_header} + ": 100\r\n")),
            504);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 1'500ms);
  EXPECT_EQ(served, 1);
}

TEST_F(http_front_test, ends_by_the_deadlines_of_those_that_wait) {
  auto begin = std::chrono::steady_clock::now();
  std::vector<raw_socket> clients;
  {
    http_front front{*sys, gate, {.threads = 1, .timeout = 300ms}};
    for (int i = 0; i < 10; ++i) {
      clients.push_back(raw_socket::connected_to(front.port()));
      clients.back().write("GET /silence HTTP/1.1\r\nHost: a\r\n"
                           "Connection: close\r\n\r\n");
    }
    EXPECT_EQ(status_in(read_head(clients.front())), 504);
    begin = std::chrono::steady_clock::now();
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 1s);
}

TEST_F(http_front_test, ends_without_waiting_for_idle_clients) {
  auto begin = std::chrono::steady_clock::now();
  {
    http_front front{*sys, gate, {.read_timeout = 20s, .idle_timeout = 20s}};
    auto idle = raw_socket::connected_to(front.port());
    auto half = raw_socket::connected_to(front.port());
    half.write("GET / HT");
    EXPECT_EQ(status_in(get(front.port(), "/echo")), 200);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s);
}

TEST_F(http_front_test, finishes_requests_in_progress_when_it_ends) {
  std::string got;
  std::thread client;
  {
    http_front front{*sys, gate, {.timeout = 300ms}};
    client = std::thread{
      [&, port = front.port()] { got = get(port, "/silence"); }};
    EXPECT_TRUE(eventually([&] { return served == 1; }));
  }
  client.join();
  EXPECT_EQ(status_in(got), 504);
}

} // namespace
} // namespace caisson::test
