// Bytes to and from a Redis server, with or without TLS.
#pragma once

#include <caisson/adapters/detail/tls_settings.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace caisson::detail {

/// A connected socket, which it does not own. Nothing blocks, and what the
/// other side does raises no signal. Not for several threads at once.
class redis_stream {
public:
  /// What came of one attempt.
  struct step {
    /// How many bytes were taken or given; 1 for a handshake that is done. Zero
    /// if there were none.
    std::size_t size = 0;
    /// What to wait for before the next attempt (`POLLIN`, `POLLOUT`); zero if
    /// `size` is not, or if the connection is of no use any more.
    short events = 0;
    /// Why it is of no use.
    std::string problem = {};
  };

  redis_stream();
  ~redis_stream();

  redis_stream(const redis_stream&) = delete;
  redis_stream& operator=(const redis_stream&) = delete;

  /// Begins to use this socket, without TLS.
  void open(int fd) noexcept;

  /// Prepares TLS for the server `host`, a name or an IP address, and reads the
  /// files of `x` for it. Returns what is wrong; empty: nothing. Next comes
  /// `handshake`.
  [[nodiscard]] std::string start_tls(const tls_settings& x,
                                      const std::string& host);

  /// Goes on with the handshake, which ends with a server that is verified.
  [[nodiscard]] step handshake();

  [[nodiscard]] step write(const char* bytes, std::size_t size);
  [[nodiscard]] step read(char* bytes, std::size_t size);

  /// Whether `read` gives something although the socket has nothing.
  [[nodiscard]] bool has_buffered() const noexcept;

  /// Whether nothing has come, neither bytes nor the end. Takes in what belongs
  /// to TLS itself, such as the tickets that follow a handshake.
  [[nodiscard]] bool is_quiet();

  /// Ends TLS as it should be ended, if it can, and forgets the socket, which
  /// must still be open.
  void close() noexcept;

private:
  struct tls;

  int fd_ = -1;
  std::unique_ptr<tls> tls_;
};

} // namespace caisson::detail
