#include <ctl/stream.hpp>

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <memory>

namespace caisson::ctl {

namespace {

struct address_deleter {
  void operator()(addrinfo* x) const { ::freeaddrinfo(x); }
};

} // namespace

void http_stream::begin(time_point until) noexcept {
  until_ = until;
  why_ = failure::none;
  written_ = 0;
}

bool http_stream::connect(const std::string& host, std::uint16_t port,
                          duration patience) {
  close();
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found)
      != 0)
    return fail(failure::not_connected);
  std::unique_ptr<addrinfo, address_deleter> all{found};
  for (auto* x = found; x; x = x->ai_next) {
    fd_ = ::socket(x->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd_ < 0)
      continue;
    int on = 1;
    ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    auto until = std::min(until_, std::chrono::steady_clock::now() + patience);
    auto failure = ::connect(fd_, x->ai_addr, x->ai_addrlen) == 0 ? 0 : errno;
    if (failure == EINPROGRESS && wait(POLLOUT, until)) {
      socklen_t size = sizeof failure;
      ::getsockopt(fd_, SOL_SOCKET, SO_ERROR, &failure, &size);
    }
    if (failure == 0) {
      why_ = failure::none;
      return true;
    }
    close();
    if (signal_.interrupted())
      break;
  }
  return fail(failure::not_connected);
}

void http_stream::close() noexcept {
  if (fd_ >= 0)
    ::close(fd_);
  fd_ = -1;
  broken_ = false;
}

bool http_stream::is_stale() const {
  return is_open() && has_input();
}

bool http_stream::has_input() const {
  pollfd x{fd_, POLLIN, 0};
  return ::poll(&x, 1, 0) != 0;
}

std::string_view http_stream::read() {
  while (wait(POLLIN, until_)) {
    auto n = ::recv(fd_, buffer_, sizeof buffer_, MSG_DONTWAIT);
    if (n > 0)
      return {buffer_, static_cast<std::size_t>(n)};
    if (n == 0) {
      // Errors are reported once, and look like an orderly end from then on.
      fail(broken_ ? failure::broken : failure::ended);
      break;
    }
    if (errno != EAGAIN && errno != EINTR) {
      broken_ = true;
      fail(failure::broken);
      break;
    }
  }
  return {};
}

http_stream::progress http_stream::write(std::string_view& bytes) {
  while (!bytes.empty()) {
    auto n = ::send(fd_, bytes.data(), bytes.size(),
                    MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(n));
      written_ += static_cast<std::size_t>(n);
    } else if (errno != EAGAIN && errno != EINTR) {
      broken_ = true;
      fail(failure::broken);
      return progress::failed;
    } else if (!wait(POLLIN | POLLOUT, until_)) {
      return progress::failed;
    } else if (has_input()) {
      return progress::readable;
    }
  }
  return progress::written;
}

bool http_stream::wait(short events, time_point until) {
  auto came = signal_.wait(fd_, events, until);
  return came == interruption::wake::ready
         || fail(came == interruption::wake::timeout ? failure::timed_out
                                                     : failure::interrupted);
}

bool http_stream::fail(failure why) noexcept {
  why_ = why;
  return false;
}

} // namespace caisson::ctl
