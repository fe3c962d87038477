#include <caisson/adapters/http/detail/connection.hpp>

#include <fmt/format.h>

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
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

bool http_connection::read() {
  char part[16'384];
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

bool http_connection::write() {
  while (!all_written()) {
    std::string_view left = out;
    auto at = written;
    if (at >= out.size()) {
      left = *shared;
      at -= out.size();
    }
    left.remove_prefix(at);
    auto n = ::send(fd.get(), left.data(), left.size(), MSG_NOSIGNAL);
    if (n < 0)
      return errno == EAGAIN || errno == EINTR;
    written += static_cast<std::size_t>(n);
  }
  return true;
}

} // namespace caisson::detail
