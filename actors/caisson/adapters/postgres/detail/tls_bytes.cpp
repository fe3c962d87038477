#include <caisson/adapters/postgres/detail/tls_bytes.hpp>

#include <openssl/bio.h>
#include <openssl/ssl.h>

namespace caisson::detail {

namespace {

SSL* tls_of(PGconn& x) {
  return static_cast<SSL*>(PQsslStruct(&x, "OpenSSL"));
}

} // namespace

std::optional<std::int64_t> bytes_by_tls(PGconn& x) {
  auto* ssl = tls_of(x);
  if (!ssl)
    return std::nullopt;
  return static_cast<std::int64_t>(BIO_number_read(SSL_get_rbio(ssl)));
}

bool has_buffered_bytes(PGconn& x) {
  auto* ssl = tls_of(x);
  return ssl && SSL_pending(ssl) > 0;
}

} // namespace caisson::detail
