#include <caisson/adapters/detail/tls_settings.hpp>

#include <fmt/format.h>

#include <fstream>
#include <utility>

namespace caisson::detail {

bool can_be_read(const std::string& file) {
  std::ifstream in{file};
  return in.good() && in.peek() != std::ifstream::traits_type::eof();
}

bool check_tls(const tls_settings& x, const setting_path& path, problems& out) {
  const auto before = out.size();
  auto add = [&](problem_kind kind, const char* key, std::string text) {
    out.push_back({kind, path / key, std::move(text)});
  };
  const std::pair<const char*, const std::string&> files[] = {
    {"ca_file", x.ca_file},
    {"client_certificate", x.client_certificate},
    {"client_key", x.client_key}};
  for (const auto& [key, file] : files)
    if (!file.empty() && !x.on)
      add(problem_kind::relation, key, "it has no effect unless `tls` is true");
    else if (!file.empty() && !can_be_read(file))
      add(problem_kind::range, key,
          fmt::format("{} cannot be read, or is empty; name a PEM file that "
                      "this process may read",
                      file));
  if (x.client_certificate.empty() != x.client_key.empty())
    add(problem_kind::relation,
        x.client_key.empty() ? "client_key" : "client_certificate",
        "it is missing: a client has a certificate and its key, or neither");
  if (x.on && !x.verify_server && !x.ca_file.empty())
    add(problem_kind::relation, "verify_server",
        "with false, nothing is compared with `ca_file`: leave out one of "
        "them");
  return out.size() == before;
}

} // namespace caisson::detail
