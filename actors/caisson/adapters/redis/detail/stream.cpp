#include <caisson/adapters/redis/detail/stream.hpp>

#include <caisson/adapters/detail/tls_context.hpp>
#include <caisson/adapters/detail/tls_socket.hpp>

#include <fmt/format.h>
#include <openssl/x509v3.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <utility>

namespace caisson::detail {

namespace {

using step = redis_stream::step;

constexpr const char* closed_text = "the server closed the connection";

bool is_passing(int error) {
  return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

// -- names and errors ---------------------------------------------------------

// What the certificate must be for. An address is not sent as a name.
bool expect_host(SSL* ssl, std::string host, bool verify) {
  unsigned char address[sizeof(in6_addr)];
  for (auto [family, size] : {std::pair{AF_INET, sizeof(in_addr)},
                              std::pair{AF_INET6, sizeof(in6_addr)}})
    if (::inet_pton(family, host.c_str(), address) == 1)
      return !verify
             || X509_VERIFY_PARAM_set1_ip(SSL_get0_param(ssl), address, size)
                  == 1;
  while (host.ends_with('.'))
    host.pop_back();
  if (host.empty() || SSL_set_tlsext_host_name(ssl, host.c_str()) != 1)
    return false;
  SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  return !verify || SSL_set1_host(ssl, host.c_str()) == 1;
}

std::string handshake_problem(const SSL* ssl, const std::string& why) {
  if (auto x = SSL_get_verify_result(ssl);
      x != X509_V_OK && SSL_get_verify_mode(ssl) != SSL_VERIFY_NONE)
    return fmt::format(
      "the server's certificate was refused: if it is the right server, "
      "`ca_file` must have the authority of its certificate, and `host` must "
      "be a name in it ({})",
      X509_verify_cert_error_string(x));
  return fmt::format("the TLS handshake failed: the server must speak TLS 1.2 "
                     "or later at this port, and may require a "
                     "`client_certificate` ({})",
                     why);
}

} // namespace

// -- TLS ----------------------------------------------------------------------

struct redis_stream::tls {
  // What came of a function of OpenSSL that returned `n`.
  step step_of(int n) {
    const auto error = errno;
    switch (SSL_get_error(ssl.get(), n)) {
      case SSL_ERROR_NONE:
        return {.size = static_cast<std::size_t>(n)};
      case SSL_ERROR_WANT_READ:
        return {.events = POLLIN};
      case SSL_ERROR_WANT_WRITE:
        return {.events = POLLOUT};
      case SSL_ERROR_ZERO_RETURN:
        usable = false;
        return {.problem = closed_text};
      case SSL_ERROR_SYSCALL:
        usable = false;
        ERR_clear_error();
        return {.problem = error != 0 ? std::strerror(error) : closed_text};
      default:
        usable = false;
        return {.problem = take_tls_error()};
    }
  }

  template <class F>
  step attempt(F f) {
    if (!usable)
      return {.problem = closed_text};
    socket.left = most_per_tls_attempt;
    ERR_clear_error();
    errno = 0;
    return step_of(f(ssl.get()));
  }

  tls_socket socket;
  tls_session ssl;
  bool usable = true;
};

redis_stream::redis_stream() = default;

redis_stream::~redis_stream() {
  close();
}

void redis_stream::open(int fd) noexcept {
  tls_.reset();
  fd_ = fd;
}

std::string redis_stream::start_tls(const tls_settings& x,
                                    const std::string& host) {
  tls_problem why;
  auto context = make_tls_context(x, why);
  if (!context)
    return fmt::format("`{}`: {}", why.setting, why.text);
  auto session = std::make_unique<tls>();
  session->socket.fd = fd_;
  session->ssl.reset(SSL_new(context.get()));
  if (!session->ssl || !use_tls_socket(*session->ssl, session->socket))
    return "OpenSSL has no memory";
  if (!expect_host(session->ssl.get(), host, x.verify_server))
    return "`host` is not a name that a certificate can have ("
           + take_tls_error() + ")";
  tls_ = std::move(session);
  return {};
}

redis_stream::step redis_stream::handshake() {
  auto x = tls_->attempt([](SSL* ssl) { return SSL_connect(ssl); });
  auto* ssl = tls_->ssl.get();
  if (x.size == 0 && x.events == 0)
    x.problem = handshake_problem(ssl, x.problem);
  // Some ciphers, which a configuration of OpenSSL can allow, need no
  // certificate, and OpenSSL verifies only what it gets.
  if (x.size > 0 && SSL_get_verify_mode(ssl) != SSL_VERIFY_NONE
      && SSL_get_peer_cert_chain(ssl) == nullptr)
    return {.problem = "the server has shown no certificate"};
  return x;
}

// -- bytes --------------------------------------------------------------------

redis_stream::step redis_stream::write(const char* bytes, std::size_t size) {
  if (tls_)
    return tls_->attempt([&](SSL* ssl) {
      auto most = std::min<std::size_t>(size, INT_MAX);
      return SSL_write(ssl, bytes, static_cast<int>(most));
    });
  auto n = ::send(fd_, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (n > 0)
    return {.size = static_cast<std::size_t>(n)};
  if (n == 0 || is_passing(errno))
    return {.events = POLLOUT};
  return {.problem = std::strerror(errno)};
}

redis_stream::step redis_stream::read(char* bytes, std::size_t size) {
  if (tls_)
    return tls_->attempt([&](SSL* ssl) {
      auto most = std::min<std::size_t>(size, INT_MAX);
      return SSL_read(ssl, bytes, static_cast<int>(most));
    });
  auto n = ::recv(fd_, bytes, size, MSG_DONTWAIT);
  if (n > 0)
    return {.size = static_cast<std::size_t>(n)};
  if (n < 0 && is_passing(errno))
    return {.events = POLLIN};
  return {.problem = n == 0 ? closed_text : std::strerror(errno)};
}

bool redis_stream::has_buffered() const noexcept {
  return tls_ && SSL_pending(tls_->ssl.get()) > 0;
}

bool redis_stream::is_quiet() {
  pollfd x{fd_, POLLIN, 0};
  auto came = ::poll(&x, 1, 0) != 0;
  if (!tls_)
    return !came;
  if (!came)
    return !has_buffered();
  char first = 0;
  auto next = tls_->attempt([&](SSL* ssl) { return SSL_peek(ssl, &first, 1); });
  // A part of what is not expected is as bad as all of it.
  return next.events == POLLIN && SSL_has_pending(tls_->ssl.get()) == 0;
}

void redis_stream::close() noexcept {
  if (tls_ && tls_->usable && SSL_is_init_finished(tls_->ssl.get()) == 1) {
    SSL_shutdown(tls_->ssl.get());
    ERR_clear_error();
  }
  tls_.reset();
  fd_ = -1;
}

} // namespace caisson::detail
