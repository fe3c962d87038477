#include <caisson/http/detail/stream.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string_view>

namespace caisson::detail {

namespace {

void name_peer(int failed, const sockaddr_storage& x, std::string& ip,
               int& port) {
  char text[INET6_ADDRSTRLEN] = "";
  if (failed == 0 && x.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(x);
    inet_ntop(AF_INET, &v4.sin_addr, text, sizeof text);
    port = ntohs(v4.sin_port);
  } else if (failed == 0 && x.ss_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(x);
    inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof text);
    port = ntohs(v6.sin6_port);
  }
  ip = text;
}

} // namespace

void http_stream::begin(time_point until, const http_limits& limits) {
  until_ = until;
  limits_ = limits;
  why_ = trouble::none;
  written_ = line_ = head_ = body_ = 0;
  in_head_ = first_line_ = true;
  interim_ = false;
  last_ = 0;
}

bool http_stream::wait_for_more(time_point until) {
  return has_left()
         || signal_.wait(fd_, POLLIN, until) == interruption::wake::ready;
}

ssize_t http_stream::read(char* ptr, size_t size) {
  if (!has_left() && !fill())
    return why_ == trouble::closed ? 0 : -1;
  auto n = std::min(size, end_ - next_);
  for (std::size_t i = 0; i < n; ++i)
    if (!track(buffer_[next_ + i]))
      return fail(in_head_ ? trouble::bad_head : trouble::too_large);
  std::memcpy(ptr, buffer_ + next_, n);
  next_ += n;
  return static_cast<ssize_t>(n);
}

bool http_stream::fill() {
  for (;;) {
    auto came = signal_.wait(fd_, POLLIN, until_);
    if (came != interruption::wake::ready) {
      fail(came == interruption::wake::timeout ? trouble::timed_out
                                               : trouble::interrupted);
      return false;
    }
    auto n = ::recv(fd_, buffer_, capacity, MSG_DONTWAIT);
    if (n > 0) {
      next_ = 0;
      end_ = static_cast<std::size_t>(n);
      return true;
    }
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
      continue;
    fail(trouble::closed);
    return false;
  }
}

ssize_t http_stream::write(const char* ptr, size_t size) {
  for (std::size_t done = 0; done < size;) {
    auto n = ::send(fd_, ptr + done, size - done, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n >= 0) {
      done += static_cast<std::size_t>(n);
      written_ += static_cast<std::size_t>(n);
      continue;
    }
    if (errno != EAGAIN && errno != EINTR)
      return fail(trouble::closed);
    if (writes_on_) {
      auto left = time_until(until_, std::chrono::steady_clock::now());
      auto ms = std::chrono::ceil<std::chrono::milliseconds>(
        std::min<duration>(left, std::chrono::hours(24)));
      pollfd x{fd_, POLLOUT, 0};
      if (left <= duration::zero()
          || ::poll(&x, 1, static_cast<int>(ms.count())) == 0)
        return fail(trouble::timed_out);
    } else if (auto came = signal_.wait(fd_, POLLOUT, until_);
               came != interruption::wake::ready) {
      return fail(came == interruption::wake::timeout ? trouble::timed_out
                                                      : trouble::interrupted);
    }
  }
  return static_cast<ssize_t>(size);
}

ssize_t http_stream::fail(trouble why) noexcept {
  why_ = why;
  return -1;
}

bool http_stream::track(char c) noexcept {
  if (!in_head_)
    return ++body_ <= limits_.body;
  // "HTTP/1.1 100 Continue": the tenth character tells.
  constexpr std::string_view version = "HTTP/1.";
  if (first_line_) {
    if (line_ < version.size())
      interim_ = (line_ == 0 || interim_) && c == version[line_];
    else if (line_ == 9)
      interim_ = interim_ && c == '1';
  }
  ++line_;
  ++head_;
  if (line_ > (first_line_ ? limits_.start_line : limits_.header_line)
      || head_ > limits_.head)
    return false;
  if (c == '\n')
    end_line();
  last_ = c;
  return true;
}

void http_stream::end_line() noexcept {
  auto blank = line_ == 1 || (line_ == 2 && last_ == '\r');
  if (!blank) {
    first_line_ = false;
  } else if (!first_line_) {
    in_head_ = interim_;
    first_line_ = true;
    interim_ = false;
  }
  line_ = 0;
}

void http_stream::get_remote_ip_and_port(std::string& ip, int& port) const {
  sockaddr_storage x{};
  socklen_t size = sizeof x;
  auto failed = ::getpeername(fd_, reinterpret_cast<sockaddr*>(&x), &size);
  name_peer(failed, x, ip, port);
}

void http_stream::get_local_ip_and_port(std::string& ip, int& port) const {
  sockaddr_storage x{};
  socklen_t size = sizeof x;
  auto failed = ::getsockname(fd_, reinterpret_cast<sockaddr*>(&x), &size);
  name_peer(failed, x, ip, port);
}

} // namespace caisson::detail
