// The worker for Redis with servers that know TLS and break other rules, or
// come in pieces of any size. test/servers/run starts this.
#include "server.hpp"

#include <support/tls_peer.hpp>

#include <atomic>
#include <chrono>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace caisson::test {
namespace {

class redis_tls_peer_test : public redis_test {
protected:
  redis_client_config config_for(const scripted_server& x) const {
    auto c = trusting(config());
    c.port = x.port();
    c.threads = 1;
    return c;
  }

  // A worker without a gate, which cannot hide anything.
  caf::actor pool_for(const redis_client_config& c) {
    auto worker = redis_worker(c).factory()(*sys);
    if (!worker)
      return {};
    pools.push_back(*worker);
    return *worker;
  }

  ~redis_tls_peer_test() override {
    for (const auto& x : pools)
      caf::anon_send_exit(x, caf::exit_reason::user_shutdown);
  }

  // Answers the command with which a connection begins.
  static bool begins(tls_peer& x) {
    return !x.read().empty() && x.write("+PONG\r\n");
  }

  static void read_on(tls_peer& x) {
    while (!x.read().empty())
      ;
  }

  std::vector<caf::actor> pools;
};

TEST_F(redis_tls_peer_test, keeps_a_connection_with_late_tickets) {
  std::atomic<int> connections{0};
  scripted_server peer_server{[&](raw_socket& x, int) {
    ++connections;
    tls_peer peer{x, TLS1_3_VERSION, 8};
    if (!begins(peer))
      return;
    do {
      // No data, and all the same something to read before the next command.
      if (!peer.change_keys())
        return;
    } while (!peer.read().empty() && peer.write("+OK\r\n"));
  }};
  auto pool = pool_for(config_for(peer_server));
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(ask(pool, {"SET", "a", "1"}), "OK");
  EXPECT_EQ(connections, 1);
}

// Without a password PING is the first command, and what is said to it may be
// about the connection.
TEST_F(redis_tls_peer_test, sends_no_command_to_a_server_that_is_full) {
  std::atomic<int> commands{0};
  for (auto [says, expected] :
       {std::pair{"-ERR max number of clients reached\r\n", "!not_connected"},
        std::pair{"-NOPERM this user has no permissions\r\n", "OK"}}) {
    scripted_server peer_server{[&, says = says](raw_socket& x, int n) {
      tls_peer peer{x};
      if (peer.read().empty() || !peer.write(n == 0 ? "+PONG\r\n" : says))
        return;
      // The first connection, which a worker must have, ends.
      if (peer.read().empty() || n == 0)
        return;
      ++commands;
      peer.write("+OK\r\n");
    }};
    auto pool = pool_for(config_for(peer_server));
    EXPECT_EQ(ask(pool, {"SET", "a", "1"}), "!lost");
    EXPECT_EQ(ask(pool, {"SET", "a", "1"}), expected);
  }
  EXPECT_EQ(commands, 1);
}

TEST_F(redis_tls_peer_test, takes_no_reply_that_came_before_the_command) {
  std::atomic<int> connections{0};
  scripted_server peer_server{[&](raw_socket& x, int n) {
    tls_peer peer{x};
    if (!begins(peer) || peer.read().empty())
      return;
    // In the record of the reply, or in one of its own.
    peer.write(n == 0 ? "+a\r\n+evil\r\n" : n == 1 ? "+b\r\n" : "+c\r\n");
    if (n == 1)
      peer.write("+evil\r\n");
    ++connections;
    read_on(peer);
  }};
  auto pool = pool_for(config_for(peer_server));
  EXPECT_EQ(ask(pool, {"PING"}), "a");
  EXPECT_EQ(ask(pool, {"PING"}), "b");
  EXPECT_TRUE(eventually([&] { return connections == 2; }));
  EXPECT_EQ(ask(pool, {"PING"}), "c");
}

// Half a record, so that there is nothing to read yet.
TEST_F(redis_tls_peer_test, takes_no_part_of_a_reply_that_came_before) {
  std::atomic<int> connections{0};
  scripted_server peer_server{[&](raw_socket& x, int n) {
    tls_peer peer{x};
    if (!begins(peer) || peer.read().empty())
      return;
    peer.write(n == 0 ? "+a\r\n" : "+b\r\n");
    if (n == 0)
      x.write({"\x17\x03\x03\x00\x40half", 9});
    ++connections;
    read_on(peer);
  }};
  auto pool = pool_for(config_for(peer_server));
  EXPECT_EQ(ask(pool, {"PING"}), "a");
  EXPECT_TRUE(eventually([&] { return connections == 1; }));
  std::this_thread::sleep_for(20ms);
  EXPECT_EQ(ask(pool, {"PING"}), "b");
}

TEST_F(redis_tls_peer_test, does_not_know_what_became_of_a_broken_connection) {
  const std::pair<const char*, scripted_server::script> scripts[] = {
    {"closed",
     [](raw_socket& x, int) {
       tls_peer peer{x};
       if (begins(peer))
         (void)peer.read();
     }},
    {"plain bytes within TLS",
     [](raw_socket& x, int) {
       tls_peer peer{x};
       if (begins(peer) && !peer.read().empty())
         x.write("+OK\r\n");
     }},
    {"changed bytes",
     [](raw_socket& x, int) {
       tls_peer peer{x};
       if (begins(peer) && !peer.read().empty())
         x.write(std::string{"\x17\x03\x03\x00\x20", 5} + std::string(32, 'x'));
     }},
  };
  for (const auto& [name, script] : scripts) {
    scripted_server peer_server{script};
    EXPECT_EQ(ask(pool_for(config_for(peer_server)), {"INCR", "a"}), "!lost")
      << name;
  }
}

// OpenSSL reads on as long as something comes that is no data.
TEST_F(redis_tls_peer_test, holds_deadlines_while_keys_change_without_an_end) {
  std::atomic<bool> over{false};
  scripted_server peer_server{[&](raw_socket& x, int) {
    tls_peer peer{x};
    if (begins(peer) && !peer.read().empty())
      while (!over && peer.change_keys())
        ;
  }};
  auto pool = pool_for(config_for(peer_server));
  auto begin = std::chrono::steady_clock::now();
  auto what = ask(pool, {"PING"}, 200ms);
  EXPECT_TRUE(what == "!timed_out" || what == "!lost") << what;
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 2s);
  over = true;
}

TEST_F(redis_tls_peer_test, takes_no_more_than_configured) {
  scripted_server peer_server{[](raw_socket& x, int) {
    tls_peer peer{x};
    if (!begins(peer) || peer.read().empty())
      return;
    peer.write("*1000\r\n");
    while (peer.write("$10000\r\n" + std::string(10'000, 'x') + "\r\n"))
      ;
  }};
  auto c = config_for(peer_server);
  c.max_reply = 100'000;
  EXPECT_EQ(ask(pool_for(c), {"GET", "a"}), "!too_large");
}

// Nothing is known of the server then.
TEST_F(redis_tls_peer_test, lives_on_if_a_call_is_cancelled_in_the_handshake) {
  std::atomic<int> standing{0};
  scripted_server peer_server{[&](raw_socket& x, int n) {
    if (n == 1) {
      ++standing;
      while (!x.read().empty())
        ;
      return;
    }
    tls_peer peer{x};
    if (begins(peer) && !peer.read().empty() && n > 0)
      peer.write("+OK\r\n");
  }};
  auto c = config_for(peer_server);
  c.connect_timeout = 1min;
  auto pool = pool_for(c);
  ASSERT_TRUE(pool);
  EXPECT_EQ(ask(pool, {"PING"}), "!lost");
  caf::actor gate = spawn_gate(
    *sys, worker{pool}.takes_calls().takes_cancelled(), stack{});
  auto waits = send(gate, {"PING"});
  EXPECT_TRUE(eventually([&] { return standing > 0; }));
  auto begin = std::chrono::steady_clock::now();
  stop_gate(gate);
  EXPECT_EQ(receive(waits), "!cancelled");
  EXPECT_EQ(ask(pool, {"PING"}), "OK");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 2s);
}

TEST_F(redis_tls_peer_test, makes_another_connection_after_a_late_handshake) {
  std::atomic<int> connections{0};
  scripted_server peer_server{[&](raw_socket& x, int n) {
    ++connections;
    if (n == 1) {
      while (!x.read().empty())
        ;
      return;
    }
    tls_peer peer{x};
    if (begins(peer) && !peer.read().empty() && n > 0)
      peer.write("+OK\r\n");
  }};
  auto c = config_for(peer_server);
  c.connect_timeout = 1min;
  auto pool = pool_for(c);
  EXPECT_EQ(ask(pool, {"PING"}), "!lost");
  auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(ask(pool, {"PING"}, 200ms), "!not_connected");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 2s);
  EXPECT_EQ(ask(pool, {"PING"}), "OK");
  EXPECT_EQ(connections, 3);
}

// The server gives back what it gets, cut into records at random.
TEST_F(redis_tls_peer_test, reads_and_writes_what_is_cut_anywhere) {
  for (unsigned seed = 1; seed <= 6; ++seed) {
    std::mt19937 random{seed};
    auto below = [&random](std::size_t n) {
      return std::uniform_int_distribution<std::size_t>{0, n - 1}(random);
    };
    std::vector<std::string> texts;
    for (int i = 0; i < 25; ++i) {
      texts.emplace_back(below(i % 5 == 0 ? 300'000 : 40), 'x');
      for (auto& c : texts.back())
        c = static_cast<char>(below(256));
    }
    scripted_server peer_server{[&](raw_socket& x, int) {
      std::mt19937 cuts{seed + 100};
      tls_peer peer{x, seed % 2 == 0 ? TLS1_2_VERSION : TLS1_3_VERSION};
      if (!begins(peer))
        return;
      for (const auto& text : texts) {
        auto head = "*2\r\n$4\r\nECHO\r\n$" + std::to_string(text.size())
                    + "\r\n";
        std::string got;
        while (got.size() < head.size() + text.size() + 2) {
          auto part = peer.read();
          if (part.empty())
            return;
          got += part;
        }
        auto reply = got.substr(got.find("O\r\n") + 3);
        for (std::size_t done = 0; done < reply.size();) {
          std::uniform_int_distribution<std::size_t> size{
            1, cuts() % 3 == 0 ? 5u : 16'384u};
          auto n = size(cuts);
          peer.write(reply.substr(done, n));
          done += n;
        }
      }
      read_on(peer);
    }};
    auto pool = pool_for(config_for(peer_server));
    for (std::size_t i = 0; i < texts.size(); ++i)
      ASSERT_TRUE(ask(pool, {"ECHO", texts[i]}) == texts[i])
        << seed << ' ' << i;
  }
}

} // namespace
} // namespace caisson::test
