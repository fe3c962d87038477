// A gate that is published by TLS: who has a certificate of the same authority
// can call it, and nobody else reaches anything.
#include "system/peer.hpp"
#include "system/sockets.hpp"

#ifdef CAISSON_TLS

#include "../demos/examples/certificates.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <map>
#include <memory>

namespace caisson::test {
namespace {

class tls : public testing::Test {
protected:
  // One authority for the server and its clients, and one of somebody else.
  static void SetUpTestSuite() {
    files = std::make_unique<demo::scratch_directory>();
    demo::make_authority(*files);
    demo::make_certificate(*files, "server");
    demo::make_certificate(*files, "client");
    demo::make_authority(*files, "stranger_authority");
    demo::make_certificate(*files, "stranger", "stranger_authority");
  }

  static void TearDownTestSuite() { files.reset(); }

  tls() : server("serve", "tls", files->name()), port(port_of(server)) {
    EXPECT_NE(port, 0);
    before = counted();
  }

  // Whoever has tried something in the meantime had no success.
  void TearDown() override { EXPECT_EQ(counted(), before); }

  static tls_files files_of(const std::string& name,
                            const std::string& authority = "authority") {
    return {files->file(name + ".pem"), files->file(name + ".key"),
            files->file(authority + ".pem")};
  }

  struct node {
    node(const std::string& name, const std::string& authority)
      : config(files_of(name, authority)), threads(config), system(config) {}
    struct two_threads {
      explicit two_threads(caf::actor_system_config& cfg) {
        use_two_threads(cfg);
      }
    };
    tls_network_config config;
    two_threads threads;
    caf::actor_system system;
  };

  // A node that connects with a certificate, or cannot.
  class customer {
  public:
    explicit customer(std::uint16_t to, const std::string& name = "client",
                      const std::string& authority = "authority")
      : node_(name, authority) {
      auto found = portable::connect_tls(node_.system, portable::loopback, to);
      if (!found)
        return;
      far_ = *found;
      near_ = spawn_gate(node_.system, worker{far_}.takes_calls(), stack{});
    }
    ~customer() {
      if (near_)
        stop_gate(near_);
    }
    [[nodiscard]] bool connected() const { return far_ != nullptr; }
    // By a gate, which is notified if the connection is cut.
    bool serves() {
      return connected() && inquirer{node_.system, near_}.serves();
    }
    [[nodiscard]] inquirer ask() { return {node_.system, far_}; }

  private:
    node node_;
    caf::actor far_;
    caf::actor near_;
  };

  // What the gate has counted, seen by a node that behaves. When one connection
  // fails, the OpenSSL module of CAF 0.17 can cut others: see docs/security.md.
  std::map<std::string, std::int64_t> counted() {
    for (auto i = 0; i < 20; ++i) {
      customer one{port};
      if (one.connected())
        return one.ask().look().metrics;
    }
    ADD_FAILURE() << "nobody is served";
    return {};
  }

  // Whether a server says anything to a client that is no node, and that shows
  // the certificate `name` if there is one.
  static bool is_heard_by_openssl(const std::string& name = {}) {
    demo::process talker{"serve", "tls", files->name()};
    auto shown = name.empty() ? ""
                              : fmt::format(" -cert {} -key {}",
                                            files->file(name + ".pem"),
                                            files->file(name + ".key"));
    auto line = fmt::format("timeout 60 openssl s_client -quiet -connect "
                            "127.0.0.1:{}{} </dev/null 2>/dev/null",
                            port_of(talker), shown);
    auto* out = ::popen(line.c_str(), "r");
    auto received = out && std::fgetc(out) != EOF;
    // The client goes when the server does.
    talker.kill();
    if (out)
      ::pclose(out);
    return received;
  }

  static std::unique_ptr<demo::scratch_directory> files;
  demo::process server;
  std::uint16_t port;
  std::map<std::string, std::int64_t> before;
};

std::unique_ptr<demo::scratch_directory> tls::files;

// What ends a node without TLS does not get as far.
TEST_F(tls, bytes_of_a_stranger_do_not_reach_the_node) {
  std::string handshake(32, '\0');
  handshake[0] = 1;
  for (auto i = 0; i < 20; ++i) {
    auto line = raw_socket::connected_to(port);
    line.write(handshake);
    line.end_writing();
    while (!line.read().empty())
      continue;
  }
  EXPECT_TRUE(customer{port}.connected() || customer{port}.connected());
}

TEST_F(tls, a_node_with_a_certificate_can_call_and_cannot_operate) {
  {
    customer one{port};
    EXPECT_TRUE(one.serves());
    EXPECT_EQ(one.ask().error_of(command{operator_command::force_open}),
              errc::invalid_config);
    EXPECT_EQ(one.ask().look().layers.at(0).state, "closed");
    EXPECT_TRUE(one.serves());
  }
  before["calls"] += 2;
  before["attempts"] += 2;
  before["succeeded"] += 2;
}

TEST_F(tls, a_node_without_a_certificate_reaches_nothing) {
  struct nameless : network_config {
    nameless() { load<caf::openssl::manager>(); }
  } config;
  caf::actor_system system{config};
  EXPECT_FALSE(caf::openssl::remote_actor(system, portable::loopback, port));
}

TEST_F(tls, a_client_without_a_certificate_gets_no_answer) {
  EXPECT_FALSE(is_heard_by_openssl());
  EXPECT_FALSE(is_heard_by_openssl("stranger"));
  // It would, with one.
  EXPECT_TRUE(is_heard_by_openssl("client"));
}

TEST_F(tls, a_node_with_a_certificate_of_another_authority_reaches_nothing) {
  EXPECT_FALSE((customer{port, "stranger"}.connected()));
}

TEST_F(tls, a_node_does_not_talk_to_a_server_of_another_authority) {
  EXPECT_FALSE((customer{port, "client", "stranger_authority"}.connected()));
}

TEST_F(tls, a_plain_node_reaches_nothing) {
  network_config config;
  caf::actor_system system{config};
  EXPECT_FALSE(portable::connect(system, portable::loopback, port));
}

TEST_F(tls, plain_bytes_and_silence_keep_nobody_away) {
  std::vector<raw_socket> silent;
  for (auto i = 0; i < 50; ++i)
    silent.push_back(raw_socket::connected_to(port));
  for (auto i = 0; i < 50; ++i)
    raw_socket::connected_to(port).write(std::string(100, 'x'));
}

// The length of the first message says that more comes.
TEST_F(tls, half_a_handshake_keeps_nobody_away) {
  const std::string hello{"\26\3\1\2\0\1\0\1\374\3\3", 11};
  std::vector<raw_socket> half;
  for (std::size_t i = 0; i < 100; ++i) {
    half.push_back(raw_socket::connected_to(port));
    half.back().write(hello.substr(0, 1 + i % hello.size()));
  }
  EXPECT_TRUE(customer{port}.serves());
  before["calls"] += 1;
  before["attempts"] += 1;
  before["succeeded"] += 1;
}

TEST_F(tls, a_node_with_a_certificate_does_not_talk_in_plain_text) {
  demo::process plain{"serve", "calls"};
  EXPECT_FALSE(customer{port_of(plain)}.connected());
}

TEST(tls_files, that_are_missing_are_reported_before_the_system_starts) {
  demo::scratch_directory files;
  demo::make_authority(files);
  try {
    tls_network_config config{
      {files.file("none.pem"), files.file("log"), {}, {}}};
    FAIL() << "accepted";
  } catch (const config_error& error) {
    ASSERT_EQ(error.all().size(), 3u);
    EXPECT_EQ(error.all()[0].key, "tls.certificate");
    EXPECT_EQ(error.all()[0].place, files.file("none.pem"));
    EXPECT_EQ(error.all()[1].key, "tls.key");
    EXPECT_EQ(error.all()[2].key, "tls.authority");
    EXPECT_EQ(error.all()[2].message, "no file is given");
  }
}

TEST(tls_files, are_needed_before_anything_is_published) {
  network_config config;
  caf::actor_system system{config};
  auto gate = spawn_gate(system, worker{}, stack{});
  EXPECT_EQ(portable::publish_tls(system, gate).error(), errc::invalid_config);
  EXPECT_EQ(portable::publish_control_tls(system, gate).error(),
            errc::invalid_config);
  EXPECT_EQ(portable::connect_tls(system, portable::loopback, 1).error(),
            errc::invalid_config);
  stop_gate(gate);
}

} // namespace
} // namespace caisson::test

#endif
