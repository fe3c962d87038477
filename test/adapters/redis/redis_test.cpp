// The worker for Redis with a real server, which is killed, made busy and
// turned into a replica. test/servers/run starts this.
#include "server.hpp"

#include <support/scripted_server.hpp>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

TEST_F(redis_test, understands_all_replies) {
  start();
  auto g = patient_gate();
  EXPECT_EQ(ask(g, {"SET", "a", "1"}), "OK");
  EXPECT_EQ(ask(g, {"GET", "a"}), "1");
  EXPECT_EQ(ask(g, {"GET", "b"}), "nil");
  EXPECT_EQ(ask(g, {"INCR", "a"}), "2");
  std::string binary{"\0\r\n$-1 \xff", 8};
  EXPECT_EQ(ask(g, {"SET", binary, binary}), "OK");
  EXPECT_EQ(ask(g, {"GET", binary}), binary);
  EXPECT_EQ(ask(g, {"EVAL", "return {1, {'x', false}, {}}", "0"}),
            "[1 [x nil ] [] ]");
  EXPECT_EQ(ask(g, {"LPUSH", "a", "1"}).substr(0, 10), "-WRONGTYPE");
  EXPECT_EQ(ask(g, {"NONSENSE"}).substr(0, 4), "-ERR");
}

TEST_F(redis_test, takes_no_command_that_concerns_the_connection) {
  start();
  auto g = patient_gate();
  EXPECT_EQ(ask(g, {"PING"}), "PONG");
  for (auto x : {"MULTI", "SUBSCRIBE", "select", "CLIENT", "QUIT"})
    EXPECT_EQ(ask(g, {x, "1"}), "!bad_request") << x;
  EXPECT_EQ(ask(g, {}), "!bad_request");
  EXPECT_EQ(look(g).metric("answers_retry"), 0);
}

TEST_F(redis_test, asks_who_it_is_and_for_its_database) {
  start({"--requirepass", "secret"});
  auto right = config();
  right.password = "secret";
  right.database = 3;
  auto g = gate_for(right);
  ASSERT_TRUE(eventually([&] { return ask(g, {"PING"}, 100ms) == "PONG"; }));
  EXPECT_EQ(ask(g, {"SET", "a", "1"}), "OK");
  right.database = 0;
  EXPECT_EQ(ask(gate_for(right), {"GET", "a"}), "nil");
  auto wrong = config();
  wrong.password = "guess";
  auto closed = gate_for(wrong);
  // There is no worker without a connection.
  EXPECT_EQ(ask(closed, {"GET", "a"}, 300ms), "!deadline_exceeded");
  EXPECT_GE(look(closed).metric("worker_restarts"), 2);
}

TEST_F(redis_test, ends_by_the_deadline) {
  start();
  auto c = config();
  c.threads = 1;
  auto g = gate_for(c);
  ASSERT_TRUE(eventually([&] { return ask(g, {"PING"}, 100ms) == "PONG"; }));
  auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(ask(g, {"BLPOP", "nothing", "10"}, 100ms), "!deadline_exceeded");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 1s);
  // The thread is free, and the late reply is for nobody.
  EXPECT_EQ(ask(g, {"PING"}), "PONG");
  EXPECT_EQ(look(g).metric("worker_losses"), 0);
}

TEST_F(redis_test, is_not_deceived_by_a_server_that_stands_still) {
  start();
  auto g = patient_gate();
  EXPECT_EQ(ask(g, {"SET", "a", "1"}), "OK");
  server->signal(SIGSTOP);
  auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(ask(g, {"GET", "a"}, 200ms), "!deadline_exceeded");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 1s);
  server->signal(SIGCONT);
  EXPECT_EQ(ask(g, {"GET", "a"}), "1");
}

// -- errors of the server -----------------------------------------------------

TEST_F(redis_test, repeats_what_a_busy_server_turned_down) {
  start();
  auto c = config();
  c.threads = 4;
  auto once = gate_for(c);
  ASSERT_TRUE(eventually([&] { return ask(once, {"PING"}, 100ms) == "PONG"; }));
  auto script = send(once, {"EVAL", "while true do end", "0"});
  EXPECT_TRUE(eventually([&] {
    return ask(once, {"INCR", "n"}, 1s).substr(0, 5) == "-BUSY";
  }));
  // Nothing was done, so that a call that is not idempotent is repeated, too.
  auto g = patient_gate();
  auto repeated = send(g, {"INCR", "n"});
  std::this_thread::sleep_for(100ms);
  EXPECT_EQ(ask(once, {"SCRIPT", "KILL"}), "OK");
  EXPECT_EQ(receive(script).substr(0, 4), "-ERR");
  auto value = receive(repeated);
  EXPECT_EQ(value, ask(once, {"GET", "n"}));
}

TEST_F(redis_test, repeats_what_a_loading_server_turned_down) {
  start();
  auto g = patient_gate();
  ASSERT_EQ(ask(g, {"EVAL",
                    "for i = 1, 3000 do redis.call('set', 'k' .. i, i) end "
                    "return redis.status_reply('OK')",
                    "0"}),
            "OK");
  ASSERT_EQ(ask(g, {"SAVE"}), "OK");
  server->end(SIGKILL);
  start({"--key-load-delay", "300", "--loading-process-events-interval-bytes",
         "1024"});
  auto once = gate_for(config());
  std::string seen;
  EXPECT_TRUE(eventually([&] {
    seen = ask(once, {"GET", "k7"}, 1s);
    return seen.substr(0, 8) == "-LOADING" || seen == "7";
  }));
  EXPECT_EQ(seen.substr(0, 8), "-LOADING");
  EXPECT_EQ(ask(g, {"INCR", "k7"}), "8");
  EXPECT_GT(look(g).metric("answers_retry"), 0);
}

TEST_F(redis_test, reports_that_a_replica_takes_no_writes) {
  start();
  auto g = gate_for(config(),
                    stack{"redis"}.retrier(
                      {.max_attempts = 5, .backoff = schedule::constant(1ms)}));
  ASSERT_TRUE(eventually([&] { return ask(g, {"PING"}, 100ms) == "PONG"; }));
  ASSERT_EQ(ask(g, {"REPLICAOF", "127.0.0.1", std::to_string(dead_port())}),
            "OK");
  auto before = look(g).metric("attempts");
  EXPECT_EQ(ask(g, {"INCR", "n"}).substr(0, 9), "-READONLY");
  // Twice, as its row in the table says.
  EXPECT_EQ(look(g).metric("attempts") - before, 2);
  ASSERT_EQ(ask(g, {"REPLICAOF", "NO", "ONE"}), "OK");
  EXPECT_EQ(ask(g, {"INCR", "n"}), "1");
}

// -- servers that break the protocol ------------------------------------------

TEST_F(redis_test, gives_up_on_garbage) {
  scripted_server garbage{[](raw_socket& x, int) {
    (void)x.read();
    x.write("HTTP/1.1 400 Bad Request\r\n\r\n");
    while (!x.read().empty())
      ;
  }};
  auto c = config();
  c.port = garbage.port();
  EXPECT_EQ(ask(gate_for(c), {"GET", "a"}), "!garbled");
}

TEST_F(redis_test, takes_no_reply_that_came_before_the_command) {
  scripted_server eager{[](raw_socket& x, int n) {
    (void)x.read();
    x.write(n == 0 ? "+a\r\n+b\r\n" : "+c\r\n");
    (void)x.read();
  }};
  auto c = config();
  c.port = eager.port();
  c.threads = 1;
  auto g = gate_for(c);
  EXPECT_EQ(ask(g, {"PING"}), "a");
  EXPECT_EQ(ask(g, {"PING"}), "c");
}

// Nothing is known of the server then.
TEST_F(redis_test, lives_on_if_a_call_is_cancelled_as_it_connects) {
  std::atomic<int> standing{0};
  scripted_server scripted{[&](raw_socket& x, int n) {
    (void)x.read();
    if (n == 1) {
      ++standing;
      while (!x.read().empty())
        ;
      return;
    }
    x.write("+OK\r\n");
    if (!x.read().empty() && n > 0)
      x.write("+PONG\r\n");
  }};
  auto c = config();
  c.port = scripted.port();
  c.password = "secret";
  c.threads = 1;
  auto pool = redis_worker(c).factory()(*sys);
  ASSERT_TRUE(pool);
  EXPECT_EQ(ask(*pool, {"PING"}), "!lost");
  caf::actor gate = spawn_gate(
    *sys, worker{*pool}.takes_calls().takes_cancelled(), stack{});
  auto waits = send(gate, {"PING"});
  EXPECT_TRUE(eventually([&] { return standing > 0; }));
  stop_gate(gate);
  EXPECT_EQ(receive(waits), "!cancelled");
  EXPECT_EQ(ask(*pool, {"PING"}), "PONG");
  caf::anon_send_exit(*pool, caf::exit_reason::user_shutdown);
}

TEST_F(redis_test, takes_no_more_than_configured) {
  scripted_server endless{[](raw_socket& x, int) {
    (void)x.read();
    x.write("$1000000000\r\n");
    for (int i = 0; i < 100; ++i)
      x.write(std::string(10'000, 'x'));
  }};
  auto c = config();
  c.port = endless.port();
  c.max_reply = 100'000;
  EXPECT_EQ(ask(gate_for(c), {"GET", "a"}), "!too_large");
}

TEST_F(redis_test, does_not_know_what_became_of_a_dropped_connection) {
  scripted_server drops{[](raw_socket& x, int) { (void)x.read(); }};
  auto c = config();
  c.port = drops.port();
  EXPECT_EQ(ask(gate_for(c), {"INCR", "a"}), "!lost");
}

// -- the server dies ----------------------------------------------------------

TEST_F(redis_test, comes_back_with_the_server) {
  start();
  auto g = gate_for(config());
  ASSERT_TRUE(eventually([&] { return ask(g, {"PING"}, 100ms) == "PONG"; }));
  server->end(SIGKILL);
  EXPECT_EQ(ask(g, {"PING"}, 300ms), "!not_connected");
  // Not even the worker's end may have been noticed by now.
  auto second = ask(g, {"PING"}, 300ms);
  EXPECT_TRUE(second == "!deadline_exceeded" || second == "!worker_down"
              || second == "!stopped")
    << second;
  start();
  // One that still came to the worker that has ended fails with it.
  EXPECT_TRUE(eventually([&] { return ask(g, {"PING"}) == "PONG"; }));
  EXPECT_GE(look(g).metric("worker_restarts"), 1);
}

TEST_F(redis_test, connects_anew_if_only_the_connection_is_gone) {
  start();
  auto g = patient_gate();
  auto other = patient_gate();
  EXPECT_EQ(ask(g, {"SET", "a", "1"}), "OK");
  EXPECT_EQ(ask(other, {"CONFIG", "SET", "timeout", "1"}), "OK");
  std::this_thread::sleep_for(2'500ms);
  EXPECT_EQ(ask(g, {"GET", "a"}), "1");
  EXPECT_EQ(look(g).metric("attempts"), 2);
  EXPECT_EQ(look(g).metric("worker_losses"), 0);
}

struct results {
  int done = 0;
  int unknown = 0;
  int refused = 0;
};

// Increments that may not be repeated, while the server is killed and comes
// back with what it has written: each is done at most once, and those that were
// answered with a value were. Goes on until a kill has met one.
TEST_F(redis_test, counts_nothing_twice_when_the_server_is_killed) {
  start_durable();
  auto g = patient_gate_for_many();
  ASSERT_EQ(ask(g, {"PING"}), "PONG");
  std::atomic<bool> over{false};
  std::thread fault{[&] {
    for (int i = 0; i < 3 || !over; ++i) {
      std::this_thread::sleep_for(150ms);
      server->end(SIGKILL);
      std::this_thread::sleep_for(100ms);
      start_durable();
    }
  }};
  results all;
  auto asked = 0;
  auto begin = std::chrono::steady_clock::now();
  auto goes_on = [&] {
    auto time = std::chrono::steady_clock::now() - begin;
    return time < 1'500ms || (all.unknown == 0 && time < 30s);
  };
  while (goes_on()) {
    std::vector<decltype(send(g, {}))> some;
    for (int i = 0; i < 50; ++i)
      some.push_back(send(g, {"INCR", "n"}));
    asked += 50;
    for (auto& x : some) {
      auto text = receive(x);
      if (text.front() != '!' && text.front() != '-')
        ++all.done;
      else if (text == "!lost" || text == "!worker_down")
        ++all.unknown;
      else
        ++all.refused;
    }
  }
  over = true;
  fault.join();
  EXPECT_EQ(all.done + all.unknown + all.refused, asked);
  EXPECT_EQ(all.refused, 0);
  EXPECT_GT(all.unknown, 0);
  auto n = std::stoi(ask(patient_gate(), {"GET", "n"}));
  EXPECT_GE(n, all.done);
  EXPECT_LE(n, all.done + all.unknown);
  EXPECT_EQ(look(g).metric("semaphore", "in_use"), 0);
  std::printf("asked %d, done %d, unknown %d, counted %d\n", asked, all.done,
              all.unknown, n);
}

TEST_F(redis_test, loses_no_idempotent_call_when_the_server_is_killed) {
  start();
  auto g = patient_gate();
  ASSERT_EQ(ask(g, {"PING"}), "PONG");
  std::thread fault{[&] {
    std::this_thread::sleep_for(50ms);
    server->end(SIGKILL);
    std::this_thread::sleep_for(200ms);
    start();
  }};
  std::vector<decltype(send(g, {}))> all;
  for (int i = 0; i < 60; ++i) {
    all.push_back(send(g, {"SET", "k" + std::to_string(i), "v"}));
    std::this_thread::sleep_for(5ms);
  }
  for (auto& x : all)
    EXPECT_EQ(receive(x), "OK");
  fault.join();
}

} // namespace
} // namespace caisson::test
