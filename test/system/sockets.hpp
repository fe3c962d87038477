// Bytes to and from a port of this machine, past CAF.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

namespace caisson::test {

/// A TCP connection, or what listens for one.
class raw_socket {
public:
  raw_socket() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    if (fd_ < 0)
      throw std::runtime_error{"no socket"};
  }
  explicit raw_socket(int fd) : fd_(fd) {}
  raw_socket(raw_socket&& x) noexcept : fd_(std::exchange(x.fd_, -1)) {}
  raw_socket& operator=(raw_socket&& x) noexcept {
    std::swap(fd_, x.fd_);
    return *this;
  }
  ~raw_socket() {
    if (fd_ >= 0)
      ::close(fd_);
  }

  static raw_socket connected_to(std::uint16_t port) {
    raw_socket x;
    auto where = loopback(port);
    if (::connect(x.fd_, reinterpret_cast<sockaddr*>(&where), sizeof where)
        != 0)
      throw std::runtime_error{"no connection"};
    return x;
  }

  static raw_socket listening() {
    raw_socket x;
    auto where = loopback(0);
    if (::bind(x.fd_, reinterpret_cast<sockaddr*>(&where), sizeof where) != 0
        || ::listen(x.fd_, 1) != 0)
      throw std::runtime_error{"no port"};
    return x;
  }

  [[nodiscard]] std::uint16_t port() const {
    sockaddr_in where{};
    socklen_t size = sizeof where;
    ::getsockname(fd_, reinterpret_cast<sockaddr*>(&where), &size);
    return ntohs(where.sin_port);
  }

  [[nodiscard]] raw_socket accept() const {
    return raw_socket{::accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC)};
  }

  /// Sends all, unless the other side is gone.
  void write(const std::string& bytes) const {
    for (std::size_t done = 0; done < bytes.size();) {
      auto n = ::send(fd_, bytes.data() + done, bytes.size() - done,
                      MSG_NOSIGNAL);
      if (n <= 0)
        return;
      done += static_cast<std::size_t>(n);
    }
  }

  /// What has come; empty at the end of the connection.
  [[nodiscard]] std::string read() const {
    std::string bytes(1 << 16, '\0');
    auto n = ::recv(fd_, bytes.data(), bytes.size(), 0);
    bytes.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
    return bytes;
  }

  void end_writing() const { ::shutdown(fd_, SHUT_WR); }

  [[nodiscard]] int fd() const { return fd_; }

private:
  static sockaddr_in loopback(std::uint16_t port) {
    sockaddr_in x{};
    x.sin_family = AF_INET;
    x.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    x.sin_port = htons(port);
    return x;
  }

  int fd_;
};

/// Stands between one client and a port, and remembers what the client says.
class recorder {
public:
  explicit recorder(std::uint16_t to)
    : entrance_(raw_socket::listening()), thread_([this, to] { run(to); }) {}

  [[nodiscard]] std::uint16_t port() const { return entrance_.port(); }

  /// All that the client has said; waits until it has gone.
  std::string bytes() {
    if (thread_.joinable())
      thread_.join();
    return bytes_;
  }

  ~recorder() { bytes(); }

private:
  void run(std::uint16_t to) {
    auto client = entrance_.accept();
    auto server = raw_socket::connected_to(to);
    for (;;) {
      pollfd both[] = {{client.fd(), POLLIN, 0}, {server.fd(), POLLIN, 0}};
      if (::poll(both, 2, 30'000) <= 0)
        return;
      auto from_client = both[0].revents != 0;
      auto bytes = from_client ? client.read() : server.read();
      if (bytes.empty())
        return;
      if (from_client)
        bytes_ += bytes;
      (from_client ? server : client).write(bytes);
    }
  }

  raw_socket entrance_;
  std::string bytes_;
  std::thread thread_;
};

} // namespace caisson::test
