// An HTTP server with a bounded number of threads and connections, and with
// limits for what a client may send.
#pragma once

#include <caisson/adapters/http/detail/tls.hpp>
#include <caisson/adapters/http/messages.hpp>
#include <caisson/base/time.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace caisson::detail {

struct http_server_limits {
  /// How many requests are answered at once.
  std::size_t threads = 32;
  /// How many complete requests wait for a thread.
  std::size_t max_waiting = 64;
  std::size_t max_connections = 512;
  /// Of one address; of one network of 64 bits for IPv6.
  std::size_t max_per_peer = 128;
  /// With TLS: from when a connection is accepted to the end of its handshake.
  duration handshake_timeout = std::chrono::seconds(2);
  /// From the first byte of a request to the end of its head.
  duration head_timeout = std::chrono::seconds(2);
  /// From its first byte to its last one; also for the response.
  duration read_timeout = std::chrono::seconds(5);
  duration idle_timeout = std::chrono::seconds(5);
  std::size_t max_body = 1 << 20;
  /// How many bytes the answers may have together that are being written, and
  /// how many different bodies that are shared. Beyond that those give way
  /// whose clients have taken nothing for the longest time.
  std::size_t max_unread = 64 << 20;
  std::size_t max_bodies = 1'000;
};

/// A response whose body may be shared by several.
struct http_answer {
  // NOLINTNEXTLINE(google-explicit-constructor)
  http_answer(http_response x) : head(std::move(x)) {}
  http_answer(http_response x, std::shared_ptr<const std::string> body)
    : head(std::move(x)), shared(std::move(body)) {}

  http_response head;
  /// If it is set, the body in place of that of `head`.
  std::shared_ptr<const std::string> shared;
};

struct http_service {
  /// Called by several threads at once; may block until then.
  std::function<http_answer(http_request&&, time_point until)> serve;

  /// How long the answer to a request with these headers may take, from when it
  /// is complete. Then 504 is the answer, if no thread has begun with it.
  /// Default: for ever.
  std::function<duration(const http_headers&)> time_for = {};
};

/// One thread of its own reads and writes all connections, so that a client
/// that is slow takes none of those that serve.
class http_server {
public:
  /// Speaks TLS if there are `files`. Throws `std::runtime_error` if it cannot
  /// listen there, or use the files.
  http_server(const std::string& host, std::uint16_t port,
              const http_server_limits& limits, http_service service,
              const http_tls_files& files = {});

  /// Finishes the requests in progress.
  ~http_server();

  http_server(const http_server&) = delete;
  http_server& operator=(const http_server&) = delete;

  [[nodiscard]] std::uint16_t port() const noexcept;
  [[nodiscard]] std::uint64_t answered() const noexcept;
  /// Requests without a thread, and connections without a place.
  [[nodiscard]] std::uint64_t rejected() const noexcept;
  /// Handshakes that came to nothing.
  [[nodiscard]] std::uint64_t failed_handshakes() const noexcept;
  /// See `http_tls::problem`.
  [[nodiscard]] std::string tls_problem() const;

private:
  struct parts;
  std::unique_ptr<parts> parts_;
};

} // namespace caisson::detail
