// The server's side of TLS, for servers that say what a test wants.
#pragma once

#include <support/tls_files.hpp>
#include <system/sockets.hpp>

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <netinet/tcp.h>

#include <csignal>
#include <memory>
#include <stdexcept>
#include <string>

namespace caisson::test {

/// Blocks. Ends without a word if the connection does.
class tls_peer {
public:
  explicit tls_peer(const raw_socket& x, int version = TLS1_3_VERSION,
                    int tickets = 2)
    : context_(SSL_CTX_new(TLS_server_method()), SSL_CTX_free) {
    std::signal(SIGPIPE, SIG_IGN);
    // What is written is there at once, without waiting for the client.
    auto on = 1;
    ::setsockopt(x.fd(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    const auto& files = tls_files::all();
    SSL_CTX_set_max_proto_version(context_.get(), version);
    SSL_CTX_set_num_tickets(context_.get(), static_cast<std::size_t>(tickets));
    if (SSL_CTX_use_certificate_chain_file(context_.get(),
                                           files.pem("server").c_str())
          != 1
        || SSL_CTX_use_PrivateKey_file(
             context_.get(), files.key("server").c_str(), SSL_FILETYPE_PEM)
             != 1)
      throw std::runtime_error{"no certificate"};
    ssl_.reset(SSL_new(context_.get()));
    SSL_set_fd(ssl_.get(), x.fd());
    works_ = SSL_accept(ssl_.get()) == 1;
    ERR_clear_error();
  }

  /// Whether there was a handshake.
  [[nodiscard]] bool works() const { return works_; }

  /// What has come; empty at the end.
  std::string read() {
    std::string bytes(1 << 16, '\0');
    auto n = works_ ? SSL_read(ssl_.get(), bytes.data(),
                               static_cast<int>(bytes.size()))
                    : 0;
    ERR_clear_error();
    bytes.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
    return bytes;
  }

  /// In a record of its own, if it has at most 16 KiB. Returns whether it went.
  bool write(const std::string& bytes) {
    works_ = works_
             && SSL_write(ssl_.get(), bytes.data(),
                          static_cast<int>(bytes.size()))
                  > 0;
    ERR_clear_error();
    return works_;
  }

  /// Sends what is no data and asks for no answer (TLS 1.3).
  bool change_keys() {
    return works_
           && SSL_key_update(ssl_.get(), SSL_KEY_UPDATE_NOT_REQUESTED) == 1
           && SSL_do_handshake(ssl_.get()) == 1;
  }

private:
  struct free_ssl {
    void operator()(SSL* x) const { SSL_free(x); }
  };

  std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> context_;
  std::unique_ptr<SSL, free_ssl> ssl_;
  bool works_ = false;
};

} // namespace caisson::test
