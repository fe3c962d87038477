// gRPC over TLS: who is trusted, and what is said if nobody is.
#include <adapters/grpc/servers.hpp>
#include <support/tls_files.hpp>

#include <fstream>
#include <sstream>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

std::string text_of(const std::string& file) {
  std::ostringstream out;
  out << std::ifstream{file}.rdbuf();
  return out.str();
}

// With a certificate of that name; clients need one of `clients_from`, unless
// that is empty.
grpc_server::credentials server_with(const std::string& name,
                                     const std::string& clients_from = {}) {
  const auto& all = tls_files::all();
  ::grpc::SslServerCredentialsOptions options{
    clients_from.empty()
      ? GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE
      : GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY};
  options.pem_key_cert_pairs.push_back(
    {text_of(all.key(name)), text_of(all.pem(name))});
  if (!clients_from.empty())
    options.pem_root_certs = text_of(all.pem(clients_from));
  return ::grpc::SslServerCredentials(options);
}

class grpc_tls_test : public grpc_test {
protected:
  answer ask_with(const grpc_client_config& c) {
    return ask(spawn_grpc_worker(*sys, c), price_of("tea").within(10s));
  }

  static grpc_client_config to(const grpc_server& x,
                               const std::string& host = "127.0.0.1") {
    return {.target = host + ":" + std::to_string(x.port())};
  }

  scripted_prices service;
};

TEST_F(grpc_tls_test, talks_to_a_server_with_a_valid_certificate) {
  grpc_server server{service, 0, server_with("server")};
  auto x = ask_with(trusting(to(server)));
  EXPECT_EQ(x.code(), 0) << x.failure() << transport_text_of(x.error);
  EXPECT_EQ(ask_with(trusting(to(server, "localhost"))).code(), 0);
}

TEST_F(grpc_tls_test, sends_nothing_to_a_server_that_cannot_be_trusted) {
  for (const auto* name : {"elsewhere", "expired"}) {
    grpc_server server{service, 0, server_with(name)};
    auto x = ask_with(trusting(to(server)));
    EXPECT_EQ(x.failure(), "not_connected") << name;
    EXPECT_NE(transport_text_of(x.error), "");
  }
  grpc_server server{service, 0, server_with("server")};
  auto c = trusting(to(server));
  c.ca_file = tls_files::all().pem("stranger");
  EXPECT_EQ(ask_with(c).failure(), "not_connected");
  // The system does not know the authority.
  c.ca_file = {};
  EXPECT_EQ(ask_with(c).failure(), "not_connected");
  // Without TLS there is nothing to talk about.
  EXPECT_EQ(ask_with(to(server)).failure(), "not_connected");
  EXPECT_EQ(service.served, 0);
}

TEST_F(grpc_tls_test, asks_no_certificate_of_anybody_if_configured_to) {
  grpc_server server{service, 0, server_with("elsewhere")};
  auto c = to(server);
  c.tls = true;
  c.verify_server = false;
  auto x = ask_with(c);
  EXPECT_EQ(x.code(), 0) << x.failure() << transport_text_of(x.error);
}

TEST_F(grpc_tls_test, shows_its_certificate_to_servers_that_want_one) {
  grpc_server server{service, 0, server_with("server", "authority")};
  EXPECT_EQ(ask_with(certified(to(server), "client")).code(), 0);
  for (const auto& c :
       {trusting(to(server)), certified(to(server), "intruder")}) {
    auto x = ask_with(c);
    // The handshake is over for the client before the server says no.
    EXPECT_TRUE(x.failure() == "not_connected" || x.code() == 14)
      << x.failure() << x.code();
  }
  EXPECT_EQ(service.served, 1);
}

TEST_F(grpc_tls_test, files_that_do_not_belong_together_are_no_connection) {
  grpc_server server{service, 0, server_with("server", "authority")};
  auto c = certified(to(server), "client");
  c.client_key = tls_files::all().key("server");
  auto x = ask_with(c);
  EXPECT_EQ(x.failure(), "not_connected");
  c = trusting(to(server));
  c.ca_file = tls_files::all().text("garbage.pem", "no certificate\n");
  EXPECT_EQ(ask_with(c).failure(), "not_connected");
  EXPECT_EQ(service.served, 0);
}

TEST_F(grpc_tls_test, does_not_talk_without_tls_to_a_server_with_it) {
  grpc_server plain{service};
  EXPECT_EQ(ask_with(trusting(to(plain))).failure(), "not_connected");
  EXPECT_EQ(service.served, 0);
}

} // namespace
} // namespace caisson::test
