// The worker for HTTP servers, with servers that answer, are slow, refuse, drop
// connections and send garbage.
#include <caisson/adapters/http/parser.hpp>

#include <adapters/http/servers.hpp>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

// What the server has seen of the last request.
struct seen {
  std::mutex mutex;
  std::string method, target, body;
  std::multimap<std::string, std::string> headers;

  void keep(const httplib::Request& x) {
    std::lock_guard guard{mutex};
    method = x.method;
    target = x.target;
    body = x.body;
    headers.clear();
    for (const auto& [name, value] : x.headers)
      headers.emplace(detail::in_lower_case(name), value);
  }

  std::string header(const std::string& name) {
    std::lock_guard guard{mutex};
    auto i = headers.find(name);
    return i == headers.end() ? "" : i->second;
  }
};

class http_client_test : public http_test {
protected:
  // Answers what the path says: a status, or so many milliseconds.
  void set_handlers(httplib::Server& s) {
    auto echo = [this](const httplib::Request& in, httplib::Response& out) {
      ++served;
      last.keep(in);
      out.set_header("X-Two", "a");
      out.headers.emplace("X-Two", "b");
      out.set_content("hello", "text/plain");
    };
    s.Get("/echo", echo);
    s.Post("/echo", echo);
    s.Get(R"(/status/(\d+))",
          [this](const httplib::Request& in, httplib::Response& out) {
            ++served;
            out.status = std::stoi(in.matches[1]);
            if (out.status != 503)
              return;
            out.set_header("Retry-After", "1");
            // It closes idle connections after a second, too.
            out.set_header("Connection", "close");
          });
    s.Get(R"(/slow/(\d+))",
          [this](const httplib::Request& in, httplib::Response& out) {
            ++served;
            std::this_thread::sleep_for(1ms * std::stoi(in.matches[1]));
            out.set_content("at last", "text/plain");
          });
    s.Get(R"(/bytes/(\d+))",
          [](const httplib::Request& in, httplib::Response& out) {
            out.set_content(std::string(std::stoul(in.matches[1]), 'x'),
                            "application/octet-stream");
          });
  }

  seen last;
  std::atomic<int> served{0};
  real_server server{[this](httplib::Server& s) { set_handlers(s); }};
};

TEST_F(http_client_test, sends_a_request_and_answers_with_the_response) {
  auto w = spawn_http_worker(*sys, at_port(server.port()));
  auto x = ask(w,
               http_request{"POST", "/echo?a=%20b", {{"X-Mine", "7"}}, "body"});
  ASSERT_EQ(x.status(), 200) << x.failure();
  EXPECT_EQ(x.response->body, "hello");
  EXPECT_EQ(header_of(x.response->headers, "content-type"), "text/plain");
  auto two = std::string{header_of(x.response->headers, "x-two")};
  EXPECT_TRUE(two == "a, b" || two == "b, a") << two;
  EXPECT_EQ(last.method, "POST");
  EXPECT_EQ(last.target, "/echo?a=%20b");
  EXPECT_EQ(last.body, "body");
  EXPECT_EQ(last.header("x-mine"), "7");
  EXPECT_EQ(last.header("accept-encoding"), "identity");
}

TEST_F(http_client_test, sends_the_time_left_to_the_server) {
  auto w = spawn_http_worker(*sys, at_port(server.port()));
  ASSERT_EQ(
    ask(w, wrap(http_request{"GET", "/echo", {}, {}}).within(2s)).status(),
    200);
  auto left = std::stoi(last.header(std::string{http_deadline_header}));
  EXPECT_GT(left, 1'000);
  EXPECT_LE(left, 2'000);
  auto silent = at_port(server.port());
  silent.deadline_header = "";
  ASSERT_EQ(
    ask(spawn_http_worker(*sys, silent), http_request{"GET", "/echo"}).status(),
    200);
  EXPECT_EQ(last.header(std::string{http_deadline_header}), "");
}

TEST_F(http_client_test, sends_the_trace_and_by_choice_priority_and_key) {
  std::string trace = "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01";
  // What stands in the request is the word of whoever has sent it.
  http_request x{
    "GET",
    "/echo",
    {{"X-Priority", "15"}, {"x-key", "boss"}, {"TraceParent", "x"}},
    {}};
  auto send = [&](const http_client_config& c, call&& what) {
    return ask(spawn_http_worker(*sys, c), std::move(what)).status();
  };
  auto c = at_port(server.port());
  ASSERT_EQ(
    send(c, wrap(x).priority(-3).key("ann").traceparent(std::string{trace})),
    200);
  EXPECT_EQ(last.header("traceparent"), trace);
  EXPECT_EQ(last.header("x-priority"), "15") << "it is a header as any other";
  EXPECT_EQ(last.header("x-key"), "boss");
  c.priority_header = "X-PRIORITY";
  c.key_header = "X-Key";
  ASSERT_EQ(send(c, wrap(x).priority(-3).key("ann")), 200);
  EXPECT_EQ(last.header("traceparent"), "x");
  EXPECT_EQ(last.header("x-priority"), "-3");
  EXPECT_EQ(last.header("x-key"), "ann");
  ASSERT_EQ(send(c, wrap(x).key("a\r\nX-Admin: 1")), 200);
  EXPECT_EQ(last.header("x-priority"), "");
  EXPECT_EQ(last.header("x-key"), "");
  EXPECT_EQ(last.header("x-admin"), "");
}

TEST_F(http_client_test, sends_the_state_of_the_trace_and_baggage) {
  std::string trace = "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01";
  auto w = spawn_http_worker(*sys, at_port(server.port()));
  auto send = [&](http_headers own, call_options options) {
    auto c = wrap(http_request{"GET", "/echo", std::move(own), {}});
    c.options = std::move(options);
    return ask(w, std::move(c)).status();
  };
  call_options o{.traceparent = trace};
  o.propagated.set_tracestate("rojo=1");
  o.propagated.set_baggage("user=7");
  http_headers of_request{{"TraceParent", trace},
                          {"TraceState", "congo=2"},
                          {"Baggage", "user=8, \"x\""}};
  ASSERT_EQ(send(of_request, o), 200);
  EXPECT_EQ(last.header("tracestate"), "rojo=1");
  EXPECT_EQ(last.header("baggage"), "user=7");
  ASSERT_EQ(send(of_request, {.traceparent = trace}), 200);
  EXPECT_EQ(last.header("tracestate"), "");
  EXPECT_EQ(last.header("baggage"), "user=8");
  ASSERT_EQ(send({{"tracestate", "Congo=2"}, {"baggage", "x"}}, {}), 200);
  EXPECT_EQ(last.header("tracestate"), "");
  EXPECT_EQ(last.header("baggage"), "");
}

TEST_F(http_client_test, sends_the_idempotency_key_of_a_call) {
  auto w = spawn_http_worker(*sys, at_port(server.port()));
  auto key = [&](std::string of_call, http_headers headers) {
    auto c = wrap(http_request{"POST", "/echo", std::move(headers), "x"})
               .idempotency_key(std::move(of_call));
    EXPECT_EQ(ask(w, c).status(), 200);
    return last.header("idempotency-key");
  };
  EXPECT_EQ(key("k7", {}), "k7");
  EXPECT_EQ(key("k7", {{"idempotency-key", "mine"}}), "mine");
  EXPECT_EQ(key("a\r\nx-injected: 1", {}), "");
  EXPECT_EQ(last.header("x-injected"), "");
}

TEST_F(http_client_test, keeps_the_connection) {
  scripted_server one{[](raw_socket& x, int) {
    while (!read_head(x).empty())
      x.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
  }};
  {
    auto w = spawn_http_worker(*sys, at_port(one.port()));
    for (int i = 0; i < 5; ++i)
      EXPECT_EQ(ask(w, http_request{}).status(), 200);
    EXPECT_EQ(one.connections(), 1);
  }
}

TEST_F(http_client_test, connects_anew_if_the_server_has_closed) {
  scripted_server hasty{[](raw_socket& x, int) {
    read_head(x);
    x.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
  }};
  auto w = spawn_http_worker(*sys, at_port(hasty.port()));
  for (int i = 1; i <= 3; ++i) {
    EXPECT_EQ(ask(w, http_request{}).status(), 200);
    EXPECT_TRUE(eventually([&] { return hasty.connections() == i; }));
    std::this_thread::sleep_for(20ms);
  }
}

// The library would send it again, and the server do it twice.
TEST_F(http_client_test, sends_a_request_once_if_a_kept_connection_breaks) {
  std::atomic<int> requests{0};
  scripted_server breaks{[&](raw_socket& x, int) {
    for (int i = 0; i < 2; ++i) {
      if (read_head(x).empty())
        return;
      if (requests++ % 2 == 0)
        x.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    }
  }};
  auto w = spawn_http_worker(*sys, at_port(breaks.port()));
  for (const auto* method : {"POST", "GET", "HEAD"}) {
    requests = 0;
    EXPECT_EQ(ask(w, http_request{"GET"}).status(), 200);
    EXPECT_EQ(ask(w, http_request{method}).failure(), "lost") << method;
    EXPECT_EQ(requests, 2) << method;
  }
}

TEST_F(http_client_test, sends_the_headers_that_it_is_given) {
  std::string head;
  scripted_server keeps{[&](raw_socket& x, int) {
    head = detail::in_lower_case(read_head(x));
    x.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    while (!x.read().empty())
      ;
  }};
  auto head_of = [&](http_headers headers) {
    auto w = spawn_http_worker(*sys, at_port(keeps.port()));
    auto x = ask(w, http_request{"POST", "/", std::move(headers), "body"});
    EXPECT_EQ(x.status(), 200) << x.failure();
    return head;
  };
  auto request_head = head_of({{"X-Empty", ""},
                               {"X-Blank", " "},
                               {"X-Odd", "a;b: c"},
                               {"Content-Type", "a/b"}});
  for (const auto* line :
       {"x-empty:", "x-blank:", "x-odd: a;b: c", "content-type: a/b"})
    EXPECT_NE(request_head.find(std::string{"\r\n"} + line + "\r\n"),
              std::string::npos)
      << line << " in " << request_head;
  // What the library would add.
  auto bare = head_of({});
  for (const auto* name : {"\ncontent-type", "\nexpect", "\nuser-agent"})
    EXPECT_EQ(bare.find(name), std::string::npos) << bare;
}

TEST_F(http_client_test, refuses_requests_that_would_add_lines) {
  auto w = spawn_http_worker(*sys, at_port(server.port()));
  EXPECT_EQ(
    ask(w, http_request{"GET", "/echo", {{"a", "b\r\nc: d"}}}).failure(),
    "bad_request");
  EXPECT_EQ(ask(w, http_request{"GET", "/echo HTTP/1.1\r\nx: y", {}}).failure(),
            "bad_request");
  EXPECT_EQ(served, 0);
}

TEST_F(http_client_test, sends_no_header_of_the_connection) {
  auto w = spawn_http_worker(*sys, at_port(server.port()));
  auto x = ask(w, http_request{"POST",
                               "/echo",
                               {{"Content-Length", "1"},
                                {"Transfer-Encoding", "chunked"},
                                {"Connection", "close"}},
                               "body"});
  EXPECT_EQ(x.status(), 200);
  EXPECT_EQ(last.body, "body");
  EXPECT_EQ(last.header("transfer-encoding"), "");
}

TEST_F(http_client_test, answers_what_is_no_request) {
  auto w = spawn_http_worker(*sys, at_port(server.port()));
  EXPECT_EQ(ask(w, std::string{"GET /"}).failure(), "another error");
}

// -- when it goes wrong -------------------------------------------------------

TEST_F(http_client_test, says_that_nothing_was_sent_if_nobody_listens) {
  auto w = spawn_http_worker(*sys, at_port(dead_port()));
  auto x = ask(w, http_request{});
  EXPECT_EQ(x.failure(), "not_connected");
  EXPECT_LT(x.took, 2s);
}

TEST_F(http_client_test, ends_by_the_deadline_when_the_server_is_slow) {
  auto w = spawn_http_worker(*sys, at_port(server.port()));
  auto x = ask(w, wrap(http_request{"GET", "/slow/1500"}).within(100ms));
  EXPECT_EQ(x.failure(), "timed_out");
  EXPECT_GE(x.took, 100ms);
  EXPECT_LT(x.took, 600ms);
  // With a connection of its own: the late answer is for nobody.
  EXPECT_EQ(ask(w, http_request{"GET", "/echo"}).response->body, "hello");
}

TEST_F(http_client_test, ends_by_the_deadline_however_slowly_bytes_come) {
  std::atomic<bool> server_ended{false};
  scripted_server drips{[&](raw_socket& x, int) {
    read_head(x);
    x.write("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n");
    for (int i = 0; i < 1'000 && !server_ended; ++i) {
      x.write("x");
      std::this_thread::sleep_for(10ms);
    }
  }};
  auto w = spawn_http_worker(*sys, at_port(drips.port()));
  auto x = ask(w, wrap(http_request{}).within(150ms));
  server_ended = true;
  EXPECT_EQ(x.failure(), "timed_out");
  EXPECT_LT(x.took, 700ms);
}

TEST_F(http_client_test, does_not_know_what_became_of_a_dropped_connection) {
  scripted_server drops{[](raw_socket& x, int) { read_head(x); }};
  auto w = spawn_http_worker(*sys, at_port(drops.port()));
  EXPECT_EQ(ask(w, http_request{}).failure(), "lost");
  scripted_server half{[](raw_socket& x, int) {
    read_head(x);
    x.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf");
  }};
  auto v = spawn_http_worker(*sys, at_port(half.port()));
  EXPECT_EQ(ask(v, http_request{}).failure(), "lost");
}

// What is no HTTP, or would grow or recurse without end in the library.
TEST_F(http_client_test, gives_up_on_garbage) {
  std::string answers[] = {
    "SSH-2.0-OpenSSH_9.2p1\r\n",
    std::string(100, '\xff') + "\r\n\r\n",
    "HTTP/1.1 200 " + std::string(1'000'000, 'a') + "\r\n\r\n",
    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 " + std::string(1'000'000, 'a')
      + "\r\n\r\n",
    "HTTP/1.1 200 OK\r\nX: " + std::string(1'000'000, 'a') + "\r\n\r\n",
    std::string(1'000'000, 'a'),
  };
  for (auto& text : answers) {
    scripted_server garbage{[&](raw_socket& x, int) {
      read_head(x);
      x.write(text);
      x.end_writing();
      while (!x.read().empty())
        ;
    }};
    auto w = spawn_http_worker(*sys, at_port(garbage.port()));
    EXPECT_EQ(ask(w, wrap(http_request{}).within(5s)).failure(), "garbled")
      << text.substr(0, 40);
  }
}

TEST_F(http_client_test, takes_no_more_than_configured) {
  auto c = at_port(server.port());
  c.max_body = 1'000;
  auto w = spawn_http_worker(*sys, c);
  EXPECT_EQ(ask(w, http_request{"GET", "/bytes/1000"}).response->body.size(),
            1'000u);
  EXPECT_EQ(ask(w, http_request{"GET", "/bytes/1001"}).failure(), "too_large");
  scripted_server endless{[](raw_socket& x, int) {
    read_head(x);
    x.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i < 10'000; ++i)
      x.write("1\r\nx\r\n");
  }};
  c.url = at_port(endless.port()).url;
  EXPECT_EQ(ask(spawn_http_worker(*sys, c), http_request{}).failure(),
            "too_large");
}

TEST_F(http_client_test, takes_no_answer_that_came_before_the_request) {
  scripted_server eager{[](raw_socket& x, int n) {
    read_head(x);
    std::string one = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n";
    x.write(n == 0 ? one + "a" + one + "b" : one + "c");
    read_head(x);
  }};
  auto w = spawn_http_worker(*sys, at_port(eager.port()));
  EXPECT_EQ(ask(w, http_request{}).response->body, "a");
  EXPECT_EQ(ask(w, http_request{}).response->body, "c");
}

// Such as a server that says why it closes an idle connection.
TEST_F(http_client_test, takes_no_answer_that_came_while_it_was_idle) {
  std::atomic<bool> came{false};
  scripted_server eager{[&](raw_socket& x, int n) {
    read_head(x);
    std::string one = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n";
    x.write(one + (n == 0 ? "a" : "c"));
    if (n == 0) {
      std::this_thread::sleep_for(100ms);
      x.write("HTTP/1.1 408 Request Timeout\r\nContent-Length: 1\r\n\r\nb");
      came = true;
    }
    read_head(x);
  }};
  auto w = spawn_http_worker(*sys, at_port(eager.port()));
  EXPECT_EQ(ask(w, http_request{}).response->body, "a");
  EXPECT_TRUE(eventually([&] { return came.load(); }));
  auto x = ask(w, http_request{});
  EXPECT_EQ(x.status(), 200);
  EXPECT_EQ(x.response->body, "c");
}

// -- behind a gate ------------------------------------------------------------

TEST_F(http_client_test, is_repeated_by_a_gate_as_its_status_says) {
  auto gate = spawn_gate(
    *sys, http_worker(at_port(server.port())),
    stack{"web"}.retrier(
      {.max_attempts = 3, .backoff = schedule::constant(1ms)}));
  auto attempts = [&](const std::string& path, bool idempotent = true) {
    served = 0;
    (void)ask(gate, wrap(http_request{"GET", path}).idempotent(idempotent));
    return served.load();
  };
  EXPECT_EQ(attempts("/status/502"), 3);
  EXPECT_EQ(attempts("/status/500"), 2);
  EXPECT_EQ(attempts("/status/404"), 1);
  EXPECT_EQ(attempts("/status/409"), 1);
  EXPECT_EQ(attempts("/status/502", false), 1);
  auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(attempts("/status/503"), 3);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 2s);
  stop_gate(gate);
}

// Nothing was sent, so that this is safe.
TEST_F(http_client_test, is_repeated_if_nobody_listens_even_if_not_idempotent) {
  auto gate = spawn_gate(
    *sys, http_worker(at_port(dead_port())),
    stack{"web"}.retrier(
      {.max_attempts = 3, .backoff = schedule::constant(1ms)}));
  EXPECT_EQ(ask(gate, as_call({.method = "POST"})).failure(), "not_connected");
  status s;
  portable::ask_blocking(*self, gate, 20s, get_status{})
    .receive([&](const status& x) { s = x; }, [](const caf::error&) {});
  EXPECT_EQ(s.metric("attempts"), 3);
  EXPECT_EQ(s.metric("answers_retry"), 3);
  EXPECT_EQ(s.metric("worker_restarts"), 0);
  stop_gate(gate);
}

TEST_F(http_client_test, holds_no_permit_when_all_is_over) {
  auto gate = spawn_gate(*sys, http_worker(at_port(server.port())),
                         stack{"web"}
                           .deadline({.timeout = 100ms})
                           .semaphore({.permits = 8, .max_waiters = 1'000}));
  std::vector<decltype(portable::ask_blocking(*self, caf::actor{gate}, 30s,
                                              http_request{}))>
    all;
  for (int i = 0; i < 200; ++i)
    all.push_back(portable::ask_blocking(
      *self, caf::actor{gate}, 30s,
      http_request{"GET", i % 10 == 0 ? "/slow/300" : "/echo"}));
  int values = 0;
  int errors = 0;
  for (auto& x : all)
    std::move(x).receive([&](const http_response&) { ++values; },
                         [&](const caf::error&) { ++errors; });
  EXPECT_EQ(values + errors, 200);
  EXPECT_GT(values, 0);
  EXPECT_GT(errors, 0);
  status s;
  portable::ask_blocking(*self, gate, 20s, get_status{})
    .receive([&](const status& x) { s = x; }, [](const caf::error&) {});
  EXPECT_EQ(s.metric("semaphore", "in_use"), 0);
  EXPECT_EQ(s.metric("in_flight"), 0);
  stop_gate(gate);
}

TEST_F(http_client_test, refuses_settings_that_make_no_sense) {
  auto c = at_port(80);
  for (auto name :
       {"a b", "Content-Length", "host", "Idempotency-Key", "TRACEPARENT"})
    for (auto header : {&http_client_config::deadline_header,
                        &http_client_config::priority_header,
                        &http_client_config::key_header}) {
      auto bad = c;
      bad.*header = name;
      EXPECT_THROW((void)http_worker(bad), config_error) << name;
    }
  c.priority_header = "x-a";
  EXPECT_NO_THROW((void)http_worker(c));
  c.key_header = "X-A";
  EXPECT_THROW((void)http_worker(c), config_error);
}

} // namespace
} // namespace caisson::test
