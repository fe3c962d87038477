// Clients of HTTPS that do what a test wants, also what no real one would.
#pragma once

#include <adapters/http/tls_servers.hpp>

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <memory>
#include <string>
#include <utility>

namespace caisson::test {

/// The client's side of TLS. Blocks.
class tls_client {
public:
  struct how {
    /// Whose certificate it shows; empty: none.
    std::string identity = {};
    int max_version = TLS1_3_VERSION;
    std::string ciphers = {};
  };

  explicit tls_client(std::uint16_t port) : tls_client(port, how{}) {}

  tls_client(std::uint16_t port, const how& x)
    : socket_(raw_socket::connected_to(port)),
      context_(SSL_CTX_new(TLS_client_method())) {
    const auto& all = certificates::all();
    auto* c = context_.get();
    SSL_CTX_set_max_proto_version(c, x.max_version);
    SSL_CTX_set_min_proto_version(c, TLS1_VERSION);
    if (x.max_version < TLS1_2_VERSION)
      SSL_CTX_set_cipher_list(c, "DEFAULT:@SECLEVEL=0");
    SSL_CTX_set_verify(c, SSL_VERIFY_PEER, nullptr);
    SSL_CTX_load_verify_locations(c, all.pem("authority").c_str(), nullptr);
    if (!x.identity.empty()) {
      SSL_CTX_use_certificate_chain_file(c, all.pem(x.identity).c_str());
      SSL_CTX_use_PrivateKey_file(c, all.key(x.identity).c_str(),
                                  SSL_FILETYPE_PEM);
    }
    ssl_.reset(SSL_new(c));
    SSL_set_fd(ssl_.get(), socket_.fd());
    works_ = SSL_connect(ssl_.get()) == 1;
    ERR_clear_error();
  }

  /// Whether there was a handshake, as far as the client knows.
  [[nodiscard]] bool works() const { return works_; }

  [[nodiscard]] SSL* ssl() const { return ssl_.get(); }
  [[nodiscard]] const raw_socket& socket() const { return socket_; }

  bool write(const std::string& bytes) {
    auto n = SSL_write(ssl_.get(), bytes.data(),
                       static_cast<int>(bytes.size()));
    ERR_clear_error();
    return n == static_cast<int>(bytes.size());
  }

  /// What has come; empty at the end.
  std::string read() {
    std::string bytes(1 << 16, '\0');
    auto n = SSL_read(ssl_.get(), bytes.data(), static_cast<int>(bytes.size()));
    ended_well_ = n <= 0
                  && SSL_get_error(ssl_.get(), n) == SSL_ERROR_ZERO_RETURN;
    ERR_clear_error();
    bytes.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
    return bytes;
  }

  /// Until the other side ends.
  std::string read_all() {
    std::string all;
    for (auto part = read(); !part.empty(); part = read())
      all += part;
    return all;
  }

  /// Whether the other side has said that it ends (close_notify).
  [[nodiscard]] bool ended_well() const { return ended_well_; }

private:
  struct free_all {
    void operator()(SSL* x) const { SSL_free(x); }
    void operator()(SSL_CTX* x) const { SSL_CTX_free(x); }
  };

  raw_socket socket_;
  std::unique_ptr<SSL_CTX, free_all> context_;
  std::unique_ptr<SSL, free_all> ssl_;
  bool works_ = false;
  bool ended_well_ = false;
};

} // namespace caisson::test
