// A socket as OpenSSL uses it: without waiting, without SIGPIPE, and with a
// limit for what is read at once. For the libraries that link OpenSSL.
#pragma once

#include <openssl/bio.h>
#include <openssl/ssl.h>

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <memory>

namespace caisson::detail {

struct free_tls_session {
  void operator()(SSL* x) const noexcept { SSL_free(x); }
};

using tls_session = std::unique_ptr<SSL, free_tls_session>;

/// How many bytes OpenSSL reads in one attempt at most. It reads on as long as
/// something comes that is no data, and the other side can send that for ever.
inline constexpr std::size_t most_per_tls_attempt = 128 << 10;

/// What a session reads from and writes to; must outlive it.
struct tls_socket {
  int fd = -1;
  /// How much may still be read; to be set before each attempt.
  std::size_t left = 0;
};

namespace tls_socket_bio {

inline tls_socket& socket_of(BIO* x) {
  return *static_cast<tls_socket*>(BIO_get_data(x));
}

inline bool is_passing(int error) {
  return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

inline int write(BIO* x, const char* bytes, int size) {
  BIO_clear_retry_flags(x);
  auto n = ::send(socket_of(x).fd, bytes, static_cast<std::size_t>(size),
                  MSG_DONTWAIT | MSG_NOSIGNAL);
  if (n < 0 && is_passing(errno))
    BIO_set_retry_write(x);
  return static_cast<int>(n);
}

inline int read(BIO* x, char* bytes, int size) {
  BIO_clear_retry_flags(x);
  auto& from = socket_of(x);
  auto most = std::min(static_cast<std::size_t>(size), from.left);
  if (most == 0) {
    BIO_set_retry_read(x);
    return -1;
  }
  auto n = ::recv(from.fd, bytes, most, MSG_DONTWAIT);
  if (n > 0)
    from.left -= static_cast<std::size_t>(n);
  if (n < 0 && is_passing(errno))
    BIO_set_retry_read(x);
  return static_cast<int>(n);
}

inline long control(BIO*, int what, long, void*) {
  return what == BIO_CTRL_FLUSH ? 1 : 0;
}

// Never freed, as OpenSSL's own ones.
inline const BIO_METHOD* method() {
  static const BIO_METHOD* const all = [] {
    auto* x = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK,
                           "caisson socket");
    if (x) {
      BIO_meth_set_write(x, &write);
      BIO_meth_set_read(x, &read);
      BIO_meth_set_ctrl(x, &control);
    }
    return x;
  }();
  return all;
}

} // namespace tls_socket_bio

/// Lets the session use the socket. Returns whether there was memory for it.
[[nodiscard]] inline bool use_tls_socket(SSL& session, tls_socket& socket) {
  const auto* method = tls_socket_bio::method();
  auto* bio = method ? BIO_new(method) : nullptr;
  if (!bio)
    return false;
  BIO_set_data(bio, &socket);
  BIO_set_init(bio, 1);
  SSL_set_bio(&session, bio, bio);
  return true;
}

} // namespace caisson::detail
