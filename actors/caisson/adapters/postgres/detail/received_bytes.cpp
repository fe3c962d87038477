#include <caisson/adapters/postgres/detail/received_bytes.hpp>

#include <linux/tcp.h>
#include <netinet/in.h>
#include <openssl/bio.h>
#include <openssl/ssl.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cstddef>

namespace caisson::detail {

namespace {

SSL* tls_of(PGconn& x) {
  return static_cast<SSL*>(PQsslStruct(&x, "OpenSSL"));
}

// Nothing for other sockets, and with kernels before 4.1.
std::optional<std::int64_t> bytes_by_tcp(int fd) {
  tcp_info x{};
  socklen_t size = sizeof x;
  constexpr auto end = offsetof(tcp_info, tcpi_bytes_received)
                       + sizeof x.tcpi_bytes_received;
  if (fd < 0 || ::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &x, &size) != 0
      || size < end)
    return std::nullopt;
  return static_cast<std::int64_t>(x.tcpi_bytes_received);
}

} // namespace

std::optional<std::int64_t> received_bytes(PGconn& x) {
  if (auto* ssl = tls_of(x))
    return static_cast<std::int64_t>(BIO_number_read(SSL_get_rbio(ssl)));
  return bytes_by_tcp(PQsocket(&x));
}

std::int64_t waiting_bytes(const PGconn& x) {
  auto n = 0;
  auto fd = PQsocket(&x);
  return fd >= 0 && ::ioctl(fd, FIONREAD, &n) == 0 ? n : 0;
}

bool has_buffered_bytes(PGconn& x) {
  auto* ssl = tls_of(x);
  return ssl && SSL_pending(ssl) > 0;
}

} // namespace caisson::detail
