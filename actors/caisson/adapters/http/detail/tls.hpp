// TLS for the connections of a server, if Caisson was built with it.
#pragma once

#include <caisson/base/time.hpp>
#include <caisson/settings/problem.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace caisson::detail {

/// The files of a server; see `http_front_config`.
struct http_tls_files {
  std::string certificate = {};
  std::string key = {};
  /// Empty: clients need no certificate.
  std::string client_ca_file = {};

  [[nodiscard]] bool any() const noexcept {
    return !certificate.empty() || !key.empty() || !client_ca_file.empty();
  }
};

/// Appends what is wrong with the files, how they relate, and that there is no
/// TLS in this build.
void check_http_tls(const http_tls_files& x, const setting_path& path,
                    problems& out);

/// What came of an attempt to read, to write or to shake hands.
struct http_tls_step {
  enum class result : std::uint8_t {
    done,
    /// Not yet: once something has come, or something can be sent.
    wants_read,
    wants_write,
    /// The connection can be used no more.
    over,
  };

  result what = result::over;
  std::size_t size = 0;
};

/// One connection. Never waits; used by one thread at a time.
class http_tls_session {
public:
  virtual ~http_tls_session() = default;

  /// To be repeated until it is done; `over` if the client is refused, which
  /// then has been notified as far as the socket took it.
  [[nodiscard]] virtual http_tls_step handshake() = 0;

  /// Whether the handshake was over because the client speaks plain HTTP.
  [[nodiscard]] virtual bool spoke_http() const noexcept = 0;

  [[nodiscard]] virtual http_tls_step read(char* to, std::size_t size) = 0;
  [[nodiscard]] virtual http_tls_step write(const char* from, std::size_t size)
    = 0;

  /// Says that nothing more is sent (close_notify), if that can still be said.
  virtual void close() noexcept = 0;
};

/// What the sessions of a server have in common. Used by one thread at a time,
/// but for `problem`.
class http_tls {
public:
  virtual ~http_tls() = default;

  /// A session on that socket; null if there is no memory. The files are looked
  /// at once a second at most, and read again if they have changed.
  [[nodiscard]] virtual std::unique_ptr<http_tls_session>
  begin(int fd, time_point now) = 0;

  /// Why the files could not be read again, so that what they were before is
  /// used; empty: they could be.
  [[nodiscard]] virtual std::string problem() const = 0;
};

/// Null if there are no files. Throws `std::runtime_error` if these cannot be
/// used.
[[nodiscard]] std::unique_ptr<http_tls>
make_http_tls(const http_tls_files& files);

} // namespace caisson::detail
