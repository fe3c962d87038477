// Makes the context of OpenSSL that a worker's TLS settings describe. For the
// libraries of those workers that link OpenSSL.
#pragma once

#include <caisson/adapters/detail/tls_settings.hpp>

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <memory>
#include <string>

namespace caisson::detail {

struct free_tls_context {
  void operator()(SSL_CTX* x) const noexcept { SSL_CTX_free(x); }
};

using tls_context = std::unique_ptr<SSL_CTX, free_tls_context>;

/// Why there is no context: the setting that is at fault, and a text.
struct tls_problem {
  const char* setting = "tls";
  std::string text = {};
};

/// What OpenSSL says about the last error of this thread; takes its errors out
/// of the queue.
inline std::string take_tls_error() {
  const auto* reason = ERR_reason_error_string(ERR_peek_last_error());
  std::string text = reason ? reason : "unknown error";
  ERR_clear_error();
  return text;
}

/// Lets OpenSSL be until the process ends: a thread that is left in it then
/// must not find it taken apart. Only the first use of OpenSSL can say so.
inline void keep_tls_library() {
  OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, nullptr);
}

/// Adds the certificates that are trusted.
inline bool trust(SSL_CTX& to, const tls_settings& x, tls_problem& why) {
  // Those between a root and the server are trusted, too, if the file has them.
  X509_STORE_set_flags(SSL_CTX_get_cert_store(&to), X509_V_FLAG_PARTIAL_CHAIN);
  auto done = x.ca_file.empty() ? SSL_CTX_set_default_verify_paths(&to)
                                : SSL_CTX_load_verify_locations(
                                  &to, x.ca_file.c_str(), nullptr);
  if (done == 1)
    return true;
  why = {"ca_file", "no certificate could be read from it, name a PEM file ("
                      + take_tls_error() + ")"};
  return false;
}

/// The files by which one side shows who it is, and the settings that name
/// them.
struct tls_identity {
  const std::string& certificate;
  const std::string& key;
  const char* certificate_setting;
  const char* key_setting;
};

/// Adds the certificate and its key.
inline bool identify(SSL_CTX& to, const tls_identity& x, tls_problem& why) {
  // Otherwise OpenSSL would ask for the password at the terminal.
  SSL_CTX_set_default_passwd_cb(&to, [](char*, int, int, void*) { return -1; });
  if (SSL_CTX_use_certificate_chain_file(&to, x.certificate.c_str()) != 1) {
    why = {x.certificate_setting,
           "no certificate could be read from it, name a PEM file ("
             + take_tls_error() + ")"};
    return false;
  }
  // Loading a key of another type than the certificate is no error to OpenSSL.
  if (SSL_CTX_use_PrivateKey_file(&to, x.key.c_str(), SSL_FILETYPE_PEM) != 1
      || SSL_CTX_check_private_key(&to) != 1) {
    why = {x.key_setting, "it must be a PEM file without a password, with the "
                          "key of `"
                            + std::string{x.certificate_setting} + "` ("
                            + take_tls_error() + ")"};
    return false;
  }
  return true;
}

/// Settings that both sides of a connection have: TLS 1.2 or later, and nothing
/// that waits or surprises. Returns whether it could be done.
inline bool set_up_tls(SSL_CTX& to) {
  SSL_CTX_set_options(&to, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_mode(&to, SSL_MODE_ENABLE_PARTIAL_WRITE
                          | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  return SSL_CTX_set_min_proto_version(&to, TLS1_2_VERSION) == 1;
}

/// Reads the files. Returns null if something is wrong, and `why` says what.
inline tls_context make_tls_context(const tls_settings& x, tls_problem& why) {
  keep_tls_library();
  ERR_clear_error();
  tls_context result{SSL_CTX_new(TLS_client_method())};
  if (!result || !set_up_tls(*result)) {
    why = {"tls", "OpenSSL cannot be initialised (" + take_tls_error() + ")"};
    return nullptr;
  }
  SSL_CTX_set_verify(
    result.get(), x.verify_server ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
  if (x.verify_server && !trust(*result, x, why))
    return nullptr;
  const tls_identity own{x.client_certificate, x.client_key,
                         "client_certificate", "client_key"};
  if (!x.client_certificate.empty() && !identify(*result, own, why))
    return nullptr;
  return result;
}

/// Appends what is wrong with the settings, the files and what is in them.
inline void check_tls_files(const tls_settings& x, const setting_path& path,
                            problems& out) {
  if (!check_tls(x, path, out) || !x.on)
    return;
  tls_problem why;
  if (!make_tls_context(x, why))
    out.push_back({problem_kind::range, path / why.setting, why.text});
}

} // namespace caisson::detail
