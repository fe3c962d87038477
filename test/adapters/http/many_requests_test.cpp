// Many requests at once on one thread, and what becomes of their connections.
#include <adapters/http/servers.hpp>

#include <sys/resource.h>

#include <random>
#include <vector>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

// Takes all connections, reads one request from each, and answers those that it
// has got when it is asked to.
class patient_server {
public:
  patient_server() : entrance_(raw_socket::listening()) {
    ::listen(entrance_.fd(), 2'000);
    thread_ = std::thread{[this] { run(); }};
  }

  ~patient_server() {
    ended = true;
    thread_.join();
  }

  patient_server(const patient_server&) = delete;
  patient_server& operator=(const patient_server&) = delete;

  [[nodiscard]] std::uint16_t port() const { return entrance_.port(); }

  /// Requests that were not answered yet.
  std::atomic<int> held{0};
  std::atomic<int> connections{0};
  /// Open ones.
  std::atomic<int> open{0};
  std::atomic<bool> answers{false};
  std::atomic<bool> ended{false};

private:
  struct client {
    raw_socket socket;
    int requests = 0;
  };

  void run() {
    while (!ended) {
      std::vector<pollfd> fds{{entrance_.fd(), POLLIN, 0}};
      for (const auto& x : clients_)
        fds.push_back({x.socket.fd(), POLLIN, 0});
      if (::poll(fds.data(), fds.size(), 5) < 0)
        return;
      for (std::size_t i = clients_.size(); i-- > 0;)
        if (fds[i + 1].revents != 0)
          read_from(i);
      if (fds[0].revents != 0) {
        clients_.push_back({entrance_.accept()});
        ++connections;
      }
      if (answers)
        for (auto& x : clients_)
          answer(x);
      open = static_cast<int>(clients_.size());
    }
  }

  void read_from(std::size_t i) {
    auto text = clients_[i].socket.read();
    if (text.empty()) {
      held -= clients_[i].requests;
      clients_.erase(clients_.begin() + static_cast<std::ptrdiff_t>(i));
      return;
    }
    // Heads are short and come in one piece.
    clients_[i].requests += text.ends_with("\r\n\r\n");
    held += text.ends_with("\r\n\r\n");
  }

  void answer(client& x) {
    held -= x.requests;
    for (; x.requests > 0; --x.requests)
      x.socket.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
  }

  raw_socket entrance_;
  std::vector<client> clients_;
  std::thread thread_;
};

class many_requests_test : public http_test {
protected:
  using pending = decltype(portable::ask_blocking(
    std::declval<caf::scoped_actor&>(), caf::actor{}, 60s, http_request{}));

  http_client_config many(std::uint32_t n) {
    auto c = at_port(server.port());
    c.max_in_progress = n;
    c.max_connections = n;
    c.max_waiting = 0;
    c.connect_timeout = 20s;
    return c;
  }

  void send(const caf::actor& w, int n) {
    for (int i = 0; i < n; ++i)
      all.push_back(portable::ask_blocking(*self, w, 60s, http_request{}));
  }

  // How many were answered with 200.
  int receive() {
    int good = 0;
    for (auto& x : all)
      std::move(x).receive(
        [&](const http_response& r) { good += r.status == 200; },
        [&](const caf::error& e) {
          if (auto code = transport_errc_of(e))
            ++failures[std::string{name_of(*code)}];
        });
    all.clear();
    return good;
  }

  patient_server server;
  std::vector<pending> all;
  std::map<std::string, int> failures;
};

TEST_F(many_requests_test, a_thousand_are_in_progress_at_once) {
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
  if (files.rlim_cur < 2'200)
    GTEST_SKIP() << "a process may have too few files here";
  auto w = spawn_http_worker(*sys, many(1'000));
  send(w, 1'000);
  ASSERT_TRUE(eventually([&] { return server.held == 1'000; })) << server.held;
  // One more has neither a place nor room to wait.
  EXPECT_EQ(ask(w, http_request{}).failure(), "busy");
  server.answers = true;
  EXPECT_EQ(receive(), 1'000);
  // They are used again.
  send(w, 1'000);
  EXPECT_EQ(receive(), 1'000);
  EXPECT_EQ(server.connections, 1'000);
}

TEST_F(many_requests_test, there_are_no_more_connections_than_allowed) {
  auto c = many(100);
  c.max_connections = 7;
  c.max_waiting = 1'000;
  auto w = spawn_http_worker(*sys, c);
  send(w, 200);
  ASSERT_TRUE(eventually([&] { return server.held == 7; }));
  server.answers = true;
  EXPECT_EQ(receive(), 200);
  EXPECT_EQ(server.connections, 7);
}

TEST_F(many_requests_test, a_cancelled_one_frees_its_connection_and_place) {
  auto gate = spawn_gate(*sys, http_worker(many(1)),
                         stack{"web"}.deadline({.timeout = 100ms}));
  for (int i = 1; i <= 3; ++i) {
    EXPECT_EQ(ask(gate, as_call({})).failure(), "deadline_exceeded");
    EXPECT_TRUE(eventually([&] { return server.open == 0; }));
  }
  EXPECT_EQ(server.connections, 3);
  server.answers = true;
  EXPECT_EQ(ask(gate, as_call({})).status(), 200);
  stop_gate(gate);
}

TEST_F(many_requests_test, idle_connections_are_closed) {
  auto c = many(10);
  c.idle_timeout = 50ms;
  auto w = spawn_http_worker(*sys, c);
  server.answers = true;
  for (int i = 1; i <= 3; ++i) {
    send(w, 10);
    EXPECT_EQ(receive(), 10);
    EXPECT_TRUE(eventually([&] { return server.open == 0; }));
  }
}

TEST_F(many_requests_test, a_worker_that_ends_closes_all) {
  auto w = spawn_http_worker(*sys, many(50));
  send(w, 50);
  ASSERT_TRUE(eventually([&] { return server.held == 50; }));
  caf::anon_send_exit(w, caf::exit_reason::user_shutdown);
  EXPECT_EQ(receive(), 0);
  EXPECT_EQ(failures["lost"], 50);
  EXPECT_TRUE(eventually([&] { return server.open == 0; }));
}

TEST_F(many_requests_test, a_gate_makes_another_worker) {
  caf::actor last;
  auto kill = [&] { caf::anon_send_exit(last, caf::exit_reason::kill); };
  auto c = many(10);
  auto s = patient_supervision();
  s.restart = schedule::constant(1ms);
  auto w = worker::supervised(
             [&](caf::actor_system& on) -> caf::expected<caf::actor> {
               return last = spawn_http_worker(on, c);
             },
             s)
             .takes_calls()
             .takes_cancelled();
  auto gate = spawn_gate(*sys, std::move(w), stack{"web"});
  for (int i = 0; i < 10; ++i) {
    server.answers = false;
    send(gate, 5);
    ASSERT_TRUE(eventually([&] { return server.held == 5; }));
    kill();
    EXPECT_EQ(receive(), 0);
    ASSERT_TRUE(eventually([&] { return server.open == 0; }));
    server.answers = true;
    ASSERT_TRUE(
      eventually([&] { return ask(gate, as_call({})).status() == 200; }));
  }
  stop_gate(gate);
  last = nullptr;
}

// At any moment, also while an answer is on its way.
TEST_F(many_requests_test, nobody_needs_to_keep_a_worker) {
  server.answers = true;
  for (int i = 0; i < 300; ++i) {
    auto w = spawn_http_worker(*sys, many(4));
    send(w, 4);
    if (i % 3 > 0)
      std::this_thread::sleep_for(std::chrono::microseconds(i * 20));
    w = nullptr;
    auto good = receive();
    EXPECT_EQ(good + failures["lost"] + failures["not_connected"], 4);
    failures.clear();
  }
}

// Cancelled and not, fast and slow, with and without a place: each is answered
// once, and no place is lost.
TEST_F(many_requests_test, places_are_given_back_whatever_happens) {
  auto c = many(5);
  c.max_waiting = 5;
  auto w = spawn_http_worker(*sys, c);
  std::mt19937 random{7};
  auto below = [&](unsigned n) { return random() % n; };
  for (int i = 0; i < 300; ++i) {
    server.answers = below(3) > 0;
    for (auto n = below(12); n-- > 0;)
      all.push_back(portable::ask_blocking(
        *self, w, 60s,
        wrap(http_request{}).within(std::chrono::milliseconds(1 + below(20)))));
    if (below(2) == 0)
      receive();
  }
  server.answers = true;
  receive();
  failures.clear();
  send(w, 10);
  EXPECT_EQ(receive(), 10) << failures.size();
}

TEST_F(many_requests_test, a_system_ends_with_requests_in_progress) {
  for (int i = 0; i < 3; ++i) {
    auto before = server.held.load();
    system_config other;
    register_http_types(other);
    caf::actor_system short_lived{other};
    auto w = spawn_http_worker(short_lived, many(20));
    for (int k = 0; k < 20; ++k)
      caf::anon_send(w, http_request{});
    ASSERT_TRUE(eventually([&] { return server.held == before + 20; }));
    caf::anon_send_exit(w, caf::exit_reason::user_shutdown);
    w = nullptr;
    EXPECT_TRUE(eventually([&] { return server.held == 0; }));
  }
}

} // namespace
} // namespace caisson::test
