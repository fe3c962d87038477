// Parser of HTTP/1 messages; refuses those whose end is ambiguous.
#pragma once

#include <caisson/adapters/http/messages.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace caisson::detail {

/// How large a message may be, in bytes.
struct http_limits {
  std::size_t start_line = 1'024;
  std::size_t header_line = 8'192;
  /// The start line and all headers, interim responses and trailers.
  std::size_t head = 65'536;
  /// How many lines the headers may have.
  std::size_t headers = 128;
  std::size_t body = 1 << 20;
};

/// Strict (RFC 9112): what two readers could understand in two ways is
/// malformed. Lines end with CR LF; there are no folded headers, no blanks
/// around names, no control characters; one `Content-Length` of digits, or
/// `Transfer-Encoding: chunked`, not both; sizes of chunks are hexadecimal
/// digits. Values are kept as they were sent. Used by one thread.
class http_parser {
public:
  enum class kind : std::uint8_t { request, response };

  enum class stage : std::uint8_t { start, head, body, done, failed };

  enum class fault : std::uint8_t {
    none,
    malformed,
    bad_version,
    long_start_line,
    large_head,
    large_body,
  };

  explicit http_parser(kind k, const http_limits& limits = {})
    : kind_(k), limits_(limits) {}

  /// The next message begins. `to_head`: a response to HEAD, without a body.
  void begin(bool to_head = false);

  /// Takes bytes until the message is complete or bad; returns how many.
  std::size_t feed(std::string_view bytes);

  /// The body comes by itself from here on, without what says where it ends,
  /// which is where `end` is called.
  void take_decoded() noexcept;

  /// The connection has ended, with which some responses end. Returns whether
  /// the message is complete.
  bool end();

  [[nodiscard]] stage at() const noexcept { return now_.stage; }
  [[nodiscard]] fault why() const noexcept { return now_.fault; }

  // -- from the stage `body` on -----------------------------------------------

  [[nodiscard]] std::string& method() noexcept { return now_.method; }
  [[nodiscard]] std::string& target() noexcept { return now_.target; }
  [[nodiscard]] std::int32_t status() const noexcept { return now_.status; }
  /// With names in lower case; also those of the connection.
  [[nodiscard]] http_headers& headers() noexcept { return now_.headers; }
  [[nodiscard]] std::string& body() noexcept { return now_.body; }
  /// Whether no other message follows.
  [[nodiscard]] bool closes() const noexcept { return now_.closes; }
  /// Whether the client waits for `100 Continue`.
  [[nodiscard]] bool wants_continue() const noexcept {
    return now_.wants_continue;
  }

private:
  enum class part : std::uint8_t {
    start_line,
    header,
    fixed,
    until_close,
    chunk_size,
    chunk,
    chunk_end,
    trailer,
  };

  void fail(fault why);
  void take_char(char c);
  void take_line();
  [[nodiscard]] std::size_t longest_line() const noexcept;
  std::size_t take_content(std::string_view bytes);

  void take_start_line();
  void take_request_line();
  void take_status_line();
  void take_version(std::string_view x);
  void take_header(bool keep);
  void keep_header(std::string name, std::string_view value);
  void end_head();
  void find_end_of_message();
  void take_chunk_size();
  void expect_content(part p, std::size_t n);
  void finish();

  // What begins anew with each message.
  struct message {
    enum stage stage = stage::start;
    enum fault fault = fault::none;
    enum part part = part::start_line;
    bool to_head = false;

    std::string line = {};
    bool after_cr = false;
    bool after_blank = false;
    std::size_t head_size = 0;
    // Sizes and ends of chunks, which count as well.
    std::size_t around_body = 0;
    // Of the content, or of the chunk.
    std::size_t left = 0;

    std::string method = {};
    std::string target = {};
    std::int32_t status = 0;
    http_headers headers = {};
    std::string body = {};
    bool old_version = false;
    std::size_t kept = 0;
    int hosts = 0;
    int lengths = 0;
    int encodings = 0;
    bool closes = false;
    bool wants_continue = false;
  };

  kind kind_;
  http_limits limits_;
  message now_ = {};
};

[[nodiscard]] std::string in_lower_case(std::string_view x);

/// Removes the headers that the header `connection` names (RFC 9110 section
/// 7.6.1), but for those that say how long the body is.
void drop_named_by_connection(http_headers& all, std::string_view named);

/// Removes all that concerns this connection only, also what it names, but for
/// the length if that is wanted.
void drop_hop_by_hop(http_headers& all, bool keep_length = false);

} // namespace caisson::detail
