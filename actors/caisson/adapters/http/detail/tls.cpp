#include <caisson/adapters/http/detail/tls.hpp>

#include <caisson/adapters/detail/tls_settings.hpp>

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

#ifdef CAISSON_HTTP_TLS
#include <caisson/adapters/detail/tls_context.hpp>
#include <caisson/adapters/detail/tls_socket.hpp>

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <climits>
#include <cstring>
#include <mutex>
#endif

namespace caisson::detail {

namespace {

using named_file = std::pair<const char*, const std::string&>;

std::string unreadable(const std::string& file) {
  return fmt::format(
    "{} cannot be read, or is empty; name a PEM file that this "
    "process may read",
    file);
}

// How the settings relate; whether the files can be read.
void check_files(const http_tls_files& x, const setting_path& path,
                 problems& out) {
  for (const auto& [key, file] :
       {named_file{"certificate", x.certificate}, named_file{"key", x.key},
        named_file{"client_ca_file", x.client_ca_file}})
    if (!file.empty() && !can_be_read(file))
      out.push_back({problem_kind::range, path / key, unreadable(file)});
  if (x.certificate.empty() != x.key.empty())
    out.push_back(
      {problem_kind::relation, path / (x.key.empty() ? "key" : "certificate"),
       "it is missing: a server has a certificate and its key, or neither"});
  else if (!x.client_ca_file.empty() && x.certificate.empty())
    out.push_back({problem_kind::relation, path / "client_ca_file",
                   "it has no effect without `certificate` and `key`"});
}

} // namespace

#ifndef CAISSON_HTTP_TLS

void check_http_tls(const http_tls_files& x, const setting_path& path,
                    problems& out) {
  if (!x.any())
    return;
  check_files(x, path, out);
  out.push_back(
    {problem_kind::relation, path / "certificate",
     "this build of Caisson has no TLS for servers: install OpenSSL "
     "(libssl-dev) and build it with -DCAISSON_HTTP_TLS=ON"});
}

std::unique_ptr<http_tls> make_http_tls(const http_tls_files& files) {
  problems found;
  check_http_tls(files, {}, found);
  if (!found.empty())
    throw std::runtime_error{to_text(found)};
  return nullptr;
}

#else

namespace {

using step = http_tls_step;
using result = http_tls_step::result;

// How often files are checked.
constexpr auto check_interval = std::chrono::seconds(1);

// Of a file, so that it is seen whether it is another one.
struct file_mark {
  explicit file_mark(const std::string& path) {
    struct stat x {};
    if (!path.empty() && ::stat(path.c_str(), &x) == 0)
      values = {static_cast<std::int64_t>(x.st_dev),
                static_cast<std::int64_t>(x.st_ino),
                static_cast<std::int64_t>(x.st_size),
                x.st_mtim.tv_sec,
                x.st_mtim.tv_nsec,
                x.st_ctim.tv_sec,
                x.st_ctim.tv_nsec};
  }

  friend bool operator==(const file_mark&, const file_mark&) = default;

  std::array<std::int64_t, 7> values{};
};

using file_marks = std::array<file_mark, 3>;

file_marks marks_of(const http_tls_files& x) {
  return {file_mark{x.certificate}, file_mark{x.key},
          file_mark{x.client_ca_file}};
}

// -- the context --------------------------------------------------------------

// Requires a certificate of each client. What was shown in an earlier
// connection does not count: the authority may be another one by now.
bool require_clients(SSL_CTX& to, const std::string& ca_file,
                     tls_problem& why) {
  auto* names = SSL_load_client_CA_file(ca_file.c_str());
  if (!names
      || SSL_CTX_load_verify_locations(&to, ca_file.c_str(), nullptr) != 1) {
    sk_X509_NAME_pop_free(names, X509_NAME_free);
    why = {"client_ca_file", "no certificate could be read from it, name a PEM "
                             "file ("
                               + take_tls_error() + ")"};
    return false;
  }
  SSL_CTX_set_client_CA_list(&to, names);
  X509_STORE_set_flags(SSL_CTX_get_cert_store(&to), X509_V_FLAG_PARTIAL_CHAIN);
  SSL_CTX_set_verify(&to, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT,
                     nullptr);
  SSL_CTX_set_options(&to, SSL_OP_NO_TICKET);
  return SSL_CTX_set_num_tickets(&to, 0) == 1;
}

// Of what a client offers: HTTP/1.1, which is what is spoken.
int choose_protocol(SSL*, const unsigned char** out, unsigned char* size,
                    const unsigned char* offered, unsigned int length, void*) {
  static constexpr unsigned char spoken[] = "\x08http/1.1";
  unsigned char* chosen = nullptr;
  if (SSL_select_next_proto(&chosen, size, spoken, sizeof spoken - 1, offered,
                            length)
      != OPENSSL_NPN_NEGOTIATED)
    return SSL_TLSEXT_ERR_NOACK;
  *out = chosen;
  return SSL_TLSEXT_ERR_OK;
}

tls_context make_server_context(const http_tls_files& x, tls_problem& why) {
  keep_tls_library();
  ERR_clear_error();
  tls_context out{SSL_CTX_new(TLS_server_method())};
  if (!out || !set_up_tls(*out)) {
    why = {"certificate",
           "OpenSSL cannot be initialised (" + take_tls_error() + ")"};
    return nullptr;
  }
  // Sessions are in tickets, which clients keep, so that they take no memory
  // here; and so do connections without a request.
  SSL_CTX_set_session_cache_mode(out.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_mode(out.get(), SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_options(out.get(), SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_alpn_select_cb(out.get(), &choose_protocol, nullptr);
  if (!identify(*out, {x.certificate, x.key, "certificate", "key"}, why))
    return nullptr;
  if (!x.client_ca_file.empty()
      && !require_clients(*out, x.client_ca_file, why))
    return nullptr;
  return out;
}

// -- one connection -----------------------------------------------------------

class openssl_session final : public http_tls_session {
public:
  openssl_session(tls_session x, int fd) : ssl_(std::move(x)) {
    socket_.fd = fd;
  }

  ~openssl_session() override { close(); }

  // Whether there was memory for it.
  [[nodiscard]] bool begin() {
    SSL_set_accept_state(ssl_.get());
    return use_tls_socket(*ssl_, socket_);
  }

  step handshake() override {
    return attempt([](SSL* x) { return SSL_do_handshake(x); });
  }

  [[nodiscard]] bool spoke_http() const noexcept override {
    return spoke_http_;
  }

  step read(char* to, std::size_t size) override {
    return attempt([&](SSL* x) { return SSL_read(x, to, limited(size)); });
  }

  step write(const char* from, std::size_t size) override {
    return attempt([&](SSL* x) { return SSL_write(x, from, limited(size)); });
  }

  void close() noexcept override {
    if (!std::exchange(usable_, false) || SSL_is_init_finished(ssl_.get()) != 1)
      return;
    SSL_shutdown(ssl_.get());
    ERR_clear_error();
  }

private:
  static int limited(std::size_t size) {
    return static_cast<int>(std::min<std::size_t>(size, INT_MAX));
  }

  template <class F>
  step attempt(F f) {
    if (!usable_)
      return {};
    socket_.left = most_per_tls_attempt;
    ERR_clear_error();
    auto n = f(ssl_.get());
    switch (SSL_get_error(ssl_.get(), n)) {
      case SSL_ERROR_NONE:
        return {result::done, static_cast<std::size_t>(std::max(n, 0))};
      case SSL_ERROR_WANT_READ:
        return {result::wants_read, 0};
      case SSL_ERROR_WANT_WRITE:
        return {result::wants_write, 0};
      case SSL_ERROR_ZERO_RETURN:
        // It may still read: what has to be said can be.
        return {};
      default:
        break;
    }
    usable_ = false;
    auto reason = ERR_GET_REASON(ERR_peek_error());
    spoke_http_ = ERR_GET_LIB(ERR_peek_error()) == ERR_LIB_SSL
                  && reason == SSL_R_HTTP_REQUEST;
    ERR_clear_error();
    return {};
  }

  tls_socket socket_;
  tls_session ssl_;
  bool usable_ = true;
  bool spoke_http_ = false;
};

class openssl_server final : public http_tls {
public:
  explicit openssl_server(http_tls_files x)
    : files_(std::move(x)), marks_(marks_of(files_)) {
    tls_problem why;
    context_ = make_server_context(files_, why);
    if (!context_)
      throw std::runtime_error{fmt::format("{}: {}", why.setting, why.text)};
  }

  std::unique_ptr<http_tls_session> begin(int fd, time_point now) override {
    check_files(now);
    tls_session ssl{SSL_new(context_.get())};
    if (!ssl)
      return nullptr;
    auto out = std::make_unique<openssl_session>(std::move(ssl), fd);
    return out->begin() ? std::move(out) : nullptr;
  }

  std::string problem() const override {
    std::lock_guard guard{mutex_};
    return problem_;
  }

private:
  // One of two files may be written before the other: what cannot be used is
  // read again as soon as it changes again.
  void check_files(time_point now) {
    if (now < next_check_)
      return;
    next_check_ = now + check_interval;
    auto marks = marks_of(files_);
    if (marks == marks_)
      return;
    marks_ = marks;
    tls_problem why;
    auto context = make_server_context(files_, why);
    if (context)
      context_ = std::move(context);
    else
      next_check_ = now;
    std::lock_guard guard{mutex_};
    problem_ = context_ && why.text.empty()
                 ? std::string{}
                 : fmt::format("{}: {}", why.setting, why.text);
  }

  const http_tls_files files_;
  file_marks marks_;
  tls_context context_;
  time_point next_check_ = time_point::min();
  mutable std::mutex mutex_;
  std::string problem_;
};

} // namespace

void check_http_tls(const http_tls_files& x, const setting_path& path,
                    problems& out) {
  auto before = out.size();
  check_files(x, path, out);
  if (out.size() != before || !x.any())
    return;
  tls_problem why;
  if (!make_server_context(x, why))
    out.push_back({problem_kind::range, path / why.setting, why.text});
}

std::unique_ptr<http_tls> make_http_tls(const http_tls_files& files) {
  if (!files.any())
    return nullptr;
  return std::make_unique<openssl_server>(files);
}

#endif

} // namespace caisson::detail
