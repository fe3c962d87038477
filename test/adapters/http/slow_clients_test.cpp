// A front whose clients take their time, with an honest one among them.
#include <adapters/http/fronts.hpp>

#include <poll.h>

#include <vector>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

bool was_closed(const raw_socket& x) {
  pollfd p{x.fd(), POLLIN, 0};
  return ::poll(&p, 1, 0) > 0;
}

class slow_clients_test : public http_front_test {
protected:
  std::vector<raw_socket> clients(const http_front& front, int n,
                                  const std::string& request) {
    std::vector<raw_socket> out;
    for (int i = 0; i < n; ++i) {
      out.push_back(raw_socket::connected_to(front.port()));
      out.back().write(request);
    }
    return out;
  }

  const std::string head = "GET / HTTP/1.1\r\nHost: ";
  const std::string body = "POST / HTTP/1.1\r\nHost: a\r\n"
                           "Content-Length: 9\r\n\r\nslow";
  // Only the limits end those that are slow.
  static constexpr auto patient = 20s;
};

// More than there are threads and places to wait.
TEST_F(slow_clients_test, take_no_thread_from_others) {
  http_front front{*sys,
                   gate,
                   {.threads = 2,
                    .max_waiting = 2,
                    .head_timeout = patient,
                    .read_timeout = patient,
                    .idle_timeout = patient}};
  for (const auto& request : {std::string{}, head, body}) {
    auto begin = std::chrono::steady_clock::now();
    auto slow = clients(front, 60, request);
    for (int i = 0; i < 20; ++i)
      EXPECT_EQ(status_in(get(front.port(), "/echo")), 200) << request;
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s) << request;
  }
  EXPECT_EQ(front.rejected(), 0u);
}

TEST_F(slow_clients_test, give_way_to_new_ones_from_their_address) {
  http_front front{
    *sys,
    gate,
    {.max_per_peer = 10, .head_timeout = patient, .idle_timeout = patient}};
  auto first = clients(front, 1, head);
  auto slow = clients(front, 30, head);
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(status_in(get(front.port(), "/echo")), 200);
  EXPECT_TRUE(was_closed(first.front()));
  EXPECT_FALSE(was_closed(slow.back()));
  EXPECT_EQ(front.rejected(), 0u);
}

TEST_F(slow_clients_test, give_way_to_new_ones_when_there_are_many) {
  http_front front{
    *sys,
    gate,
    {.max_connections = 10, .head_timeout = patient, .idle_timeout = patient}};
  auto slow = clients(front, 30, head);
  EXPECT_EQ(status_in(get(front.port(), "/echo")), 200);
  EXPECT_TRUE(was_closed(slow.front()));
  EXPECT_FALSE(was_closed(slow.back()));
}

// A request that is answered keeps its place.
TEST_F(slow_clients_test, do_not_end_a_request_in_progress) {
  http_front front{*sys, gate, {.max_per_peer = 1, .timeout = 300ms}};
  auto busy = clients(front, 1, "GET /silence HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_TRUE(eventually([&] { return served == 1; }));
  auto x = get(front.port(), "/echo");
  EXPECT_TRUE(x.empty() || status_in(x) == 503) << x;
  EXPECT_EQ(status_in(read_head(busy.front())), 504);
  EXPECT_EQ(front.rejected(), 1u);
}

TEST_F(slow_clients_test, get_an_answer_when_their_time_is_over) {
  http_front front{
    *sys,
    gate,
    {.head_timeout = 100ms, .read_timeout = 300ms, .idle_timeout = patient}};
  auto time_until_refused = [&](const std::string& request) {
    auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(status_in(talk(front.port(), request)), 408) << request;
    return std::chrono::steady_clock::now() - begin;
  };
  auto of_head = time_until_refused(head);
  EXPECT_GE(of_head, 100ms);
  EXPECT_LT(of_head, 300ms);
  EXPECT_GE(time_until_refused(body), 300ms);
}

// A byte now and then makes no difference.
TEST_F(slow_clients_test, gain_no_time_by_trickling) {
  http_front front{*sys, gate, {.head_timeout = 150ms}};
  auto begin = std::chrono::steady_clock::now();
  auto x = raw_socket::connected_to(front.port());
  x.write(head);
  while (!was_closed(x) && std::chrono::steady_clock::now() - begin < 5s) {
    x.write("a");
    std::this_thread::sleep_for(5ms);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 2s);
}

TEST_F(slow_clients_test, get_continue_before_a_body) {
  http_front front{*sys, gate};
  auto x = raw_socket::connected_to(front.port());
  x.write("POST /a HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n"
          "Connection: close\r\nContent-Length: 4\r\n\r\n");
  EXPECT_EQ(read_head(x), "HTTP/1.1 100 Continue\r\n\r\n");
  x.write("body");
  EXPECT_EQ(status_in(read_head(x)), 200);
  auto y = raw_socket::connected_to(front.port());
  y.write("POST /a HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n"
          "Content-Length: 9000000\r\n\r\n");
  EXPECT_EQ(status_in(read_head(y)), 413);
}

// Who does not read the response takes no thread either.
TEST_F(slow_clients_test, may_leave_a_response_unread) {
  http_router routes = [&](const http_request&) {
    http_route r{gate};
    r.to_response = [](const caf::message&) {
      return http_response{.body = std::string(16 << 20, 'x')};
    };
    return std::optional{r};
  };
  http_front front{*sys, routes, {.threads = 1, .read_timeout = patient}};
  auto slow = clients(front, 4, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  auto begin = std::chrono::steady_clock::now();
  EXPECT_GT(get(front.port(), "/").size(), std::size_t{16 << 20});
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s);
}

// Also not more memory than is allowed.
TEST_F(slow_clients_test, that_leave_most_unread_give_way) {
  constexpr std::size_t size = 16 << 20;
  http_router routes = [&](const http_request&) {
    http_route r{gate};
    r.to_response = [](const caf::message&) {
      return http_response{.body = std::string(size, 'x')};
    };
    return std::optional{r};
  };
  http_front front{
    *sys, routes, {.read_timeout = patient, .max_unread = 40 << 20}};
  std::vector<raw_socket> slow;
  auto ask_and_read_nothing = [&] {
    slow.push_back(raw_socket::connected_to(front.port()));
    slow.back().write("GET / HTTP/1.1\r\nHost: a\r\n"
                      "Connection: close\r\n\r\n");
    pollfd p{slow.back().fd(), POLLIN, 0};
    EXPECT_EQ(::poll(&p, 1, 5'000), 1);
  };
  for (int i = 0; i < 4; ++i)
    ask_and_read_nothing();
  // Whether this one needs their room depends on how fast it reads.
  EXPECT_GT(get(front.port(), "/").size(), size);
  ask_and_read_nothing();
  for (std::size_t i = 0; i < slow.size(); ++i) {
    std::size_t got = 0;
    for (auto part = slow[i].read(); !part.empty(); part = slow[i].read())
      got += part.size();
    EXPECT_EQ(got > size, i >= 3) << i;
  }
}

TEST_F(slow_clients_test, read_why_they_are_refused) {
  http_front front{*sys, gate, {.max_body = 1'000}};
  auto x = raw_socket::connected_to(front.port());
  x.write("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n");
  for (int i = 0; i < 10; ++i) {
    std::this_thread::sleep_for(50ms);
    x.write(std::string(10'000, 'x'));
  }
  EXPECT_EQ(status_in(read_head(x)), 413);
}

} // namespace
} // namespace caisson::test
