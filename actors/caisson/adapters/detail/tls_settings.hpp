// The settings of TLS that workers for servers have in common.
#pragma once

#include <caisson/settings/settings.hpp>

#include <string>

namespace caisson::detail {

/// Copies of these fields of a worker's config.
struct tls_settings {
  bool on = false;
  bool verify_server = true;
  std::string ca_file = {};
  std::string client_certificate = {};
  std::string client_key = {};
};

/// Those of a config that has fields of the same names.
template <class Config>
[[nodiscard]] tls_settings tls_settings_of(const Config& c) {
  return {c.tls, c.verify_server, c.ca_file, c.client_certificate,
          c.client_key};
}

/// Visits these fields; for configs that have them.
template <class Config>
void describe_tls(field_visitor& v, Config& c) {
  v.on({"tls", "whether the connection is encrypted by TLS"}, c.tls);
  v.on({"verify_server", "whether the server's certificate is checked"},
       c.verify_server);
  v.on({"ca_file", "a PEM file with the authorities that are trusted; empty: "
                   "those of the system"},
       c.ca_file);
  v.on({"client_certificate", "a PEM file with the client's certificate"},
       c.client_certificate);
  v.on({"client_key", "a PEM file with the client's key"}, c.client_key);
}

/// Whether the file can be read and has something in it.
[[nodiscard]] bool can_be_read(const std::string& file);

/// Appends what is wrong with the settings and how they relate; what is in the
/// files is not looked at. Returns whether nothing is wrong.
bool check_tls(const tls_settings& x, const setting_path& path, problems& out);

} // namespace caisson::detail
