// The worker for Redis by TLS, with a real server. test/servers/run starts
// this.
#include "server.hpp"

#include <support/tls_files.hpp>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace caisson::test {
namespace {

class redis_tls_test : public redis_test {
protected:
  void start_tls(const std::string& certificate = "server",
                 const std::vector<std::string>& more = {}) {
    const auto& files = tls_files::all();
    std::vector<std::string> words{"--port",
                                   "0",
                                   "--tls-port",
                                   std::to_string(port),
                                   "--tls-cert-file",
                                   files.pem(certificate),
                                   "--tls-key-file",
                                   files.key(certificate),
                                   "--tls-ca-cert-file",
                                   files.pem("authority"),
                                   "--tls-auth-clients",
                                   "no"};
    words.insert(words.end(), more.begin(), more.end());
    server.reset();
    start(words);
    // Whoever asks has a certificate, in case that one is needed.
    auto any = certified(config(), "client");
    any.verify_server = false;
    any.ca_file.clear();
    ASSERT_TRUE(eventually([&] { return is_up(any); }));
  }

  bool is_up(const redis_client_config& c) {
    auto text = refusal_of(*sys, redis_worker(c));
    return text.find("Connection refused") == std::string::npos;
  }

  redis_client_config single() const {
    auto c = trusting(config());
    c.threads = 1;
    return c;
  }

  // That it is not connected, and what its text says.
  void expect_refused(const redis_client_config& c, const std::string& says) {
    auto text = refusal_of(*sys, redis_worker(c));
    EXPECT_NE(text.find(says), std::string::npos) << text;
  }
};

std::string number_in(const std::string& info, const std::string& name) {
  auto at = info.find(name + ":");
  if (at == std::string::npos)
    return "none";
  at += name.size() + 1;
  return info.substr(at, info.find('\r', at) - at);
}

TEST_F(redis_tls_test, is_answered_on_one_connection) {
  for (std::string version : {"TLSv1.2", "TLSv1.3"}) {
    start_tls("server", {"--tls-protocols", version});
    auto g = gate_for(single());
    EXPECT_EQ(ask(g, {"CONFIG", "RESETSTAT"}), "OK");
    for (int i = 0; i < 20; ++i) {
      EXPECT_EQ(ask(g, {"INCR", "n"}), std::to_string(i + 1));
      if (i % 5 == 0)
        std::this_thread::sleep_for(20ms);
    }
    std::string large(5'000'000, 'x');
    EXPECT_EQ(ask(g, {"SET", "large", large}), "OK");
    EXPECT_EQ(ask(g, {"GET", "large"}), large);
    EXPECT_EQ(
      number_in(ask(g, {"INFO", "stats"}), "total_connections_received"), "0")
      << version;
    EXPECT_EQ(look(g).metric("worker_losses"), 0);
  }
}

TEST_F(redis_tls_test, knows_the_server_by_its_address_or_its_name) {
  start_tls();
  for (const auto* host : {"127.0.0.1", "localhost"}) {
    auto c = single();
    c.host = host;
    EXPECT_EQ(refusal_of(*sys, redis_worker(c)), "") << host;
  }
}

TEST_F(redis_tls_test, refuses_a_server_of_another_authority) {
  start_tls();
  auto c = single();
  c.ca_file = tls_files::all().pem("stranger");
  expect_refused(c, "`ca_file`");
  // Those of the system.
  c.ca_file.clear();
  expect_refused(c, "`ca_file`");
}

TEST_F(redis_tls_test, refuses_a_certificate_of_another_host) {
  start_tls("elsewhere");
  for (const auto* host : {"127.0.0.1", "localhost"}) {
    auto c = single();
    c.host = host;
    expect_refused(c, "`host`");
  }
}

TEST_F(redis_tls_test, refuses_a_certificate_that_has_expired) {
  start_tls("expired");
  expect_refused(single(), "expired");
}

TEST_F(redis_tls_test, takes_any_server_if_it_need_not_be_verified) {
  for (const auto* certificate : {"elsewhere", "expired"}) {
    start_tls(certificate);
    auto c = config();
    c.tls = true;
    c.verify_server = false;
    EXPECT_EQ(ask(gate_for(c), {"PING"}), "PONG");
  }
}

TEST_F(redis_tls_test, shows_its_certificate) {
  for (std::string version : {"TLSv1.2", "TLSv1.3"}) {
    start_tls("server",
              {"--tls-auth-clients", "yes", "--tls-protocols", version});
    // Known before a command is sent, with TLS 1.3 as well.
    EXPECT_NE(refusal_of(*sys, redis_worker(single())), "") << version;
    auto c = certified(single(), "intruder");
    EXPECT_NE(refusal_of(*sys, redis_worker(c)), "") << version;
    EXPECT_EQ(ask(gate_for(certified(single(), "client")), {"PING"}), "PONG")
      << version;
  }
}

TEST_F(redis_tls_test, gives_its_password_by_tls) {
  start_tls("server", {"--requirepass", "secret"});
  auto c = single();
  c.password = "secret";
  c.database = 3;
  EXPECT_EQ(ask(gate_for(c), {"PING"}), "PONG");
  c.password = "guess";
  expect_refused(c, "WRONGPASS");
  // Not this client's business before the first command.
  c.password.clear();
  c.database = 0;
  EXPECT_EQ(ask(gate_for(c), {"GET", "a"}).substr(0, 7), "-NOAUTH");
}

// -- the other side does without ----------------------------------------------

TEST_F(redis_tls_test, says_nothing_to_a_server_without_tls) {
  std::string got;
  {
    scripted_server plain{[&](raw_socket& x, int) {
      got = x.read();
      x.write("-ERR Protocol error\r\n");
      while (!x.read().empty())
        ;
    }};
    auto c = single();
    c.port = plain.port();
    c.password = "secret";
    expect_refused(c, "TLS 1.2 or later");
  }
  EXPECT_FALSE(got.empty());
  EXPECT_EQ(got.find("secret"), std::string::npos);
  start();
  auto c = single();
  c.connect_timeout = 300ms;
  EXPECT_TRUE(eventually(
    [&] { return refusal_of(*sys, redis_worker(config())).empty(); }));
  EXPECT_NE(refusal_of(*sys, redis_worker(c)), "");
}

TEST_F(redis_tls_test, is_of_no_use_to_a_client_without_tls) {
  start_tls();
  auto c = config();
  c.database = 1;
  EXPECT_NE(refusal_of(*sys, redis_worker(c)), "");
}

// -- deadlines and ends -------------------------------------------------------

TEST_F(redis_tls_test, is_given_up_in_time_while_connecting) {
  const std::pair<const char*, scripted_server::script> scripts[] = {
    {"no TLS handshake in time",
     [](raw_socket& x, int) {
       while (!x.read().empty())
         ;
     }},
    {"closed the connection", [](raw_socket& x, int) { (void)x.read(); }},
    // The head of a record that never comes.
    {"no TLS handshake in time",
     [](raw_socket& x, int) {
       (void)x.read();
       x.write({"\x16\x03\x03\x40\x00\x02", 6});
       while (!x.read().empty())
         ;
     }},
  };
  for (const auto& [says, script] : scripts) {
    scripted_server hostile{script};
    auto c = single();
    c.port = hostile.port();
    c.connect_timeout = 200ms;
    auto begin = std::chrono::steady_clock::now();
    expect_refused(c, says);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 2s);
  }
}

TEST_F(redis_tls_test, leaves_no_reply_to_the_next_call) {
  start_tls();
  auto g = gate_for(single());
  ASSERT_EQ(ask(g, {"PING"}), "PONG");
  for (int i = 0; i < 5; ++i) {
    auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(ask(g, {"BLPOP", "nothing", "10"}, 50ms), "!deadline_exceeded");
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 1s);
    EXPECT_EQ(ask(g, {"ECHO", std::to_string(i)}), std::to_string(i));
  }
  EXPECT_EQ(look(g).metric("worker_losses"), 0);
}

TEST_F(redis_tls_test, is_not_deceived_by_a_server_that_stands_still) {
  start_tls();
  auto g = gate_for(trusting(config()), patient_stack());
  EXPECT_EQ(ask(g, {"SET", "a", "1"}), "OK");
  server->signal(SIGSTOP);
  for (int i = 0; i < 2; ++i) {
    auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(ask(g, {"GET", "a"}, 200ms), "!deadline_exceeded");
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 1s);
  }
  server->signal(SIGCONT);
  EXPECT_EQ(ask(g, {"GET", "a"}), "1");
}

TEST_F(redis_tls_test, comes_back_with_the_server) {
  start_tls();
  auto g = gate_for(single());
  ASSERT_EQ(ask(g, {"PING"}), "PONG");
  server->end(SIGKILL);
  EXPECT_NE(ask(g, {"PING"}, 300ms), "PONG");
  start_tls();
  EXPECT_TRUE(eventually([&] { return ask(g, {"PING"}) == "PONG"; }));
  EXPECT_GE(look(g).metric("worker_restarts"), 1);
}

// -- settings -----------------------------------------------------------------

TEST(redis_tls_settings, are_checked_with_their_files) {
  const auto& files = tls_files::all();
  auto none = files.text("empty", "");
  auto words = files.text("words", "this is not a certificate\n");
  auto wrong = [](void (*change)(redis_client_config&), bool tls = true) {
    redis_client_config c;
    c = certified(c, "client");
    c.tls = tls;
    change(c);
    return wrong_settings_of(c);
  };
  using config = redis_client_config;
  EXPECT_EQ(wrong_settings_of(config{}), "");
  EXPECT_EQ(wrong_settings_of(config{.tls = true}), "");
  EXPECT_EQ(wrong([](config&) {}), "");
  EXPECT_EQ(wrong([](config&) {}, false),
            "ca_file client_certificate client_key");
  EXPECT_EQ(wrong([](config& c) { c.host = "/run/redis"; }), "tls");
  EXPECT_EQ(wrong([](config& c) { c.verify_server = false; }), "verify_server");
  EXPECT_EQ(wrong([](config& c) { c.client_key.clear(); }), "client_key");
  EXPECT_EQ(wrong([](config& c) { c.client_certificate.clear(); }),
            "client_certificate");
  EXPECT_EQ(
    wrong([](config& c) { c.client_key = tls_files::all().key("server"); }),
    "client_key");
  EXPECT_EQ(
    wrong([](config& c) { c.client_key = tls_files::all().key("locked"); }),
    "client_key");
  for (const auto& file : {none, words, std::string{"/none"}}) {
    auto c = certified(config{}, "client");
    c.ca_file = file;
    EXPECT_EQ(wrong_settings_of(c), "ca_file") << file;
    c = certified(config{}, "client");
    c.client_certificate = file;
    EXPECT_EQ(wrong_settings_of(c), "client_certificate") << file;
    c = certified(config{}, "client");
    c.client_key = file;
    EXPECT_EQ(wrong_settings_of(c), "client_key") << file;
  }
}

} // namespace
} // namespace caisson::test
