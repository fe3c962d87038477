#include <caisson/adapters/detail/queued_worker.hpp>
#include <caisson/adapters/http_client/detail/head_size.hpp>
#include <caisson/adapters/http_client/detail/option_headers.hpp>
#include <caisson/adapters/http_client/detail/transfer.hpp>

#include <openssl/ssl.h>

#include <algorithm>
#include <chrono>
#include <new>
#include <utility>

namespace caisson::detail {

namespace {

// A gate whose deadline is over cancels the request. So that its callers get
// the gate's error and not, by chance, the worker's, the request ends later.
constexpr auto after_deadline = std::chrono::milliseconds(5);

std::chrono::milliseconds whole_milliseconds(duration x) {
  auto ms = std::chrono::ceil<std::chrono::milliseconds>(
    std::min<duration>(x, std::chrono::hours(24)));
  return std::max(ms, std::chrono::milliseconds(1));
}

bool may_have_body(std::string_view method) noexcept {
  return method != "GET" && method != "HEAD" && method != "OPTIONS"
         && method != "DELETE";
}

// Whether both have agreed on HTTP/2 in the handshake.
bool speaks_second(const SSL* tls) noexcept {
  const unsigned char* name = nullptr;
  unsigned size = 0;
  ::SSL_get0_alpn_selected(tls, &name, &size);
  return size == 2 && name[0] == 'h' && name[1] == '2';
}

} // namespace

// -- the settings of the worker -----------------------------------------------

http_transfer::http_transfer(const http_client_config& c,
                             const http_origin& server, http_sockets& sockets,
                             CURLSH* share)
  : config_(c), server_(server), sockets_(sockets), handle_(::curl_easy_init()),
    parser_(http_parser::kind::response,
            {.body = static_cast<std::size_t>(c.max_body)}) {
  if (!handle_)
    throw std::bad_alloc{};
  set_worker_options(share);
  set_tls_options();
}

void http_transfer::set_worker_options(CURLSH* share) {
  set(CURLOPT_PRIVATE, this);
  set(CURLOPT_SHARE, share);
  set(CURLOPT_ERRORBUFFER, text_);
  set(CURLOPT_NOSIGNAL, 1L);
#if LIBCURL_VERSION_NUM >= 0x075700
  // Or the end of a look-up would be waited for.
  set(CURLOPT_QUICK_EXIT, 1L);
#endif
  set(CURLOPT_HEADERFUNCTION, &on_head);
  set(CURLOPT_HEADERDATA, this);
  set(CURLOPT_WRITEFUNCTION, &on_body);
  set(CURLOPT_WRITEDATA, this);
  set(CURLOPT_DEBUGFUNCTION, &on_text);
  set(CURLOPT_DEBUGDATA, this);
  set(CURLOPT_PREREQFUNCTION, &on_connection);
  set(CURLOPT_PREREQDATA, this);
  set(CURLOPT_OPENSOCKETFUNCTION, &http_sockets::open);
  set(CURLOPT_OPENSOCKETDATA, &sockets_);
  set(CURLOPT_CLOSESOCKETFUNCTION, &http_sockets::close);
  set(CURLOPT_CLOSESOCKETDATA, &sockets_);
  // What the environment says is for programs of people.
  set(CURLOPT_PROXY, config_.proxy.c_str());
  set(CURLOPT_NOPROXY, "");
  set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  set(CURLOPT_HEADEROPT, static_cast<long>(CURLHEADER_SEPARATE));
  set(CURLOPT_PIPEWAIT, config_.http2 ? 1L : 0L);
  set(CURLOPT_CONNECTTIMEOUT_MS,
      static_cast<long>(whole_milliseconds(config_.connect_timeout).count()));
  set(CURLOPT_MAXAGE_CONN,
      static_cast<long>(
        std::chrono::ceil<std::chrono::seconds>(config_.idle_timeout).count()));
}

void http_transfer::set_tls_options() {
  set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  set(CURLOPT_SSL_VERIFYPEER, config_.verify_server ? 1L : 0L);
  set(CURLOPT_SSL_VERIFYHOST, config_.verify_server ? 2L : 0L);
#if LIBCURL_VERSION_NUM >= 0x075700
  // So that authorities can be replaced while the program runs.
  set(CURLOPT_CA_CACHE_TIMEOUT, 60L);
#endif
  // A session goes on with what was checked and shown when it began, whatever
  // these files say by now.
  if (!config_.ca_file.empty() || !config_.client_certificate.empty())
    set(CURLOPT_SSL_SESSIONID_CACHE, 0L);
  if (config_.ca_file.empty())
    return;
  set(CURLOPT_CAINFO, config_.ca_file.c_str());
  // Or those of the system would be trusted as well.
  set(CURLOPT_CAPATH, static_cast<char*>(nullptr));
}

// -- the request --------------------------------------------------------------

std::optional<caf::message> http_transfer::begin(call what,
                                                 portable::reply_to from) {
  from_ = std::move(from);
  call_ = std::move(what);
  until_ = time_point{duration{call_.options.deadline_ns}};
  request_ = portable::get_if<http_request>(call_.payload);
  if (!request_)
    return caf::make_message(make_error(caf::sec::unexpected_message));
  if (auto problem = problem_with(*request_); !problem.empty())
    return failed_with(transport_errc::bad_request, std::move(problem));
  if (request_->method == "HEAD" && !request_->body.empty())
    return failed_with(transport_errc::bad_request,
                       "a request with the method HEAD has no body");
  if (head_size(*request_) > largest_head)
    return failed_with(transport_errc::bad_request,
                       "method, target and headers have more than 60 KiB");
  url_ = {server_, request_->target};
  method_ = request_->method;
  has_body_ = may_have_body(method_) || !request_->body.empty();
  redirected_ = 0;
  earlier_sent_ = false;
  return prepare();
}

std::optional<caf::message> http_transfer::prepare(bool anew) {
  auto now = std::chrono::steady_clock::now();
  auto left = time_until(until_, now);
  connect_by_ = time_after(now, config_.connect_timeout);
  if (left <= duration::zero())
    return earlier_sent_
             ? failed_with(transport_errc::timed_out, "no answer in time")
             : failed_with(transport_errc::busy, "no time is left");
  text_[0] = '\0';
  connected_ = false;
  second_ = false;
  stale_ = false;
  sent_before_ = 0;
  trailers_ = 0;
  auto may_be_second = config_.http2 && url_.origin.tls;
  set(CURLOPT_HTTP_VERSION,
      static_cast<long>(may_be_second ? CURL_HTTP_VERSION_2TLS
                                      : CURL_HTTP_VERSION_1_1));
  set(CURLOPT_FRESH_CONNECT, anew ? 1L : 0L);
  // With HTTP/2 the connection would be kept of a request that gets no answer,
  // although it may be dead; with HTTP/1.1 it is closed in any case.
  set(CURLOPT_FORBID_REUSE, 1L);
  set(CURLOPT_VERBOSE, 0L);
  parser_.begin(method_ == "HEAD");
  auto origin = url_.origin.text();
  set(CURLOPT_URL, (origin + '/').c_str());
  // As it is, whatever the library would make of it.
  auto direct = config_.proxy.empty() || url_.origin.tls;
  set(CURLOPT_REQUEST_TARGET, (direct ? url_.target : url_.text()).c_str());
  auto until = whole_milliseconds(left) + after_deadline;
  set(CURLOPT_TIMEOUT_MS, static_cast<long>(until.count()));
  set_method();
  auto headers = headers_for(left);
  if (may_be_second && !fits_in_http2(method_, url_.target, headers))
    return failed_with(earlier_sent_ ? transport_errc::lost
                                     : transport_errc::bad_request,
                       "the headers, with those of the call's options, are "
                       "too large for HTTP/2");
  set_headers(std::move(headers));
  set_client_certificate();
  return std::nullopt;
}

void http_transfer::set_method() {
  if (method_ == "HEAD") {
    set(CURLOPT_CUSTOMREQUEST, static_cast<char*>(nullptr));
    set(CURLOPT_NOBODY, 1L);
    return;
  }
  if (has_body_) {
    set(CURLOPT_POST, 1L);
    set(CURLOPT_POSTFIELDS, request_->body.data());
    set(CURLOPT_POSTFIELDSIZE_LARGE,
        static_cast<curl_off_t>(request_->body.size()));
  } else {
    set(CURLOPT_HTTPGET, 1L);
  }
  set(CURLOPT_CUSTOMREQUEST, method_.c_str());
}

http_headers http_transfer::headers_for(duration left) const {
  http_headers out;
  for (const auto& [name, value] : request_->headers)
    if (!is_of_connection(name)) {
      auto [i, is_new] = out.emplace(in_lower_case(name), value);
      if (!is_new)
        i->second.append(", ").append(value);
    }
  drop_named_by_connection(
    out, std::string{header_of(request_->headers, "connection")});
  if (url_.origin != server_)
    for (const auto* name : {"host", "authorization", "cookie"})
      out.erase(name);
  if (redirected_ > 0 && !has_body_)
    std::erase_if(
      out, [](const auto& x) { return x.first.starts_with("content-"); });
  out.emplace("accept", "*/*");
  if (!config_.deadline_header.empty()) {
    auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(left);
    out.insert_or_assign(in_lower_case(config_.deadline_header),
                         std::to_string(std::max<std::int64_t>(ms.count(), 1)));
  }
  add_option_headers(out, call_.options, config_, url_.origin == server_);
  return out;
}

void http_transfer::set_headers(http_headers all) {
  decodes_ = config_.compression && all.count("accept-encoding") == 0;
  if (!decodes_)
    all.emplace("accept-encoding", "identity");
  // All that the library knows how to decompress.
  set(CURLOPT_ACCEPT_ENCODING,
      decodes_ ? "" : static_cast<const char*>(nullptr));
  // Chunks are left to the parser, which is stricter.
  set(CURLOPT_HTTP_TRANSFER_DECODING, decodes_ ? 1L : 0L);
  curl_slist* list = nullptr;
  auto add = [&](const std::string& line) {
    auto* next = ::curl_slist_append(list, line.c_str());
    if (!next) {
      ::curl_slist_free_all(list);
      throw std::bad_alloc{};
    }
    list = next;
  };
  for (const auto& [name, value] : all) {
    // One without a value has another form there.
    auto is_empty = value.find_first_not_of(" \t") == std::string::npos;
    auto line = name;
    add(is_empty ? line.append(";") : line.append(": ").append(value));
  }
  // What the library would add.
  for (const auto* name : {"expect", "content-type"})
    if (all.count(name) == 0)
      add(std::string{name} + ':');
  set(CURLOPT_HTTPHEADER, list);
  headers_.reset(list);
}

void http_transfer::set_client_certificate() {
  // Nobody else is shown who this is.
  auto sends_certificate = url_.origin == server_
                           && !config_.client_certificate.empty();
  set(CURLOPT_SSLCERT,
      sends_certificate ? config_.client_certificate.c_str() : nullptr);
  set(CURLOPT_SSLKEY, sends_certificate ? config_.client_key.c_str() : nullptr);
}

// -- while it runs ------------------------------------------------------------

std::size_t http_transfer::on_head(char* bytes, std::size_t size, std::size_t n,
                                   void* self) {
  auto* transfer = static_cast<http_transfer*>(self);
  try {
    return transfer->take_head({bytes, size * n}) ? size * n : 0;
  } catch (...) {
    return 0;
  }
}

std::size_t http_transfer::on_body(char* bytes, std::size_t size, std::size_t n,
                                   void* self) {
  auto* transfer = static_cast<http_transfer*>(self);
  try {
    return transfer->take_body({bytes, size * n}) ? size * n : 0;
  } catch (...) {
    return 0;
  }
}

int http_transfer::on_connection(void* self, char* remote, char* local,
                                 int remote_port, int local_port) {
  auto* transfer = static_cast<http_transfer*>(self);
  try {
    return transfer->may_send({local, local_port, remote, remote_port})
             ? CURL_PREREQFUNC_OK
             : CURL_PREREQFUNC_ABORT;
  } catch (...) {
    return CURL_PREREQFUNC_ABORT;
  }
}

// The library drops what it has read beyond an answer without a body, or beyond
// the last chunk if it decodes, and says so in its log alone. The rest may
// still come, and would be taken for the next answer.
int http_transfer::on_text(CURL*, curl_infotype kind, char* bytes,
                           std::size_t size, void* self) {
  std::string_view text{bytes, size};
  if (kind == CURLINFO_TEXT
      && (text.starts_with("Excess found")
          || text.starts_with("Leftovers after chunking")))
    static_cast<http_transfer*>(self)->set(CURLOPT_FORBID_REUSE, 1L);
  return 0;
}

bool http_transfer::may_send(const connection_ends& x) {
  // The library sends a request again if a connection that was used before
  // breaks without an answer. Whether that is safe the policies know.
  if (!is_unsent())
    return false;
  connected_ = true;
  sent_before_ = sent_bytes();
  const auto* tls = tls_session();
  second_ = tls && speaks_second(tls);
  stale_ = has_stale_connection(x);
  return !stale_;
}

// Whether something has come while nobody waited for it, such as why the server
// closes the connection: it would be taken for the answer. In HTTP/2 it says
// what it belongs to.
bool http_transfer::has_stale_connection(const connection_ends& x) {
  long is_new = 0;
  ::curl_easy_getinfo(handle_.get(), CURLINFO_NUM_CONNECTS, &is_new);
  if (is_new != 0 || second_)
    return false;
  if (!url_.origin.tls)
    return sockets_.has_input(x);
  // Of another library nothing is known. What OpenSSL has read, and libcurl has
  // not, is on no socket.
  const auto* tls = tls_session();
  return !tls || sockets_.has_input(x) || ::SSL_has_pending(tls) != 0;
}

const SSL* http_transfer::tls_session() const {
  curl_tlssessioninfo* info = nullptr;
  if (url_.origin.tls)
    ::curl_easy_getinfo(handle_.get(), CURLINFO_TLS_SSL_PTR, &info);
  return info && info->backend == CURLSSLBACKEND_OPENSSL
           ? static_cast<const SSL*>(info->internals)
           : nullptr;
}

// Returns whether the transfer goes on.
bool http_transfer::take_head(std::string_view line) {
  using stage = http_parser::stage;
  // Trailers say nothing that is kept, but the library keeps them.
  if (parser_.at() == stage::body || parser_.at() == stage::done)
    return (trailers_ += line.size()) <= largest_head;
  constexpr std::string_view second = "HTTP/2 ";
  if (second_ && line.starts_with(second)) {
    parser_.feed("HTTP/1.1 ");
    line.remove_prefix(second.size());
  }
  parser_.feed(line);
  if (parser_.at() == stage::body && decodes_)
    parser_.take_decoded();
  if (parser_.at() == stage::body || parser_.at() == stage::done) {
    set(CURLOPT_FORBID_REUSE, 0L);
    set(CURLOPT_VERBOSE, second_ ? 0L : 1L);
  }
  return parser_.at() != stage::failed && !is_cut_short();
}

bool http_transfer::take_body(std::string_view bytes) {
  auto n = parser_.feed(bytes);
  // What follows would be taken for the next answer.
  return n == bytes.size() && parser_.at() != http_parser::stage::failed
         && !is_cut_short();
}

// Whether the answer is complete, and the request is not: the server does not
// want the rest of it.
bool http_transfer::is_cut_short() const {
  if (parser_.at() != http_parser::stage::done || !has_body_)
    return false;
  curl_off_t sent = 0;
  ::curl_easy_getinfo(handle_.get(), CURLINFO_SIZE_UPLOAD_T, &sent);
  return sent < static_cast<curl_off_t>(request_->body.size());
}

long http_transfer::sent_bytes() const {
  long out = 0;
  ::curl_easy_getinfo(handle_.get(), CURLINFO_REQUEST_SIZE, &out);
  return out;
}

bool http_transfer::is_unsent() const {
  return !connected_ || sent_bytes() <= sent_before_;
}

transfer_progress http_transfer::progress() const {
  return {is_unsent(), earlier_sent_, connected_, text_};
}

// -- the answer ---------------------------------------------------------------

std::optional<caf::message> http_transfer::end(CURLcode code) {
  using stage = http_parser::stage;
  if (std::exchange(stale_, false))
    return prepare(true);
  end_broken_connection();
  if (code == CURLE_OK && is_end_announced())
    parser_.end();
  if (parser_.at() != stage::done)
    return failure_of(code, parser_, progress());
  if (follow())
    return prepare();
  // It says that this server did nothing. The one before may have.
  constexpr auto too_early = 425;
  if (earlier_sent_ && parser_.status() == too_early)
    return failed_with(transport_errc::lost,
                       "the server redirected to answers 425");
  return response();
}

// Whether it is the server that ends a body. With TLS somebody in between can
// end a connection of HTTP/1.1, which the library takes for the end of a body
// without a length.
bool http_transfer::is_end_announced() {
  long version = 0;
  ::curl_easy_getinfo(handle_.get(), CURLINFO_HTTP_VERSION, &version);
  const auto& headers = parser_.headers();
  return !url_.origin.tls || version == CURL_HTTP_VERSION_2_0
         || !header_of(headers, "content-length").empty()
         || !header_of(headers, "transfer-encoding").empty();
}

// A connection on which a server breaks HTTP/2 ends: the library would go on
// reading it, without an end.
void http_transfer::end_broken_connection() {
  if (!config_.http2 || !url_.origin.tls
      || parser_.at() != http_parser::stage::failed)
    return;
  auto number = [this](CURLINFO what) {
    long out = 0;
    ::curl_easy_getinfo(handle_.get(), what, &out);
    return static_cast<int>(out);
  };
  auto text = [this](CURLINFO what) {
    char* out = nullptr;
    ::curl_easy_getinfo(handle_.get(), what, &out);
    return std::string{out ? out : ""};
  };
  sockets_.shut_down({text(CURLINFO_LOCAL_IP), number(CURLINFO_LOCAL_PORT),
                      text(CURLINFO_PRIMARY_IP),
                      number(CURLINFO_PRIMARY_PORT)});
}

// Whether the response says to ask elsewhere, and that is done.
bool http_transfer::follow() {
  auto status = parser_.status();
  auto is_redirection = status == 301 || status == 302 || status == 303
                        || status == 307 || status == 308;
  auto where = std::string{header_of(parser_.headers(), "location")};
  if (!is_redirection || where.empty() || redirected_ >= config_.redirects)
    return false;
  auto next = http_url_of(url_, where);
  if (!next || !problem_with({.target = next->target}).empty()
      || (url_.origin.tls && !next->origin.tls))
    return false;
  auto becomes_get = (status == 303 && method_ != "HEAD")
                     || (status < 303 && method_ == "POST");
  if (becomes_get) {
    method_ = "GET";
    has_body_ = false;
  }
  url_ = *std::move(next);
  ++redirected_;
  earlier_sent_ = true;
  return true;
}

void http_transfer::release() {
  set(CURLOPT_HTTPHEADER, static_cast<curl_slist*>(nullptr));
  set(CURLOPT_POSTFIELDS, static_cast<char*>(nullptr));
  headers_.reset();
  request_ = nullptr;
  call_ = {};
  from_ = {};
  parser_.begin();
}

caf::message http_transfer::response() {
  auto& headers = parser_.headers();
  // The length of a body that is not there is known from nothing else.
  drop_hop_by_hop(headers, method_ == "HEAD");
  if (decodes_ && method_ != "HEAD")
    headers.erase("content-encoding");
  return caf::make_message(http_response{parser_.status(), std::move(headers),
                                         std::move(parser_.body())});
}

} // namespace caisson::detail
