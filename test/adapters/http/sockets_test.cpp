// The sockets of the HTTP client's connections.
#include <caisson/adapters/http_client/detail/sockets.hpp>

#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace caisson::detail {
namespace {

sockaddr_in loopback(int port) {
  sockaddr_in out{};
  out.sin_family = AF_INET;
  out.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  out.sin_port = htons(static_cast<std::uint16_t>(port));
  return out;
}

int port_of(int fd) {
  sockaddr_in x{};
  socklen_t size = sizeof x;
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&x), &size);
  return ntohs(x.sin_port);
}

/// Accepts one connection.
struct listener {
  listener() : fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    auto at = loopback(0);
    EXPECT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&at), sizeof at), 0);
    EXPECT_EQ(::listen(fd, 1), 0);
  }
  ~listener() {
    ::close(peer);
    ::close(fd);
  }
  listener(const listener&) = delete;
  listener& operator=(const listener&) = delete;

  void accept() { peer = ::accept(fd, nullptr, nullptr); }
  void say_something() const { EXPECT_EQ(::send(peer, "x", 1, 0), 1); }

  int fd;
  int peer = -1;
};

// A connection from that local port, 0 for any.
int connect_to(http_sockets& all, const listener& x, int local_port) {
  curl_sockaddr what{};
  what.family = AF_INET;
  what.socktype = SOCK_STREAM;
  auto fd = http_sockets::open(&all, CURLSOCKTYPE_IPCXN, &what);
  int yes = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  auto from = loopback(local_port);
  EXPECT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&from), sizeof from), 0);
  auto to = loopback(port_of(x.fd));
  EXPECT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
  return fd;
}

TEST(http_sockets, with_the_same_local_port_are_distinguished) {
  http_sockets all;
  listener a;
  listener b;
  auto to_a = connect_to(all, a, 0);
  auto to_b = connect_to(all, b, port_of(to_a));
  a.accept();
  b.accept();
  auto ends = [&](const listener& x) {
    return connection_ends{"127.0.0.1", port_of(to_a), "127.0.0.1",
                           port_of(x.fd)};
  };
  ASSERT_EQ(port_of(to_a), port_of(to_b));
  EXPECT_FALSE(all.has_input(ends(a)));
  EXPECT_FALSE(all.has_input(ends(b)));
  a.say_something();
  EXPECT_TRUE(all.has_input(ends(a)));
  EXPECT_FALSE(all.has_input(ends(b)));
  http_sockets::close(&all, to_b);
  EXPECT_TRUE(all.has_input(ends(a))) << "still";
  EXPECT_TRUE(all.has_input(ends(b))) << "nobody knows it";
  all.shut_down(ends(a));
  char byte = 0;
  EXPECT_EQ(::recv(a.peer, &byte, 1, 0), 0);
  http_sockets::close(&all, to_a);
}

} // namespace
} // namespace caisson::detail
