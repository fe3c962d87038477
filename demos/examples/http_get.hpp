// Gets a page from a server on this machine.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <stdexcept>
#include <string>

namespace demo {

/// The whole answer to `GET path` at 127.0.0.1: status line, headers and body.
inline std::string http_get(std::uint16_t port, const std::string& path) {
  auto fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in where{};
  where.sin_family = AF_INET;
  where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  where.sin_port = htons(port);
  if (fd < 0
      || ::connect(fd, reinterpret_cast<sockaddr*>(&where), sizeof where) != 0)
    throw std::runtime_error{"nobody listens"};
  auto request = "GET " + path
                 + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
  auto sent = ::send(fd, request.data(), request.size(), MSG_NOSIGNAL);
  std::string answer;
  char part[1 << 14];
  for (auto n = sent > 0 ? 1 : 0; n > 0;) {
    n = static_cast<int>(::recv(fd, part, sizeof part, 0));
    if (n > 0)
      answer.append(part, static_cast<std::size_t>(n));
  }
  ::close(fd);
  return answer;
}

} // namespace demo
