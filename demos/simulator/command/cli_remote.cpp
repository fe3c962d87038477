#include <simulator/command/cli_remote.hpp>

#include <simulator/command/cli_parts.hpp>

#include <caisson/settings.hpp>

namespace caisson::sim {

duration duration_in(const std::string& option, const std::string& text,
                     duration lo, duration hi) {
  auto out = parse_duration(text);
  if (!out || *out < lo || *out > hi)
    throw CLI::ValidationError{
      option, fmt::format("{} is not a time from {} to {}",
                          detail::quoted(text), to_text(lo), to_text(hi))};
  return *out;
}

worker_address address_in(const std::string& option, const std::string& text,
                          std::uint16_t least_port) {
  auto out = read_worker_address(text);
  if (!out || out->port < least_port)
    throw CLI::ValidationError{
      option, fmt::format("{} is not HOST:PORT with a port from {} to 65535, "
                          "such as 127.0.0.1:4001 or [::1]:4001",
                          detail::quoted(text), least_port)};
  return *out;
}

void add_certificate_options(CLI::App& to, remote_certificates& files) {
  auto add = [&](const std::string& name, std::string& into,
                 const std::string& what) {
    to.add_option(name, into, what)->type_name("FILE")->check(not_empty());
  };
  add("--certificate", files.certificate,
      "Use TLS, with this certificate (PEM)");
  add("--key", files.key, "Its private key");
  add("--ca", files.authority,
      "The authority that signed the certificates of the peers");
}

} // namespace caisson::sim
