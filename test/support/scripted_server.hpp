// A server on loopback that says what the test wants, also what no real one
// would.
#pragma once

#include <system/sockets.hpp>

#include <atomic>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

namespace caisson::test {

/// Talks to one client after the other as a function says: it gets the
/// connection, and its number from 0 on.
class scripted_server {
public:
  using script = std::function<void(raw_socket&, int)>;

  explicit scripted_server(script run)
    : entrance_(raw_socket::listening()), thread_([this, run = std::move(run)] {
        for (;;) {
          auto client = entrance_.accept();
          if (!begin(client.fd()))
            return;
          run(client, connections_++);
          begin(none);
        }
      }) {}

  /// Closes the current connection.
  ~scripted_server() {
    {
      std::lock_guard guard{mutex_};
      ended_ = true;
      if (client_ != none)
        ::shutdown(client_, SHUT_RDWR);
    }
    ::shutdown(entrance_.fd(), SHUT_RDWR);
    thread_.join();
  }

  scripted_server(const scripted_server&) = delete;
  scripted_server& operator=(const scripted_server&) = delete;

  [[nodiscard]] std::uint16_t port() const { return entrance_.port(); }
  [[nodiscard]] int connections() const { return connections_; }

private:
  static constexpr int none = -1;

  // Returns whether to talk to this client.
  bool begin(int client) {
    std::lock_guard guard{mutex_};
    client_ = client;
    return client != none && !ended_;
  }

  std::mutex mutex_;
  int client_ = none;
  bool ended_ = false;
  raw_socket entrance_;
  std::atomic<int> connections_{0};
  std::thread thread_;
};

/// A port of this machine where nobody listens.
inline std::uint16_t dead_port() {
  return raw_socket::listening().port();
}

} // namespace caisson::test
