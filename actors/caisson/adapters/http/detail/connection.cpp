#include <caisson/adapters/http/detail/connection.hpp>

#include <fmt/format.h>

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <system_error>

namespace caisson::detail {

namespace {

/// How many connections the system holds until they are accepted.
constexpr int backlog = 512;

/// How much of an answer is encrypted at a time.
constexpr std::size_t most_encrypted = 256 << 10;

using result = http_tls_step::result;

std::uint32_t awaited_by(result x) {
  return x == result::wants_read    ? std::uint32_t{EPOLLIN}
         : x == result::wants_write ? std::uint32_t{EPOLLOUT}
                                    : 0;
}

struct found_deleter {
  void operator()(addrinfo* x) const { ::freeaddrinfo(x); }
};

std::string bytes(const void* from, std::size_t n) {
  return {static_cast<const char*>(from), n};
}

std::string peer_of(const sockaddr_storage& x) {
  if (x.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(x);
    return bytes(&v4.sin_addr, 4);
  }
  if (x.ss_family != AF_INET6)
    return {};
  const auto& v6 = reinterpret_cast<const sockaddr_in6&>(x);
  return IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)
           ? bytes(&v6.sin6_addr.s6_addr[12], 4)
           : bytes(&v6.sin6_addr, 8);
}

// Negative, with `errno`, if there is none.
int listening_socket(const addrinfo& x) {
  auto fd = ::socket(x.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
                     0);
  int on = 1;
  if (fd >= 0 && ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0
      && ::bind(fd, x.ai_addr, x.ai_addrlen) == 0 && ::listen(fd, backlog) == 0)
    return fd;
  auto why = errno;
  if (fd >= 0)
    ::close(fd);
  errno = why;
  return -1;
}

std::string listening_problem(int code) {
  auto text = std::generic_category().message(code);
  if (code == EADDRINUSE)
    text += ": another program, or another server of this one, listens there";
  return text;
}

} // namespace

owned_fd::~owned_fd() {
  reset();
}

void owned_fd::reset() noexcept {
  if (fd_ >= 0)
    ::close(fd_);
  fd_ = -1;
}

int listen_at(const std::string& host, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  std::string why;
  if (auto code = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(),
                                &hints, &found);
      code != 0) {
    why = ::gai_strerror(code);
  } else {
    std::unique_ptr<addrinfo, found_deleter> all{found};
    for (auto* x = found; x; x = x->ai_next) {
      if (auto fd = listening_socket(*x); fd >= 0)
        return fd;
      why = listening_problem(errno);
    }
  }
  throw std::runtime_error{
    fmt::format("cannot listen on {} port {}: {}", host, port, why)};
}

std::uint16_t port_of(int fd) {
  sockaddr_storage x{};
  socklen_t size = sizeof x;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&x), &size) != 0)
    return 0;
  return ntohs(x.ss_family == AF_INET6
                 ? reinterpret_cast<const sockaddr_in6&>(x).sin6_port
                 : reinterpret_cast<const sockaddr_in&>(x).sin_port);
}

accepted_socket accept_at(int fd) {
  sockaddr_storage x{};
  socklen_t size = sizeof x;
  auto got = ::accept4(fd, reinterpret_cast<sockaddr*>(&x), &size,
                       SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (got < 0)
    return {-1, {}};
  int on = 1;
  ::setsockopt(got, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return {got, peer_of(x)};
}

// -- one connection -----------------------------------------------------------

http_tls_step::result http_connection::continue_handshake() {
  auto x = tls->handshake().what;
  awaits = awaited_by(x);
  return x;
}

bool http_connection::read() {
  // As large as a record of TLS: nothing that was decrypted is left in there.
  char part[16'384];
  // What nobody wants need not be decrypted.
  if (tls && phase != phase::lingering) {
    auto x = tls->read(part, sizeof part);
    awaits = awaited_by(x.what);
    in.append(part, x.size);
    return x.what != result::over;
  }
  auto n = ::recv(fd.get(), part, sizeof part, 0);
  if (n <= 0)
    return n < 0 && (errno == EAGAIN || errno == EINTR);
  if (phase == phase::lingering)
    lingered += static_cast<std::size_t>(n);
  else
    in.append(part, static_cast<std::size_t>(n));
  return true;
}

bool http_connection::has_input() const {
  char c = 0;
  return ::recv(fd.get(), &c, 1, MSG_PEEK) > 0;
}

void http_connection::parse() {
  in.erase(0, parser.feed(in));
}

bool http_connection::write_at_once(std::string_view text) {
  if (!tls) {
    [[maybe_unused]] auto n = ::send(fd.get(), text.data(), text.size(),
                                     MSG_NOSIGNAL);
    return true;
  }
  // What TLS has begun to write cannot be taken back.
  return tls->write(text.data(), text.size()).size == text.size();
}

void http_connection::end_writing() noexcept {
  if (tls)
    tls->close();
  ::shutdown(fd.get(), SHUT_WR);
}

bool http_connection::write() {
  const auto begun_at = written;
  while (!all_written()) {
    std::string_view left = out;
    auto at = written;
    if (at >= out.size()) {
      left = *shared;
      at -= out.size();
    }
    left.remove_prefix(at);
    if (tls) {
      if (written - begun_at >= most_encrypted)
        return true;
      auto x = tls->write(left.data(), std::min(left.size(), most_encrypted));
      awaits = awaited_by(x.what);
      written += x.size;
      if (x.what != result::done)
        return x.what != result::over;
      continue;
    }
    auto n = ::send(fd.get(), left.data(), left.size(), MSG_NOSIGNAL);
    if (n < 0)
      return errno == EAGAIN || errno == EINTR;
    written += static_cast<std::size_t>(n);
  }
  return true;
}

} // namespace caisson::detail
