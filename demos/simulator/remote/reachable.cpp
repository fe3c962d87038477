#include <simulator/remote/reachable.hpp>

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <system_error>

namespace caisson::sim {

namespace {

std::string text_of_errno(int number) {
  return std::generic_category().message(number);
}

std::string why_not_connected(const addrinfo& to,
                              std::chrono::milliseconds patience) {
  auto fd = socket(to.ai_family, to.ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC,
                   0);
  if (fd == -1)
    return text_of_errno(errno);
  auto error = connect(fd, to.ai_addr, to.ai_addrlen) == 0 ? 0 : errno;
  if (error == EINPROGRESS) {
    pollfd event{fd, POLLOUT, 0};
    error = ETIMEDOUT;
    socklen_t size = sizeof error;
    if (poll(&event, 1, static_cast<int>(patience.count())) == 1)
      getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
  }
  close(fd);
  return error == 0 ? std::string{} : text_of_errno(error);
}

} // namespace

std::string why_unreachable(const worker_address& a,
                            std::chrono::milliseconds patience) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  auto port = std::to_string(a.port);
  if (auto n = getaddrinfo(a.host.c_str(), port.c_str(), &hints, &found);
      n != 0)
    return gai_strerror(n);
  std::unique_ptr<addrinfo, void (*)(addrinfo*)> all{found, freeaddrinfo};
  std::string why = "the address is unknown";
  for (auto i = found; i; i = i->ai_next) {
    why = why_not_connected(*i, patience);
    if (why.empty())
      break;
  }
  return why;
}

} // namespace caisson::sim
