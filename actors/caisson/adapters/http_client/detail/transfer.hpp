// A request to an HTTP server and its response, as libcurl carries them.
#pragma once

#include <caisson/adapters/http/parser.hpp>
#include <caisson/adapters/http_client/client.hpp>
#include <caisson/adapters/http_client/detail/failure.hpp>
#include <caisson/adapters/http_client/detail/origin.hpp>
#include <caisson/adapters/http_client/detail/sockets.hpp>
#include <caisson/caf/hooks.hpp>

#include <curl/curl.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace caisson::detail {

struct curl_deleter {
  void operator()(CURL* x) const { ::curl_easy_cleanup(x); }
  void operator()(curl_slist* x) const { ::curl_slist_free_all(x); }
};

/// Carries out one request after the other. Used by one thread.
class http_transfer {
public:
  /// `sockets` and `share` outlive it. Throws `std::bad_alloc`.
  http_transfer(const http_client_config& c, const http_origin& server,
                http_sockets& sockets, CURLSH* share);

  http_transfer(const http_transfer&) = delete;
  http_transfer& operator=(const http_transfer&) = delete;

  /// Prepares the request in `what`, whose deadline is `options.deadline_ns`.
  /// Returns the answer if it cannot be sent.
  std::optional<caf::message> begin(call what, portable::reply_to from);

  /// It is over, as `code` says. Returns the answer, or nothing if another
  /// request must be made, which is prepared then.
  std::optional<caf::message> end(CURLcode code);

  [[nodiscard]] transfer_progress progress() const;

  /// Forgets the request, which has been answered.
  void release();

  [[nodiscard]] CURL* handle() const noexcept { return handle_.get(); }
  [[nodiscard]] portable::reply_to& from() noexcept { return from_; }

  /// When it has to be answered, or to have a connection.
  [[nodiscard]] time_point due() const noexcept {
    return connected_ ? until_ : std::min(until_, connect_by_);
  }

private:
  static std::size_t on_head(char* bytes, std::size_t size, std::size_t n,
                             void* self);
  static std::size_t on_body(char* bytes, std::size_t size, std::size_t n,
                             void* self);
  static int on_connection(void* self, char* remote, char* local,
                           int remote_port, int local_port);
  static int on_text(CURL*, curl_infotype kind, char* bytes, std::size_t size,
                     void* self);

  void set_worker_options(CURLSH* share);
  void set_tls_options();
  std::optional<caf::message> prepare(bool anew = false);
  void set_method();
  void set_headers(http_headers all);
  void set_client_certificate();
  [[nodiscard]] http_headers headers_for(duration left) const;

  bool take_head(std::string_view line);
  bool take_body(std::string_view bytes);
  [[nodiscard]] bool is_cut_short() const;
  [[nodiscard]] bool may_send(const connection_ends& x);
  [[nodiscard]] bool has_stale_connection(const connection_ends& x);
  [[nodiscard]] const SSL* tls_session() const;
  [[nodiscard]] bool is_end_announced();
  void end_broken_connection();
  [[nodiscard]] long sent_bytes() const;
  [[nodiscard]] bool is_unsent() const;

  [[nodiscard]] bool follow();
  [[nodiscard]] caf::message response();

  template <class T>
  void set(CURLoption option, T value) {
    ::curl_easy_setopt(handle_.get(), option, value);
  }

  const http_client_config& config_;
  const http_origin& server_;
  http_sockets& sockets_;
  std::unique_ptr<CURL, curl_deleter> handle_;
  std::unique_ptr<curl_slist, curl_deleter> headers_;
  char text_[CURL_ERROR_SIZE] = {};

  // What has asked for it.
  portable::reply_to from_;
  call call_;
  const http_request* request_ = nullptr;
  time_point until_ = never;
  time_point connect_by_ = never;

  // What is sent: that request, or what it was redirected to.
  http_url url_;
  std::string method_;
  bool has_body_ = false;
  bool decodes_ = false;
  std::uint32_t redirected_ = 0;

  // Whether this request has got a connection, and what was sent before it.
  bool connected_ = false;
  // Whether that speaks HTTP/2.
  bool second_ = false;
  bool stale_ = false;
  std::size_t trailers_ = 0;
  long sent_before_ = 0;
  // Whether an earlier one, which was redirected, was sent.
  bool earlier_sent_ = false;

  http_parser parser_;
};

} // namespace caisson::detail
