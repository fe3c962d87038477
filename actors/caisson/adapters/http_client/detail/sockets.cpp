#include <caisson/adapters/http_client/detail/sockets.hpp>

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace caisson::detail {

namespace {

// Negative if it has none yet.
int local_port_of(int fd) {
  sockaddr_storage where{};
  socklen_t size = sizeof where;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&where), &size) != 0)
    return -1;
  if (where.ss_family == AF_INET)
    return ntohs(reinterpret_cast<const sockaddr_in&>(where).sin_port);
  if (where.ss_family == AF_INET6)
    return ntohs(reinterpret_cast<const sockaddr_in6&>(where).sin6_port);
  return -1;
}

} // namespace

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
  auto& me = *static_cast<http_sockets*>(self);
  std::erase(me.new_, fd);
  if (auto known = me.ports_.extract(fd); !known.empty())
    if (auto i = me.by_port_.find(known.mapped());
        i != me.by_port_.end() && i->second == fd)
      me.by_port_.erase(i);
  return ::close(fd);
}

bool http_sockets::has_input(int port) {
  pollfd x{find(port), POLLIN, 0};
  return x.fd >= 0 && ::poll(&x, 1, 0) != 0;
}

void http_sockets::shut_down(int port) {
  if (auto fd = find(port); fd >= 0)
    ::shutdown(fd, SHUT_RDWR);
}

int http_sockets::find(int port) {
  for (auto fd : new_)
    if (auto own = local_port_of(fd); own > 0) {
      by_port_.insert_or_assign(own, fd);
      ports_.insert_or_assign(fd, own);
    }
  std::erase_if(new_, [this](int fd) { return ports_.count(fd) > 0; });
  auto i = by_port_.find(port);
  return i == by_port_.end() ? -1 : i->second;
}

} // namespace caisson::detail
