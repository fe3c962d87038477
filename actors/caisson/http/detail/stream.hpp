// A connection as cpp-httplib reads and writes it, within limits.
#pragma once

#include <caisson/interruption.hpp>

#include <httplib.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace caisson::detail {

/// How large a message may be, in bytes. The library itself has no limit for
/// the length of a line.
struct http_limits {
  std::size_t start_line = 1'024;
  std::size_t header_line = 8'192;
  std::size_t head = 65'536;
  /// After the head, as it is sent: with the sizes of chunks, and compressed.
  std::size_t body = 1 << 20;
};

/// Ends a message at a deadline, however slowly its bytes come, and when it
/// exceeds a limit. Used by one thread.
class http_stream final : public httplib::Stream {
public:
  /// Why a read or write has failed.
  enum class trouble : std::uint8_t {
    none,
    closed,
    timed_out,
    interrupted,
    bad_head,
    too_large,
  };

  /// `writes_on`: once begun, a message is written although the job was called
  /// off.
  http_stream(socket_t fd, interruption& signal, bool writes_on)
    : fd_(fd), signal_(signal), writes_on_(writes_on) {}

  /// A message begins: what is read and written from now on must be done by
  /// `until`, and what is read must be within `limits`.
  void begin(time_point until, const http_limits& limits);

  /// Moves the deadline, as for the answer to what was read.
  void prolong(time_point until) noexcept { until_ = until; }

  /// Waits until there is something to read, at most until `until`.
  [[nodiscard]] bool wait_for_more(time_point until);

  [[nodiscard]] trouble why() const noexcept { return why_; }

  /// How many bytes were written since `begin`.
  [[nodiscard]] std::size_t written() const noexcept { return written_; }

  /// Whether there are bytes that nobody has asked for.
  [[nodiscard]] bool has_left() const noexcept { return next_ < end_; }

  bool is_readable() const override { return true; }
  bool is_writable() const override { return true; }
  ssize_t read(char* ptr, size_t size) override;
  ssize_t write(const char* ptr, size_t size) override;
  using httplib::Stream::write;
  void get_remote_ip_and_port(std::string& ip, int& port) const override;
  // Not all versions of the library have it.
  // NOLINTNEXTLINE(modernize-use-override)
  void get_local_ip_and_port(std::string& ip, int& port) const;
  socket_t socket() const override { return fd_; }

private:
  ssize_t fail(trouble why) noexcept;
  [[nodiscard]] bool fill();
  // Whether the byte is within the limits.
  [[nodiscard]] bool track(char c) noexcept;
  void end_line() noexcept;

  static constexpr std::size_t capacity = 4'096;

  socket_t fd_;
  interruption& signal_;
  bool writes_on_;

  time_point until_ = never;
  http_limits limits_;
  trouble why_ = trouble::none;
  std::size_t written_ = 0;

  // Read, and not asked for yet.
  char buffer_[capacity];
  std::size_t next_ = 0;
  std::size_t end_ = 0;

  // Where the message is.
  bool in_head_ = true;
  bool first_line_ = true;
  // An interim response, which another head follows.
  bool interim_ = false;
  char last_ = 0;
  std::size_t line_ = 0;
  std::size_t head_ = 0;
  std::size_t body_ = 0;
};

} // namespace caisson::detail
