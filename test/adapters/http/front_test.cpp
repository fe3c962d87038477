// Requests over HTTP that become calls.
#include <adapters/http/fronts.hpp>

#include <stdexcept>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

TEST_F(http_front_test, turns_a_request_into_a_call) {
  http_front front{*sys, gate};
  auto x = get(front.port(), "/echo?a=1", "X-Mine: 7\r\n");
  EXPECT_EQ(status_in(x), 200);
  EXPECT_NE(x.find("\r\n\r\nGET /echo?a=1 "), std::string::npos) << x;
  EXPECT_TRUE(has_line(x, "x-mine: 7")) << x;
  EXPECT_TRUE(has_line(x, "x-idempotent: yes"));
  // Its host and the one above.
  EXPECT_TRUE(has_line(x, "x-headers: 2"));
  EXPECT_EQ(front.answered(), 1u);
}

TEST_F(http_front_test, passes_bodies_and_idempotency_keys_on) {
  http_front front{*sys, gate};
  auto x = talk(front.port(), "POST /order HTTP/1.1\r\nHost: a\r\n"
                              "Connection: close\r\n"
                              "Idempotency-Key: k7\r\n"
                              "Content-Length: 4\r\n\r\nbody");
  EXPECT_NE(x.find("\r\n\r\nPOST /order body"), std::string::npos) << x;
  EXPECT_TRUE(has_line(x, "x-key: k7"));
  EXPECT_TRUE(has_line(x, "x-idempotent: no"));
}

TEST_F(http_front_test, gives_a_call_the_time_that_the_client_waits) {
  http_front front{*sys, gate, {.timeout = 5s}};
  auto left = [&](const std::string& header) {
    auto x = get(front.port(), "/echo", header);
    auto at = x.find("x-left: ");
    return at == std::string::npos ? -1 : std::atoi(x.c_str() + at + 8);
  };
  auto name = std::string{http_deadline_header} + ": ";
  auto in = [](int x, int lo, int hi) { return x > lo && x <= hi; };
  EXPECT_TRUE(in(left(""), 4'000, 5'000));
  EXPECT_TRUE(in(left(name + "900\r\n"), 100, 900));
  for (auto x :
       {"5000", "90000", "99999999999999999999", "0", "-5", "1.5", "x"})
    EXPECT_TRUE(in(left(name + x + "\r\n"), 4'000, 5'000)) << x;
}

TEST_F(http_front_test, believes_priorities_and_keys_only_by_choice) {
  std::string header = "Priority-Of-Mine: -7\r\nWhose: ann\r\n";
  {
    http_front front{*sys, gate};
    auto x = get(front.port(), "/echo", header);
    EXPECT_TRUE(has_line(x, "x-priority: 0")) << x;
    EXPECT_TRUE(has_line(x, "x-whose: ")) << x;
  }
  http_front_config c{.priority_header = "priority-of-mine",
                      .key_header = "WHOSE"};
  {
    http_front front{*sys, gate, c};
    auto x = get(front.port(), "/echo", header);
    EXPECT_TRUE(has_line(x, "x-priority: -7")) << x;
    EXPECT_TRUE(has_line(x, "x-whose: ann")) << x;
    for (auto odd : {"1.5", "x", "", "99999999999", "1, 2"})
      EXPECT_TRUE(
        has_line(get(front.port(), "/echo",
                     std::string{"Priority-Of-Mine: "} + odd + "\r\n"),
                 "x-priority: 0"))
        << odd;
    auto longest = std::string(max_key_length, 'k');
    EXPECT_TRUE(
      has_line(get(front.port(), "/echo", "Whose: " + longest + "\r\n"),
               "x-whose: " + longest));
    EXPECT_TRUE(has_line(
      get(front.port(), "/echo", "Whose: " + longest + "k\r\n"), "x-whose: "));
  }
  // What the route says goes first.
  http_front front{*sys,
                   [this](const http_request&) {
                     return std::optional{
                       http_route{.to = caf::actor_cast<caf::actor>(gate),
                                  .to_call = [](const http_request& x) {
                                    return as_call(x).priority(3).key("route");
                                  }}};
                   },
                   c};
  auto x = get(front.port(), "/echo", header);
  EXPECT_TRUE(has_line(x, "x-priority: 3")) << x;
  EXPECT_TRUE(has_line(x, "x-whose: route")) << x;
}

TEST_F(http_front_test, hands_on_the_trace_of_a_request) {
  http_front front{*sys, gate};
  std::string id = "0123456789abcdef0123456789abcdef";
  auto x = get(front.port(), "/echo",
               "traceparent: 00-" + id
                 + "-0123456789abcdef-01\r\n"
                   "tracestate: rojo=1\r\ntracestate: congo=2\r\n"
                   "baggage: user=7\r\nbaggage: x\r\n");
  EXPECT_NE(x.find("x-trace: 00-" + id + "-"), std::string::npos) << x;
  EXPECT_TRUE(has_line(x, "x-state: rojo=1,congo=2")) << x;
  EXPECT_TRUE(has_line(x, "x-baggage: user=7")) << x;
}

TEST_F(http_front_test, answers_by_the_deadline) {
  http_front front{*sys, gate, {.timeout = 100ms}};
  auto begin = std::chrono::steady_clock::now();
  auto x = get(front.port(), "/silence");
  auto took = std::chrono::steady_clock::now() - begin;
  EXPECT_EQ(status_in(x), 504);
  EXPECT_NE(x.find("deadline_exceeded\n"), std::string::npos);
  EXPECT_GE(took, 100ms);
  EXPECT_LT(took, 600ms);
}

TEST_F(http_front_test, answers_for_an_actor_that_does_not) {
  http_front front{*sys, worker_, {.timeout = 100ms}};
  EXPECT_EQ(status_in(get(front.port(), "/silence")), 504);
}

TEST_F(http_front_test, reports_errors_by_status_and_retry_after) {
  auto broken = spawn_gate(
    *sys, worker{worker_}.takes_calls().classified_by(transport_answer),
    stack{"shop"}.breaker({.threshold = 1, .open = schedule::constant(30s)}));
  http_front front{*sys, broken};
  EXPECT_EQ(status_in(get(front.port(), "/lost")), 502);
  auto x = get(front.port(), "/echo");
  EXPECT_EQ(status_in(x), 503);
  EXPECT_TRUE(has_line(x, "retry-after: 30")) << x;
  EXPECT_NE(x.find("\r\n\r\nbreaker_open\n"), std::string::npos);
  auto limited = spawn_gate(
    *sys, worker{worker_}.takes_calls(),
    stack{}.limiter({.rate = 1, .per = 10s, .burst = 1}));
  http_front second{*sys, limited};
  EXPECT_EQ(status_in(get(second.port(), "/echo")), 200);
  auto y = get(second.port(), "/echo");
  EXPECT_EQ(status_in(y), 429);
  EXPECT_TRUE(has_line(y, "retry-after: 10")) << y;
  stop_gate(limited);
  stop_gate(broken);
}

TEST_F(http_front_test, answers_when_the_gate_has_ended) {
  http_front front{*sys, gate};
  auto slow = std::thread{
    [&] { EXPECT_EQ(status_in(get(front.port(), "/silence")), 503); }};
  EXPECT_TRUE(eventually([&] { return served == 1; }));
  stop_gate(gate);
  slow.join();
  EXPECT_EQ(status_in(get(front.port(), "/echo")), 503);
}

TEST_F(http_front_test, rejects_non_http_answers) {
  http_front front{*sys, gate};
  EXPECT_EQ(status_in(get(front.port(), "/bad-status")), 502);
  auto x = get(front.port(), "/split");
  EXPECT_EQ(status_in(x), 200);
  EXPECT_EQ(x.find("x-injected"), std::string::npos) << x;
}

TEST_F(http_front_test, makes_calls_and_responses_of_any_kind) {
  auto doubler = sys->spawn(
    []() -> caf::behavior { return {[](std::int32_t x) { return 2 * x; }}; });
  auto numbers = spawn_gate(*sys, worker{doubler}, stack{"numbers"});
  // [routes]
  http_router routes = [=](const http_request& x) -> std::optional<http_route> {
    if (x.method != "POST" || x.target != "/double")
      return std::nullopt; // 404
    return http_route{
      .to = numbers,
      .to_call =
        [](const http_request& in) {
          return wrap(static_cast<std::int32_t>(std::stoi(in.body)));
        },
      .to_response =
        [](const caf::message& content) {
          auto* n = portable::get_if<std::int32_t>(content);
          return http_response{.body = n ? std::to_string(*n) : "?"};
        },
    };
  };
  http_front front{*sys, routes};
  // [/routes]
  auto post = [&](const std::string& body) {
    return talk(front.port(),
                "POST /double HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"
                "Content-Length: "
                  + std::to_string(body.size()) + "\r\n\r\n" + body);
  };
  EXPECT_NE(post("21").find("\r\n\r\n42"), std::string::npos);
  EXPECT_EQ(status_in(post("x")), 500);
  EXPECT_EQ(status_in(get(front.port(), "/double")), 404);
  stop_gate(numbers);
  caf::anon_send_exit(doubler, caf::exit_reason::user_shutdown);
}

TEST_F(http_front_test, routes_by_what_a_function_says) {
  http_router routes =
    [this](const http_request& x) -> std::optional<http_route> {
    if (x.target == "/none")
      return std::nullopt;
    if (x.target == "/null")
      return http_route{};
    if (x.target == "/throw")
      throw std::runtime_error{"secret"};
    http_route r{gate};
    if (x.target == "/call")
      r.to_call = [](const http_request&) -> call {
        throw std::runtime_error{"secret"};
      };
    if (x.target == "/response")
      r.to_response = [](const caf::message&) {
        return http_response{201, {}, "made"};
      };
    return r;
  };
  http_front front{*sys, routes};
  EXPECT_EQ(status_in(get(front.port(), "/none")), 404);
  EXPECT_EQ(status_in(get(front.port(), "/null")), 404);
  EXPECT_EQ(status_in(get(front.port(), "/response")), 201);
  for (auto path : {"/throw", "/call"}) {
    auto x = get(front.port(), path);
    EXPECT_EQ(status_in(x), 500);
    EXPECT_EQ(x.find("secret"), std::string::npos);
  }
}

TEST_F(http_front_test, serves_many_requests_on_a_connection) {
  http_front front{*sys, gate};
  auto x = raw_socket::connected_to(front.port());
  std::string one = "GET /a HTTP/1.1\r\nHost: a\r\n\r\n";
  x.write(one + one + one);
  std::string all;
  while (count(all, "GET /a") < 3) {
    auto part = x.read();
    ASSERT_FALSE(part.empty()) << all;
    all += part;
  }
  EXPECT_EQ(count(all, "HTTP/1.1 200"), 3u);
}

TEST_F(http_front_test, hides_no_encoding_from_the_worker) {
  http_front front{*sys, gate};
  auto x = get(front.port(), "/echo", "Accept-Encoding: gzip\r\n");
  EXPECT_TRUE(has_line(x, "x-accept: gzip")) << x;
  EXPECT_EQ(x.find("Content-Encoding"), std::string::npos) << x;
  EXPECT_EQ(status_in(get(front.port(), "/echo", "Range: bytes=0-1\r\n")), 200);
}

TEST_F(http_front_test, says_why_it_cannot_listen) {
  http_front first{*sys, gate};
  EXPECT_THROW((http_front{*sys, gate, {.port = first.port()}}),
               std::runtime_error);
  EXPECT_THROW((http_front{*sys, gate, {.threads = 0}}), config_error);
  EXPECT_THROW((http_front{*sys, gate, {.deadline_header = "a b"}}),
               config_error);
  EXPECT_THROW((http_front{*sys, gate, {.key_header = "a b"}}), config_error);
  EXPECT_THROW((http_front{*sys, gate, {.priority_header = "host"}}),
               config_error);
}

// A front, a gate, a worker, and a server behind.
TEST_F(http_front_test, passes_through_to_a_server_and_back) {
  real_server server{[](httplib::Server& s) {
    s.Get("/a", [](const httplib::Request& in, httplib::Response& out) {
      out.set_header("X-Saw",
                     in.get_header_value(std::string{http_deadline_header}));
      out.set_content("from behind", "text/plain");
    });
  }};
  auto through = spawn_gate(*sys, http_worker(at_port(server.port())),
                            stack{"through"});
  http_front front{*sys, through, {.timeout = 3s}};
  auto x = get(front.port(), "/a");
  EXPECT_EQ(status_in(x), 200);
  EXPECT_NE(x.find("\r\n\r\nfrom behind"), std::string::npos) << x;
  EXPECT_NE(x.find("x-saw: 29"), std::string::npos) << x;
  EXPECT_EQ(status_in(get(front.port(), "/nothing")), 404);
  stop_gate(through);
}

// The length that the server says, its own name, and nothing to wait for.
TEST_F(http_front_test, translates_between_server_and_client) {
  std::string asked;
  scripted_server server{[&](raw_socket& x, int) {
    for (asked = read_head(x); !asked.empty(); asked = read_head(x)) {
      auto is_head = asked.starts_with("HEAD");
      x.write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n");
      if (!is_head)
        x.write("hello");
      if (is_head)
        return;
    }
  }};
  auto through = spawn_gate(*sys, http_worker(at_port(server.port())),
                            stack{"through"});
  http_front front{*sys, through, {.timeout = 3s}};
  auto x = talk(front.port(), "HEAD /a HTTP/1.1\r\nHost: shop.example\r\n"
                              "Connection: close\r\n"
                              "Expect: 100-continue\r\n\r\n");
  EXPECT_EQ(status_in(x), 200);
  EXPECT_TRUE(has_line(x, "content-length: 5")) << x;
  EXPECT_TRUE(
    has_line(asked, "Host: 127.0.0.1:" + std::to_string(server.port())))
    << asked;
  EXPECT_TRUE(has_line(asked, "x-forwarded-host: shop.example")) << asked;
  EXPECT_EQ(asked.find("\r\nexpect:"), std::string::npos) << asked;
  stop_gate(through);
}

TEST_F(http_front_test, claims_no_length_for_head_that_it_does_not_know) {
  http_front front{*sys, [&](const http_request&) {
                     http_route r{gate};
                     r.to_response = [](const caf::message&) {
                       return http_response{};
                     };
                     return std::optional{r};
                   }};
  auto of = [&](const std::string& method) {
    return talk(front.port(), method
                                + " /a HTTP/1.1\r\nHost: a\r\n"
                                  "Connection: close\r\n\r\n");
  };
  EXPECT_EQ(of("HEAD").find("content-length"), std::string::npos);
  EXPECT_TRUE(has_line(of("GET"), "content-length: 0"));
}

} // namespace
} // namespace caisson::test
