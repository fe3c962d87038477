// Certificates and keys for tests of TLS, in files.
#pragma once

#include <caisson/gate/worker.hpp>
#include <caisson/settings/settings.hpp>

#include "../demos/examples/certificates.hpp"

#include <exception>
#include <fstream>
#include <string>
#include <utility>

namespace caisson::test {

/// Made once, as that takes a while. `server` is for 127.0.0.1 and localhost.
class tls_files {
public:
  static const tls_files& all() {
    static const tls_files x;
    return x;
  }

  [[nodiscard]] std::string pem(const std::string& name) const {
    return directory_.file(name + ".pem");
  }
  [[nodiscard]] std::string key(const std::string& name) const {
    return directory_.file(name + ".key");
  }
  /// A file with this text.
  [[nodiscard]] std::string text(const std::string& name,
                                 const std::string& content) const {
    std::ofstream{directory_.file(name)} << content;
    return directory_.file(name);
  }

private:
  tls_files() {
    demo::make_authority(directory_);
    demo::make_authority(directory_, "stranger");
    demo::make_certificate(directory_, "client");
    demo::make_certificate(directory_, "intruder", "stranger");
    sign("server", "IP:127.0.0.1,DNS:localhost", 2);
    sign("elsewhere", "IP:127.0.0.2,DNS:elsewhere", 2);
    sign("expired", "IP:127.0.0.1,DNS:localhost", -1);
    demo::detail::openssl(directory_,
                          "pkey -in client.key -aes256 -passout pass:secret "
                          "-out locked.key");
  }

  void sign(const std::string& name, const std::string& names, int days) {
    auto file = text(name + ".names", "subjectAltName=" + names + "\n");
    demo::detail::openssl(directory_, "req" + (demo::detail::new_key + name)
                                        + " -keyout " + name + ".key -out "
                                        + name + ".request");
    demo::detail::openssl(directory_, "x509 -req -days " + std::to_string(days)
                                        + " -in " + name
                                        + ".request -CA authority.pem -CAkey "
                                          "authority.key -CAcreateserial "
                                          "-extfile "
                                        + file + " -out " + name + ".pem");
  }

  demo::scratch_directory directory_;
};

/// These settings of a worker, for servers with a certificate of `authority`.
template <class Config>
Config trusting(Config c) {
  c.tls = true;
  c.ca_file = tls_files::all().pem("authority");
  return c;
}

/// The same, with a certificate of its own.
template <class Config>
Config certified(Config c, const std::string& name) {
  c = trusting(std::move(c));
  c.client_certificate = tls_files::all().pem(name);
  c.client_key = tls_files::all().key(name);
  return c;
}

/// The settings that are wrong, in order.
template <class Config>
std::string wrong_settings_of(const Config& c) {
  std::string all;
  for (const auto& x : problems_of(c))
    all += (all.empty() ? "" : " ") + to_text(x.key);
  return all;
}

/// What is said if the worker cannot be made; empty if it can, and then it has
/// ended again.
inline std::string refusal_of(caf::actor_system& sys, const worker& w) {
  try {
    auto worker = w.factory()(sys);
    if (!worker)
      return "no worker";
    caf::anon_send_exit(*worker, caf::exit_reason::user_shutdown);
    return {};
  } catch (const std::exception& e) {
    return e.what();
  }
}

} // namespace caisson::test
