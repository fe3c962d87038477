// A connection of a client, whose waits end at a deadline or when the job is
// called off.
#pragma once

#include <caisson/adapters/interruption.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace caisson::ctl {

/// Used by one thread.
class http_stream {
public:
  /// Why something has failed.
  enum class failure : std::uint8_t {
    none,
    not_connected,
    /// The other side has said all that it wanted to.
    ended,
    /// The connection is broken, and with it perhaps what was said last.
    broken,
    timed_out,
    interrupted,
  };

  explicit http_stream(interruption& signal) : signal_(signal) {}
  ~http_stream() { close(); }

  http_stream(const http_stream&) = delete;
  http_stream& operator=(const http_stream&) = delete;

  /// A message begins: it must be done by `until`.
  void begin(time_point until) noexcept;

  /// Connects to the first address of the host that answers; each may take
  /// `patience`. Returns whether one does.
  bool connect(const std::string& host, std::uint16_t port, duration patience);

  void close() noexcept;

  [[nodiscard]] bool is_open() const noexcept { return fd_ >= 0; }

  /// Whether something has come while nobody waits for it: the end of the
  /// connection, or an answer to no request.
  [[nodiscard]] bool is_stale() const;

  /// What has come; empty if it fails. What came before the connection broke
  /// can be read afterwards.
  [[nodiscard]] std::string_view read();

  enum class progress : std::uint8_t { written, readable, failed };

  /// Writes, and removes what it has written, until that is all, or until it
  /// would have to wait while there is something to read.
  [[nodiscard]] progress write(std::string_view& bytes);

  [[nodiscard]] failure why() const noexcept { return why_; }

  /// How many bytes were written since `begin`.
  [[nodiscard]] std::size_t written() const noexcept { return written_; }

private:
  bool fail(failure why) noexcept;
  bool wait(short events, time_point until);
  [[nodiscard]] bool has_input() const;

  interruption& signal_;
  int fd_ = -1;
  time_point until_ = never;
  failure why_ = failure::none;
  bool broken_ = false;
  std::size_t written_ = 0;
  char buffer_[16'384];
};

} // namespace caisson::ctl
