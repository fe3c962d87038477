// HTTPS servers on loopback, with certificates made for the tests.
#pragma once

#include <adapters/http/servers.hpp>

#include "../demos/examples/certificates.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <string>

namespace caisson::test {

/// Certificates in a directory; made once, as that takes a while.
struct certificates {
  certificates() {
    demo::make_authority(files);
    demo::make_authority(files, "stranger");
    for (const auto* name : {"127.0.0.1", "elsewhere", "client"})
      demo::make_certificate(files, name);
    demo::detail::openssl(
      files, "x509 -req -days -1 -in 127.0.0.1.request -CA authority.pem -CAkey"
             " authority.key -CAcreateserial -out expired.pem");
  }

  static const certificates& all() {
    static const certificates x;
    return x;
  }

  [[nodiscard]] std::string pem(const std::string& name) const {
    return files.file(name + ".pem");
  }
  [[nodiscard]] std::string key(const std::string& name) const {
    return files.file(name + ".key");
  }

  demo::scratch_directory files;
};

/// cpp-httplib's server with TLS.
class tls_server {
public:
  using handlers = std::function<void(httplib::Server&)>;

  struct how {
    std::string certificate = "127.0.0.1";
    std::string key = "127.0.0.1";
    /// The authority of clients; empty: they need no certificate.
    std::string clients_from = {};
    int max_version = TLS1_3_VERSION;
  };

  explicit tls_server(const handlers& set, const how& x)
    : server_([&x](SSL_CTX& ctx) {
        const auto& all = certificates::all();
        SSL_CTX_set_max_proto_version(&ctx, x.max_version);
        auto ok = SSL_CTX_use_certificate_chain_file(
                    &ctx, all.pem(x.certificate).c_str())
                    == 1
                  && SSL_CTX_use_PrivateKey_file(&ctx, all.key(x.key).c_str(),
                                                 SSL_FILETYPE_PEM)
                       == 1;
        if (ok && !x.clients_from.empty()) {
          auto file = all.pem(x.clients_from);
          ok = SSL_CTX_load_verify_locations(&ctx, file.c_str(), nullptr) == 1;
          SSL_CTX_set_verify(
            &ctx, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
        }
        return ok;
      }) {
    set(server_);
    server_.set_keep_alive_timeout(1);
    port_ = server_.bind_to_any_port("127.0.0.1");
    thread_ = std::thread{[this] { server_.listen_after_bind(); }};
    while (!server_.is_running())
      std::this_thread::yield();
  }

  explicit tls_server(const handlers& set) : tls_server(set, how{}) {}

  ~tls_server() {
    server_.stop();
    thread_.join();
  }

  tls_server(const tls_server&) = delete;
  tls_server& operator=(const tls_server&) = delete;

  [[nodiscard]] int port() const { return port_; }
  [[nodiscard]] std::string url() const {
    return "https://127.0.0.1:" + std::to_string(port_);
  }

private:
  httplib::SSLServer server_;
  int port_ = 0;
  std::thread thread_;
};

/// A worker's settings for it.
inline http_client_config trusting(const std::string& url) {
  return {.url = url, .ca_file = certificates::all().pem("authority")};
}

} // namespace caisson::test
