#include <caisson/adapters/postgres/detail/connection_text.hpp>

#include <caisson/adapters/detail/tls_context.hpp>

#include <fmt/format.h>
#include <libpq-fe.h>

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

namespace caisson::detail {

namespace {

// From this version of libpq on. Each has keywords that earlier ones refuse.
constexpr int has_system_authorities = 160'000;
constexpr int has_sslnegotiation = 170'000;

// A path at which there is never a file. Without a path libpq would look into
// ~/.postgresql.
constexpr const char* no_file = "/dev/null/none";

using keywords = std::map<std::string, std::string>;

struct free_options {
  void operator()(PQconninfoOption* x) const noexcept { PQconninfoFree(x); }
};

// What the text says; nothing of what libpq would add. None: it cannot be read,
// and `problem` says why.
std::optional<keywords> keywords_of(const std::string& text,
                                    std::string& problem) {
  char* why = nullptr;
  std::unique_ptr<PQconninfoOption, free_options> all{
    PQconninfoParse(text.c_str(), &why)};
  std::unique_ptr<char, void (*)(char*)> owner{why,
                                               [](char* x) { PQfreemem(x); }};
  if (!all) {
    problem = why ? why : "no memory";
    while (problem.ends_with('\n'))
      problem.pop_back();
    return std::nullopt;
  }
  keywords result;
  for (const auto* x = all.get(); x->keyword; ++x)
    if (x->val)
      result[x->keyword] = x->val;
  return result;
}

std::string text_of(const keywords& all) {
  std::string text;
  for (const auto& [key, value] : all) {
    text += key + "='";
    for (auto c : value) {
      if (c == '\'' || c == '\\')
        text += '\\';
      text += c;
    }
    text += "' ";
  }
  return text;
}

// libpq takes some names for something else, such as `system`.
std::string path_to(const std::string& file) {
  return std::filesystem::absolute(file).string();
}

void add_tls(keywords& to, const postgres_client_config& c) {
  const auto certificate = !c.client_certificate.empty();
  to["sslmode"] = c.verify_server ? "verify-full" : "require";
  to["sslrootcert"] = !c.ca_file.empty() ? path_to(c.ca_file)
                      : c.verify_server  ? "system"
                                         : no_file;
  to["sslcert"] = certificate ? path_to(c.client_certificate) : no_file;
  to["sslkey"] = certificate ? path_to(c.client_key) : no_file;
  // Otherwise a connection by GSSAPI would be tried first.
  to["gssencmode"] = "disable";
  auto add = [&to](const char* key, const char* value) {
    to.try_emplace(key, value);
  };
  // An empty one is no path, and the other one holds.
  auto lists = to.contains("sslcrl") || to.contains("sslcrldir");
  add("sslcrl", lists ? "" : no_file);
  add("sslcrldir", "");
  add("ssl_min_protocol_version", "TLSv1.2");
  add("ssl_max_protocol_version", "");
  add("sslsni", "1");
  add("sslcompression", "0");
  if (PQlibVersion() >= has_system_authorities)
    add("sslcertmode", certificate ? "allow" : "disable");
  if (PQlibVersion() >= has_sslnegotiation)
    add("sslnegotiation", "postgres");
}

// Whether each host goes through TLS: libpq ignores `sslmode` with a socket
// that is a path, and no host is such a socket.
bool are_hosts(std::string_view x) {
  for (;;) {
    auto end = std::min(x.find(','), x.size());
    auto host = x.substr(0, end);
    if (host.empty() || host.front() == '/' || host.front() == '@')
      return false;
    if (end == x.size())
      return true;
    x.remove_prefix(end + 1);
  }
}

// libpq refuses a key that others may read.
bool is_private(const std::string& file) {
  struct stat x {};
  if (::stat(file.c_str(), &x) != 0)
    return false;
  auto forbidden = x.st_uid == 0 ? S_IWGRP | S_IXGRP | S_IRWXO
                                 : S_IRWXG | S_IRWXO;
  return S_ISREG(x.st_mode)
         && (x.st_mode & static_cast<mode_t>(forbidden)) == 0;
}

} // namespace

std::string postgres_connection_text(const postgres_client_config& c) {
  std::string problem;
  auto all = c.tls || !c.password.empty() ? keywords_of(c.connection, problem)
                                          : std::nullopt;
  // libpq says itself what is wrong.
  if (!all)
    return c.connection;
  if (!c.password.empty())
    (*all)["password"] = c.password;
  if (c.tls)
    add_tls(*all, c);
  return text_of(*all);
}

void check_postgres_connection(const postgres_client_config& c,
                               const setting_path& path, problems& out) {
  auto add = [&](problem_kind kind, const char* key, std::string text) {
    out.push_back({kind, path / key, std::move(text)});
  };
  std::string problem;
  auto all = keywords_of(c.connection, problem);
  if (!all) {
    // What libpq says may quote a part of it, which may be a password.
    add(problem_kind::range, "connection",
        "libpq cannot read it: write `host=… port=… dbname=… user=…`, and "
        "`password` by itself (the reason is not shown, as it may hold a "
        "password)");
  } else if (!c.password.empty() && all->contains("password")) {
    add(problem_kind::relation, "password",
        "`connection` has one, too: leave out one of them");
  }
  if (all && c.tls) {
    if (!all->contains("host") || !are_hosts(all->at("host")))
      add(problem_kind::relation, "connection",
          "with `tls` it must have a `host` that is a name or an address, for "
          "the certificate is compared with it, and sockets have no TLS");
    for (const auto* key : {"sslmode", "sslrootcert", "sslcert", "sslkey",
                            "sslpassword", "gssencmode"})
      if (all->contains(key)
          && (std::string_view{key} != "gssencmode"
              || all->at(key) != "disable"))
        add(problem_kind::relation, "connection",
            fmt::format("with `tls` it must not have `{}`: use `verify_server`,"
                        " `ca_file`, `client_certificate` and `client_key`",
                        key));
    if (c.verify_server && c.ca_file.empty()
        && PQlibVersion() < has_system_authorities)
      add(problem_kind::relation, "ca_file",
          "it is missing: libpq before version 16 cannot use the authorities "
          "of the system");
    if (!c.client_key.empty() && can_be_read(c.client_key)
        && !is_private(c.client_key))
      add(problem_kind::range, "client_key",
          "others may read it, which libpq refuses: change its mode to 0600");
  }
  check_tls_files(tls_settings_of(c), path, out);
}

} // namespace caisson::detail
