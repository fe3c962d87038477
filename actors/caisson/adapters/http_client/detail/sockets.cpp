#include <caisson/adapters/http_client/detail/sockets.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fmt/format.h>

#include <optional>

namespace caisson::detail {

namespace {

using name_function = int (*)(int, sockaddr*, socklen_t*);

// Returns whether the socket has such an end yet.
bool read_end(int fd, name_function name_of, std::string& address, int& port) {
  sockaddr_storage where{};
  socklen_t size = sizeof where;
  if (name_of(fd, reinterpret_cast<sockaddr*>(&where), &size) != 0)
    return false;
  char text[INET6_ADDRSTRLEN] = {};
  const void* bytes = nullptr;
  if (where.ss_family == AF_INET) {
    const auto& x = reinterpret_cast<const sockaddr_in&>(where);
    bytes = &x.sin_addr;
    port = ntohs(x.sin_port);
  } else if (where.ss_family == AF_INET6) {
    const auto& x = reinterpret_cast<const sockaddr_in6&>(where);
    bytes = &x.sin6_addr;
    port = ntohs(x.sin6_port);
  }
  if (!bytes || !::inet_ntop(where.ss_family, bytes, text, sizeof text))
    return false;
  address = text;
  return true;
}

std::optional<std::string> ends_of(int fd) {
  connection_ends x;
  if (!read_end(fd, &::getsockname, x.local, x.local_port)
      || !read_end(fd, &::getpeername, x.remote, x.remote_port))
    return std::nullopt;
  return x.text();
}

} // namespace

std::string connection_ends::text() const {
  return fmt::format("{} {} {} {}", local, local_port, remote, remote_port);
}

curl_socket_t http_sockets::open(void* self, curlsocktype,
                                 curl_sockaddr* where) {
  auto fd = ::socket(where->family, where->socktype | SOCK_CLOEXEC,
                     where->protocol);
  if (fd < 0)
    return CURL_SOCKET_BAD;
  try {
    static_cast<http_sockets*>(self)->new_.push_back(fd);
  } catch (...) {
    ::close(fd);
    return CURL_SOCKET_BAD;
  }
  return fd;
}

int http_sockets::close(void* self, curl_socket_t fd) {
  auto& sockets = *static_cast<http_sockets*>(self);
  std::erase(sockets.new_, fd);
  if (auto known = sockets.ends_.extract(fd); !known.empty())
    if (auto i = sockets.sockets_.find(known.mapped());
        i != sockets.sockets_.end() && i->second == fd)
      sockets.sockets_.erase(i);
  return ::close(fd);
}

bool http_sockets::has_input(const connection_ends& x) {
  pollfd one{find(x), POLLIN, 0};
  return one.fd < 0 || ::poll(&one, 1, 0) != 0;
}

void http_sockets::shut_down(const connection_ends& x) {
  if (auto fd = find(x); fd >= 0)
    ::shutdown(fd, SHUT_RDWR);
}

int http_sockets::find(const connection_ends& x) {
  for (auto fd : new_)
    if (auto ends = ends_of(fd)) {
      sockets_.insert_or_assign(*ends, fd);
      ends_.insert_or_assign(fd, *std::move(ends));
    }
  std::erase_if(new_, [this](int fd) { return ends_.count(fd) > 0; });
  auto i = sockets_.find(x.text());
  return i == sockets_.end() ? -1 : i->second;
}

} // namespace caisson::detail
