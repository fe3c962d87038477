// A front that speaks HTTPS: clients that may come in, and others.
#include <adapters/http/fronts.hpp>
#include <adapters/http/tls_clients.hpp>

#include <support/problem_texts.hpp>

#include <openssl/pem.h>
#include <openssl/rsa.h>

#include <atomic>
#include <cstdio>
#include <fstream>
#include <future>
#include <memory>
#include <random>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

class tls_front_test : public http_front_test {
protected:
  static http_front_config secure(http_front_config c = {}) {
    c.certificate = certificates::all().pem("127.0.0.1");
    c.key = certificates::all().key("127.0.0.1");
    return c;
  }

  static http_front_config mutual() {
    auto c = secure();
    c.client_ca_file = certificates::all().pem("authority");
    return c;
  }

  static std::string url_of(const http_front& front) {
    return "https://127.0.0.1:" + std::to_string(front.port());
  }

  answer get_by(const http_client_config& c, const std::string& target = "/a") {
    auto w = spawn_http_worker(*sys, c);
    auto out = ask(w, wrap(http_request{.target = target}).within(5s));
    caf::anon_send_exit(w, caf::exit_reason::user_shutdown);
    return out;
  }

  static std::string
  request(const std::string& target,
          const std::string& more = "Connection: close\r\n") {
    return "GET " + target + " HTTP/1.1\r\nHost: a\r\n" + more + "\r\n";
  }

  static void copy(const std::string& from, const std::string& to) {
    std::filesystem::copy_file(
      from, to, std::filesystem::copy_options::overwrite_existing);
  }
};

// -- those that may come in ---------------------------------------------------

TEST_F(tls_front_test, answers_by_https) {
  http_front front{*sys, gate, secure()};
  auto w = spawn_http_worker(*sys, trusting(url_of(front)));
  for (int i = 0; i < 20; ++i) {
    auto x = ask(w, http_request{"POST", "/echo", {}, "body"});
    ASSERT_EQ(x.status(), 200) << transport_text_of(x.error);
    EXPECT_EQ(x.response->body, "POST /echo body");
  }
  EXPECT_EQ(front.answered(), 20u);
  EXPECT_EQ(front.failed_handshakes(), 0u);
}

TEST_F(tls_front_test, speaks_tls_1_2_and_1_3_and_nothing_older) {
  http_front front{*sys, gate, secure()};
  for (auto version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    tls_client x{front.port(), {.max_version = version}};
    ASSERT_TRUE(x.works());
    EXPECT_EQ(SSL_version(x.ssl()), version);
    x.write(request("/echo"));
    EXPECT_EQ(status_in(x.read_all()), 200);
    EXPECT_TRUE(x.ended_well());
  }
  tls_client old{front.port(), {.max_version = TLS1_1_VERSION}};
  EXPECT_FALSE(old.works());
}

TEST_F(tls_front_test, takes_what_comes_together_and_in_parts) {
  http_front front{*sys, gate, secure()};
  tls_client x{front.port()};
  // Several requests in one record, and one in many.
  x.write(request("/1", "") + request("/2", ""));
  auto last = request("/3");
  for (char c : last)
    x.write(std::string{c});
  auto all = x.read_all();
  EXPECT_EQ(count(all, "HTTP/1.1 200 OK"), 3u);
  EXPECT_LT(all.find("GET /1"), all.find("GET /2"));
  EXPECT_LT(all.find("GET /2"), all.find("GET /3"));
  EXPECT_TRUE(x.ended_well());
}

TEST_F(tls_front_test, says_to_go_on) {
  http_front front{*sys, gate, secure()};
  tls_client x{front.port()};
  x.write("POST /echo HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"
          "Content-Length: 2\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_TRUE(x.read().starts_with("HTTP/1.1 100 "));
  x.write("ok");
  auto all = x.read_all();
  EXPECT_EQ(status_in(all), 200);
  EXPECT_TRUE(all.ends_with("ok"));
}

TEST_F(tls_front_test, carries_large_bodies_both_ways) {
  http_front front{*sys,
                   [this](const http_request&) {
                     return http_route{gate, {}, [](const caf::message& m) {
                                         auto out = m.get_as<http_response>(0);
                                         out.body += out.body + out.body;
                                         return out;
                                       }};
                   },
                   secure({.max_body = 8 << 20})};
  std::string body(5'000'000, 'x');
  auto x = ask(spawn_http_worker(*sys, trusting(url_of(front))),
               http_request{"POST", "/", {}, body});
  ASSERT_EQ(x.status(), 200) << transport_text_of(x.error);
  EXPECT_EQ(x.response->body.size(), 3 * (body.size() + 7));
}

TEST_F(tls_front_test, has_a_client_that_reads_slowly) {
  http_front front{*sys, gate, secure({.max_body = 8 << 20})};
  tls_client x{front.port()};
  std::string body(3'000'000, 'x');
  x.write("POST /echo HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"
          "Content-Length: "
          + std::to_string(body.size()) + "\r\n\r\n" + body);
  // The front has to wait for it, and serves others meanwhile.
  ASSERT_TRUE(eventually([&] { return served == 1; }));
  for (int i = 0; i < 10; ++i)
    EXPECT_EQ(get_by(trusting(url_of(front))).status(), 200);
  EXPECT_GT(x.read_all().size(), body.size());
  EXPECT_TRUE(x.ended_well());
}

TEST_F(tls_front_test, chooses_http_1_1_of_what_a_client_offers) {
  http_front front{*sys, gate, secure()};
  auto c = trusting(url_of(front));
  c.http2 = true;
  EXPECT_EQ(get_by(c).status(), 200);
}

// -- those that may not -------------------------------------------------------

TEST_F(tls_front_test, is_refused_by_clients_that_do_not_know_its_authority) {
  http_front front{*sys, gate, secure()};
  auto c = trusting(url_of(front));
  c.ca_file = certificates::all().pem("stranger");
  EXPECT_EQ(get_by(c).failure(), "not_connected");
  EXPECT_EQ(served, 0);
  EXPECT_EQ(get_by(trusting(url_of(front))).status(), 200);
  EXPECT_TRUE(eventually([&] { return front.failed_handshakes() == 1; }));
}

TEST_F(tls_front_test, is_refused_with_a_certificate_that_has_expired) {
  auto c = secure();
  c.certificate = certificates::all().pem("expired");
  http_front front{*sys, gate, c};
  EXPECT_EQ(get_by(trusting(url_of(front))).failure(), "not_connected");
  EXPECT_EQ(served, 0);
}

TEST_F(tls_front_test, wants_a_certificate_of_each_client) {
  http_front front{*sys, gate, mutual()};
  for (auto version : {TLS1_2_VERSION, TLS1_3_VERSION})
    for (const auto* identity : {"", "stranger"}) {
      tls_client x{front.port(),
                   {.identity = identity, .max_version = version}};
      // With 1.3 the client learns it when it reads.
      EXPECT_TRUE(!x.works() || version == TLS1_3_VERSION);
      x.write(request("/echo"));
      EXPECT_EQ(x.read_all(), "");
    }
  EXPECT_EQ(served, 0);
  EXPECT_TRUE(eventually([&] { return front.failed_handshakes() == 4; }));
  auto c = trusting(url_of(front));
  c.client_certificate = certificates::all().pem("client");
  c.client_key = certificates::all().key("client");
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(get_by(c).status(), 200);
}

TEST_F(tls_front_test, does_not_go_on_with_sessions_of_clients_it_verifies) {
  http_front front{*sys, gate, mutual()};
  tls_client x{front.port(), {.identity = "client"}};
  ASSERT_TRUE(x.works());
  x.write(request("/echo"));
  EXPECT_EQ(status_in(x.read_all()), 200);
  EXPECT_EQ(SSL_SESSION_is_resumable(SSL_get0_session(x.ssl())), 0);
}

TEST_F(tls_front_test, tells_plain_http_what_it_speaks) {
  http_front front{*sys, gate, secure()};
  auto answer = get(front.port(), "/echo");
  EXPECT_EQ(status_in(answer), 400) << answer;
  EXPECT_NE(answer.find("HTTPS"), std::string::npos);
  EXPECT_EQ(served, 0);
  auto c = at_port(front.port());
  EXPECT_EQ(get_by(c).status(), 400);
  // A request that is malformed is something else.
  tls_client x{front.port()};
  x.write("GET / HTTP/1.1\nHost: a\n\n");
  answer = x.read_all();
  EXPECT_EQ(status_in(answer), 400);
  EXPECT_EQ(answer.find("HTTPS"), std::string::npos);
}

TEST_F(tls_front_test, is_not_found_where_plain_http_is_spoken) {
  http_front front{*sys, gate};
  EXPECT_EQ(get_by(trusting(url_of(front))).failure(), "not_connected");
  EXPECT_EQ(served, 0);
}

TEST_F(tls_front_test, closes_what_is_no_tls) {
  http_front front{*sys, gate, secure()};
  std::mt19937 random{7};
  auto hello = [] {
    // Of a real client.
    auto trap = raw_socket::listening();
    std::thread client{[port = trap.port()] { tls_client x{port}; }};
    auto got = trap.accept();
    auto bytes = got.read();
    got.end_writing();
    client.join();
    return bytes;
  }();
  ASSERT_GT(hello.size(), 100u);
  for (int i = 0; i < 100; ++i) {
    auto bytes = hello;
    for (int k = 0; k < 1 + i % 5; ++k)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    bytes.resize(1 + random() % bytes.size());
    auto x = raw_socket::connected_to(front.port());
    x.write(bytes);
    x.end_writing();
  }
  EXPECT_EQ(get_by(trusting(url_of(front))).status(), 200);
  EXPECT_EQ(served, 1);
}

// -- those that take their time -----------------------------------------------

TEST_F(tls_front_test, serves_others_while_clients_stall_in_the_handshake) {
  http_front front{*sys, gate,
                   secure({.threads = 2, .handshake_timeout = 20s})};
  std::vector<raw_socket> stalled;
  for (int i = 0; i < 100; ++i) {
    stalled.push_back(raw_socket::connected_to(front.port()));
    // Nothing, or the beginning of a record.
    if (i % 2 == 0)
      stalled.back().write(std::string{"\x16\x03\x01\x02", 4});
  }
  auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(get_by(trusting(url_of(front))).status(), 200);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s);
}

TEST_F(tls_front_test, limits_the_time_of_a_handshake_however_bytes_come) {
  http_front front{*sys, gate, secure({.handshake_timeout = 200ms})};
  auto silent = raw_socket::connected_to(front.port());
  auto slow = raw_socket::connected_to(front.port());
  std::atomic<bool> ended{false};
  std::thread writer{[&] {
    // A record of 16 KiB that comes byte by byte.
    slow.write(std::string{"\x16\x03\x01\x40", 4});
    while (!ended) {
      slow.write(std::string(1, '\0'));
      std::this_thread::sleep_for(5ms);
    }
  }};
  EXPECT_EQ(silent.read(), "");
  EXPECT_EQ(slow.read(), "");
  ended = true;
  writer.join();
  EXPECT_TRUE(eventually([&] { return front.failed_handshakes() == 2; }));
}

TEST_F(tls_front_test, limits_the_time_of_a_head_and_of_an_idle_connection) {
  http_front front{*sys, gate,
                   secure({.head_timeout = 100ms, .idle_timeout = 300ms})};
  tls_client slow{front.port()};
  slow.write("GET / HTTP/1.1\r\nHost");
  EXPECT_EQ(status_in(slow.read_all()), 408);
  EXPECT_TRUE(slow.ended_well());
  tls_client idle{front.port()};
  EXPECT_EQ(idle.read(), "");
  EXPECT_TRUE(idle.ended_well());
}

TEST_F(tls_front_test, makes_room_for_new_clients) {
  http_front front{*sys, gate,
                   secure({.max_connections = 20, .handshake_timeout = 20s})};
  std::vector<raw_socket> stalled;
  for (int i = 0; i < 60; ++i)
    stalled.push_back(raw_socket::connected_to(front.port()));
  EXPECT_EQ(get_by(trusting(url_of(front))).status(), 200);
}

TEST_F(tls_front_test, has_many_clients_at_once) {
  http_front front{*sys, gate, secure({.max_per_peer = 512})};
  std::atomic<int> good{0};
  std::vector<std::thread> clients;
  for (int i = 0; i < 8; ++i)
    clients.emplace_back([&] {
      for (int k = 0; k < 15; ++k) {
        std::vector<std::unique_ptr<tls_client>> some;
        for (int n = 0; n < 5; ++n)
          some.push_back(std::make_unique<tls_client>(front.port()));
        for (auto& x : some)
          x->write(request("/echo"));
        for (auto& x : some)
          good += status_in(x->read_all()) == 200 && x->ended_well() ? 1 : 0;
      }
    });
  for (auto& x : clients)
    x.join();
  EXPECT_EQ(good, 8 * 15 * 5);
  EXPECT_EQ(served, good);
}

TEST_F(tls_front_test, survives_clients_that_break_off) {
  http_front front{*sys, gate, secure({.max_body = 8 << 20})};
  std::string body(2'000'000, 'x');
  for (int i = 0; i < 10; ++i) {
    tls_client x{front.port()};
    x.write("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: "
            + std::to_string(body.size()) + "\r\n\r\n" + body);
    if (i % 2 == 0)
      x.read();
    // With bytes unread: what the front writes then meets a reset.
  }
  EXPECT_EQ(get_by(trusting(url_of(front))).status(), 200);
}

// -- the end ------------------------------------------------------------------

TEST_F(tls_front_test, finishes_what_it_has_when_it_ends) {
  std::promise<void> go;
  auto gone = go.get_future().share();
  std::atomic<int> begun{0};
  auto front = std::make_unique<http_front>(
    *sys,
    [&](const http_request&) {
      ++begun;
      gone.wait();
      return http_route{gate};
    },
    secure());
  std::vector<std::unique_ptr<tls_client>> busy;
  for (int i = 0; i < 5; ++i) {
    busy.push_back(std::make_unique<tls_client>(front->port()));
    busy.back()->write(request("/echo", ""));
  }
  tls_client idle{front->port()};
  auto stalled = raw_socket::connected_to(front->port());
  ASSERT_TRUE(eventually([&] { return begun == 5; }));
  auto end = std::async(std::launch::async, [&] { front.reset(); });
  EXPECT_EQ(idle.read(), "");
  EXPECT_TRUE(idle.ended_well());
  EXPECT_EQ(stalled.read(), "");
  go.set_value();
  for (auto& x : busy) {
    EXPECT_EQ(status_in(x->read_all()), 200);
    EXPECT_TRUE(x->ended_well());
  }
  end.get();
}

// -- files --------------------------------------------------------------------

class tls_files_test : public tls_front_test {
protected:
  tls_files_test() { use("127.0.0.1"); }

  void use(const std::string& identity) {
    copy(certificates::all().pem(identity), files.file("c.pem"));
    copy(certificates::all().key(identity), files.file("c.key"));
  }

  http_front_config config() {
    return {.certificate = files.file("c.pem"), .key = files.file("c.key")};
  }

  std::string name_shown(const http_front& front) {
    tls_client x{front.port()};
    auto* certificate = SSL_get0_peer_certificate(x.ssl());
    if (!certificate)
      return {};
    char name[100] = {};
    X509_NAME_get_text_by_NID(X509_get_subject_name(certificate),
                              NID_commonName, name, sizeof name);
    return name;
  }

  demo::scratch_directory files;
};

// The certificates have keys of elliptic curves. To OpenSSL, loading a key of
// another type than the certificate is no error.
void write_rsa_key(const std::string& path) {
  std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key{EVP_RSA_gen(2048),
                                                          EVP_PKEY_free};
  std::unique_ptr<FILE, decltype(&std::fclose)> file{
    std::fopen(path.c_str(), "w"), std::fclose};
  ASSERT_TRUE(key && file);
  ASSERT_EQ(PEM_write_PrivateKey(file.get(), key.get(), nullptr, nullptr, 0,
                                 nullptr, nullptr),
            1);
}

TEST_F(tls_files_test, are_read_again_when_they_have_changed) {
  http_front front{*sys, gate, config()};
  EXPECT_EQ(name_shown(front), "127.0.0.1");
  tls_client before{front.port()};
  use("elsewhere");
  EXPECT_TRUE(eventually([&] { return name_shown(front) == "elsewhere"; }));
  EXPECT_EQ(front.tls_problem(), "");
  // Connections that there are go on.
  before.write(request("/echo"));
  EXPECT_EQ(status_in(before.read_all()), 200);
}

TEST_F(tls_files_test, that_cannot_be_used_leave_the_earlier_ones) {
  http_front front{*sys, gate, config()};
  copy(certificates::all().pem("elsewhere"), files.file("c.pem"));
  EXPECT_TRUE(eventually([&] {
    EXPECT_EQ(name_shown(front), "127.0.0.1");
    return !front.tls_problem().empty();
  }));
  EXPECT_TRUE(front.tls_problem().starts_with("key: "));
  std::filesystem::remove(files.file("c.pem"));
  EXPECT_TRUE(eventually([&] {
    EXPECT_EQ(name_shown(front), "127.0.0.1");
    return front.tls_problem().starts_with("certificate: ");
  }));
  use("elsewhere");
  EXPECT_TRUE(eventually([&] { return name_shown(front) == "elsewhere"; }));
  EXPECT_EQ(front.tls_problem(), "");
}

TEST_F(tls_files_test, are_checked_with_the_settings) {
  auto problems_with = [](const http_front_config& c) {
    return kinds_and_keys(problems_of(c));
  };
  using texts = std::vector<std::string>;
  EXPECT_EQ(problems_with(config()), texts{});
  auto c = config();
  c.key.clear();
  EXPECT_EQ(problems_with(c), (texts{"relation key"}));
  c = config();
  c.certificate.clear();
  EXPECT_EQ(problems_with(c), (texts{"relation certificate"}));
  c = config();
  c.certificate = files.file("none");
  EXPECT_EQ(problems_with(c), (texts{"range certificate"}));
  c = config();
  c.key = certificates::all().key("elsewhere");
  EXPECT_EQ(problems_with(c), (texts{"range key"}));
  c = config();
  c.key = files.file("rsa.key");
  write_rsa_key(c.key);
  EXPECT_EQ(problems_with(c), (texts{"range key"}));
  c = config();
  c.client_ca_file = c.key;
  EXPECT_EQ(problems_with(c), (texts{"range client_ca_file"}));
  c = {.client_ca_file = files.file("c.pem")};
  EXPECT_EQ(problems_with(c), (texts{"relation client_ca_file"}));
  c = config();
  c.handshake_timeout = 0ms;
  EXPECT_EQ(problems_with(c), (texts{"range handshake_timeout"}));
  EXPECT_THROW((http_front{*sys, gate, {.certificate = "/no/such"}}),
               config_error);
}

} // namespace
} // namespace caisson::test
