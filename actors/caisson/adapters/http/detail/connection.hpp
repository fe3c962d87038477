// A connection of a server, which is never waited for.
#pragma once

#include <caisson/adapters/http/detail/tls.hpp>
#include <caisson/adapters/http/parser.hpp>
#include <caisson/base/time.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace caisson::detail {

/// A socket that is closed with the object.
class owned_fd {
public:
  explicit owned_fd(int fd) noexcept : fd_(fd) {}
  ~owned_fd();

  owned_fd(const owned_fd&) = delete;
  owned_fd& operator=(const owned_fd&) = delete;

  [[nodiscard]] int get() const noexcept { return fd_; }
  void reset() noexcept;

private:
  int fd_;
};

/// Throws `std::runtime_error` if it cannot listen there.
[[nodiscard]] int listen_at(const std::string& host, std::uint16_t port);

[[nodiscard]] std::uint16_t port_of(int fd);

struct accepted_socket {
  /// Negative: none; `errno` says why.
  int fd;
  /// The address; of IPv6 the network of 64 bits.
  std::string peer;
};

[[nodiscard]] accepted_socket accept_at(int fd);

/// Used by one thread at a time.
struct http_connection {
  enum class phase : std::uint8_t {
    /// The handshake of TLS.
    handshake,
    /// Between two requests, or within one.
    reading,
    /// A thread has it.
    answering,
    writing,
    /// What is closed with bytes unread makes the system throw away what was
    /// sent: the client gets time to read.
    lingering,
  };

  http_connection(accepted_socket x, const http_limits& limits)
    : fd(x.fd), peer(std::move(x.peer)),
      parser(http_parser::kind::request, limits) {}

  /// Goes on with the handshake: done, not yet, or over.
  [[nodiscard]] http_tls_step::result continue_handshake();

  /// Reads what there is, at most a few KiB. Returns whether the connection
  /// goes on.
  [[nodiscard]] bool read();

  /// Whether something has come that was not read.
  [[nodiscard]] bool has_input() const;

  /// Takes what was read apart, as far as the request goes.
  void parse();

  /// Writes what the socket takes, by TLS at most a few hundred KiB, so that
  /// others have their turn. Returns whether the connection goes on.
  [[nodiscard]] bool write();

  /// Writes a few bytes that must not wait. Returns whether the connection goes
  /// on.
  [[nodiscard]] bool write_at_once(std::string_view text);

  /// Says that nothing more is written.
  void end_writing() noexcept;

  [[nodiscard]] bool all_written() const noexcept {
    return written == out.size() + (shared ? shared->size() : 0);
  }

  owned_fd fd;
  const std::string peer;
  /// Null: without TLS. Ends before the socket.
  std::unique_ptr<http_tls_session> tls = {};
  /// What TLS waits for, which may be the other direction; 0: nothing.
  std::uint32_t awaits = 0;
  http_parser parser;
  /// Kept by `http_connections`, with the next ones.
  enum phase phase = phase::answering;
  /// When this phase ends in any case.
  time_point until = never;
  /// The smaller, the sooner it gives way to others of its phase.
  std::uint64_t turn = 0;
  /// What was added to the number of bytes that are being written.
  std::size_t counted = 0;
  std::shared_ptr<const std::string> counted_body = {};
  /// When the request is refused if it is not complete.
  time_point whole_by = never;
  /// When the client has to have an answer.
  time_point answer_by = never;
  /// When it is closed if its client still sends what nobody wants.
  time_point linger_until = never;
  std::size_t lingered = 0;
  int requests = 0;
  /// Whether it is closed after what is written.
  bool last = false;
  bool to_head = false;
  bool continue_sent = false;
  /// Read, and not parsed yet.
  std::string in = {};
  std::string out = {};
  /// To be written after it.
  std::shared_ptr<const std::string> shared = {};
  std::size_t written = 0;
};

} // namespace caisson::detail
