// cpp-httplib's server with a bounded number of threads and connections, and
// with limits for what a client may send.
#pragma once

#include <caisson/http/detail/stream.hpp>
#include <caisson/http/messages.hpp>
#include <caisson/interruption.hpp>
#include <caisson/time.hpp>

#include <httplib.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

namespace caisson::detail {

struct http_server_limits {
  std::size_t threads = 32;
  std::size_t max_waiting = 64;
  duration read_timeout = std::chrono::seconds(5);
  duration idle_timeout = std::chrono::seconds(5);
  std::size_t max_body = 1 << 20;
};

/// Serves requests with `serve`, which is called by several threads at once and
/// may block.
class http_server final : private httplib::Server {
public:
  using server = std::function<http_response(const http_request&)>;

  /// Throws `std::runtime_error` if it cannot listen there.
  http_server(const std::string& host, std::uint16_t port,
              const http_server_limits& limits, server serve);

  /// Finishes the requests under way.
  ~http_server() override;

  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
  [[nodiscard]] std::uint64_t answered() const noexcept { return answered_; }
  [[nodiscard]] std::uint64_t turned_away() const noexcept {
    return turned_away_;
  }

private:
  class queue;
  class connection;

  bool process_and_close_socket(socket_t sock) override;
  // Whether another request may follow.
  bool process_one(http_stream& stream, bool last);
  void close_an_idle_one();
  void turn_away(socket_t sock);
  void set_handlers();
  void serve(const httplib::Request& in, httplib::Response& out);
  [[nodiscard]] http_limits message_limits() const noexcept;

  http_server_limits limits_;
  server serve_;
  std::uint16_t port_ = 0;
  std::atomic<std::uint64_t> answered_{0};
  std::atomic<std::uint64_t> turned_away_{0};

  // Whether a connection waits for a thread.
  std::atomic<bool> crowded_{false};

  std::mutex mutex_;
  // Those that are served; interrupted at the end.
  std::set<connection*> open_;
  bool stopping_ = false;

  std::thread thread_;
};

} // namespace caisson::detail
